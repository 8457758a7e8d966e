"""The log ``__cluster_metadata`` (KIP-631): settings, features, quotas, producer ids, and the marks of transactions.

Each value begins with a frame version, the type of the record (its key here) and its version, all unsigned varints.
"""

from ..declare import data, field, record
from ..wire import Array, Bool, Float64, Int8, Int16, Int32, Int64, String


@data(versions="0", flexible="0+", key=4)
class ConfigRecord:
    """A setting of a topic, a broker or another resource."""

    resource_type: int = field(Int8)
    resource_name: str = field(String)
    name: str = field(String)
    value: str | None = field(String, nullable="0+")  # null: back to the default


@data(versions="0", flexible="0+", key=12)
class FeatureLevelRecord:
    """The level of a feature of the cluster (KIP-584)."""

    name: str = field(String)
    feature_level: int = field(Int16)  # 0: removed


@data(versions="0", flexible="0+", key=14)
class ClientQuotaRecord:
    """A quota was set or removed (KIP-546)."""

    @record
    class Entity:
        entity_type: str = field(String)
        entity_name: str | None = field(String, nullable="0+")  # null: the default entity

    entity: list[Entity] = field(Array(Entity))
    key: str = field(String)
    value: float = field(Float64)
    remove: bool = field(Bool)


@data(versions="0", flexible="0+", key=15)
class ProducerIdsRecord:
    """A block of producer ids was given to a broker (KIP-730)."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    next_producer_id: int = field(Int64)  # behind the block


@data(versions="0", flexible="0+", key=21)
class ZkMigrationStateRecord:
    """How far the way from Zookeeper has been gone (KIP-866)."""

    zk_migration_state: int = field(Int8)  # 0: none; 1: pre-migration; 2: migration; 3: post-migration; 4: not begun


@data(versions="0", flexible="0+", key=20)
class NoOpRecord:
    """Nothing, so that the end of the log moves on (KIP-835)."""


@data(versions="0", flexible="0+", key=23)
class BeginTransactionRecord:
    """From here on records count together (KIP-868)."""

    name: str | None = field(String, nullable="0+", default=None, tag=0)


@data(versions="0", flexible="0+", key=24)
class EndTransactionRecord:
    """They count."""


@data(versions="0", flexible="0+", key=25)
class AbortTransactionRecord:
    """They do not."""

    reason: str | None = field(String, nullable="0+", default=None, tag=0)
