"""The log ``__cluster_metadata`` (KIP-631): brokers and controllers.

Each value begins with a frame version, the type of the record (its key here) and its version, all unsigned varints.
"""

from ..declare import data, field, record
from ..wire import Array, Bool, Int8, Int16, Int32, Int64, String, UInt16, Uuid


@data(versions="0-4", flexible="0+", key=0)
class RegisterBrokerRecord:
    """A broker began a life: where it listens, its rack, its directories."""

    @record
    class Endpoint:
        name: str = field(String)
        host: str = field(String)
        port: int = field(UInt16)
        security_protocol: int = field(Int16)

    @record
    class Feature:
        name: str = field(String)
        min_supported_version: int = field(Int16)
        max_supported_version: int = field(Int16)

    broker_id: int = field(Int32)
    is_migrating_zk_broker: bool = field(Bool, versions="2+")
    incarnation_id: bytes = field(Uuid)
    broker_epoch: int = field(Int64)
    end_points: list[Endpoint] = field(Array(Endpoint))
    features: list[Feature] = field(Array(Feature))
    rack: str | None = field(String, nullable="0+")
    fenced: bool = field(Bool, default=True)
    in_controlled_shutdown: bool = field(Bool, versions="1+")
    log_dirs: list[bytes] = field(Array(Uuid), versions="3+", tag=0)
    cordoned_log_dirs: list[bytes] | None = field(Array(Uuid), versions="4+", nullable="4+", default=None, tag=1)


@data(versions="0", flexible="0+", key=1)
class UnregisterBrokerRecord:
    """A broker is gone for good."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64)


@data(versions="0", flexible="0+", key=7)
class FenceBrokerRecord:
    """A broker may no longer serve. BrokerRegistrationChangeRecord has come instead."""

    id: int = field(Int32)
    epoch: int = field(Int64)


@data(versions="0", flexible="0+", key=8)
class UnfenceBrokerRecord:
    """A broker may serve. BrokerRegistrationChangeRecord has come instead."""

    id: int = field(Int32)
    epoch: int = field(Int64)


@data(versions="0-3", flexible="0+", key=17)
class BrokerRegistrationChangeRecord:
    """Something about a broker changed."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64)
    fenced: int = field(Int8, tag=0)  # -1: unfenced; 0: no change; 1: fenced
    in_controlled_shutdown: int = field(Int8, versions="1+", tag=1)  # 0: no change; 1: it has begun (KIP-841)
    log_dirs: list[bytes] = field(Array(Uuid), versions="2+", tag=2)
    cordoned_log_dirs: list[bytes] | None = field(Array(Uuid), versions="3+", nullable="3+", default=None, tag=3)


@data(versions="0", flexible="0+", key=27)
class RegisterControllerRecord:
    """A controller began a life (KIP-919)."""

    @record
    class Endpoint:
        name: str = field(String)
        host: str = field(String)
        port: int = field(UInt16)
        security_protocol: int = field(Int16)

    @record
    class Feature:
        name: str = field(String)
        min_supported_version: int = field(Int16)
        max_supported_version: int = field(Int16)

    controller_id: int = field(Int32)
    incarnation_id: bytes = field(Uuid)
    zk_migration_ready: bool = field(Bool)
    end_points: list[Endpoint] = field(Array(Endpoint))
    features: list[Feature] = field(Array(Feature))


@data(versions="0", flexible="0+", key=29)
class UnregisterControllerRecord:
    """A controller is gone for good. Since metadata.version 4.4-IV2."""

    controller_id: int = field(Int32)
