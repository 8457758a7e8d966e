"""The topic ``__consumer_offsets``: offsets, and groups of the classic protocol.

Keys begin with their type and values with their version, both int16. A null value deletes.
"""

from ..declare import data, field, record
from ..wire import Array, Bytes, Int32, Int64, String, Uuid


@data(versions="0", key=0)
class LegacyOffsetCommitKey:
    """Whose offset, in the form of Kafka 0.8."""

    group: str = field(String, versions="0")
    topic: str = field(String, versions="0")
    partition: int = field(Int32, versions="0")


@data(versions="0", key=0)
class LegacyOffsetCommitValue:
    """That offset."""

    offset: int = field(Int64, versions="0")
    metadata: str = field(String, versions="0")
    commit_timestamp: int = field(Int64, versions="0")


@data(versions="0", key=1)
class OffsetCommitKey:
    """Whose offset of which partition."""

    group: str = field(String, versions="0")
    topic: str = field(String, versions="0")
    partition: int = field(Int32, versions="0")


@data(versions="0-4", flexible="4+", key=1)
class OffsetCommitValue:
    """That offset; with the leader epoch since version 3 (KIP-320)."""

    offset: int = field(Int64)
    leader_epoch: int = field(Int32, versions="3+", default=-1, ignorable=True)
    metadata: str = field(String)
    commit_timestamp: int = field(Int64)
    expire_timestamp: int = field(Int64, versions="1", default=-1, ignorable=True)
    # tells the topic from a later one of the same name
    topic_id: bytes = field(Uuid, versions="4+", ignorable=True, tag=0)


@data(versions="0", key=2)
class GroupMetadataKey:
    """Which classic group."""

    group: str = field(String, versions="0")


@data(versions="0-4", flexible="4+", key=2)
class GroupMetadataValue:
    """Its generation and members; static ones since version 3 (KIP-345)."""

    @record
    class Member:
        member_id: str = field(String)
        group_instance_id: str | None = field(String, versions="3+", nullable="3+", default=None, ignorable=True)
        client_id: str = field(String)
        client_host: str = field(String)
        rebalance_timeout: int = field(Int32, versions="1+", default=-1, ignorable=True)
        session_timeout: int = field(Int32)
        subscription: bytes = field(Bytes)
        assignment: bytes = field(Bytes)

    protocol_type: str = field(String)
    generation: int = field(Int32)
    protocol: str | None = field(String, nullable="0+")
    leader: str | None = field(String, nullable="0+")
    current_state_timestamp: int = field(Int64, versions="2+", default=-1, ignorable=True)
    members: list[Member] = field(Array(Member))
