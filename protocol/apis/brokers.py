"""BrokerRegistration (key 62), BrokerHeartbeat (63), ControllerRegistration (70), UnregisterController (94): nodes
report to the controller (KIP-500, KIP-631), and are forgotten there.
"""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, Int64, String, UInt16, Uuid


@request(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest:
    """A broker says at start where it listens, what it can do and which rack it is in."""

    @record
    class Listener:
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
    cluster_id: str = field(String)
    incarnation_id: bytes = field(Uuid)  # drawn anew each time the broker starts
    listeners: list[Listener] = field(Array(Listener))
    features: list[Feature] = field(Array(Feature))
    rack: str | None = field(String, nullable="0+")
    is_migrating_zk_broker: bool = field(Bool, versions="1+")  # it still works with Zookeeper (KIP-866)
    log_dirs: list[bytes] = field(Array(Uuid), versions="2+", ignorable=True)  # sorted ids of its directories (KIP-858)
    # of its last clean life; -1: not known (KIP-966)
    previous_broker_epoch: int = field(Int64, versions="3+", default=-1, ignorable=True)


@response(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse:
    """The epoch of this life of the broker."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    broker_epoch: int = field(Int64, default=-1)


@request(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest:
    """Says that a broker lives, and how far it has read the metadata log."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    current_metadata_offset: int = field(Int64)
    want_fence: bool = field(Bool)
    want_shut_down: bool = field(Bool)
    offline_log_dirs: list[bytes] = field(Array(Uuid), versions="1+", tag=0)
    # take no new partitions (KIP-1066); null: no change
    cordoned_log_dirs: list[bytes] | None = field(Array(Uuid), versions="2+", nullable="2+", default=None, tag=1)


@response(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse:
    """Says if the broker may serve clients, and if it may stop."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    is_caught_up: bool = field(Bool)
    is_fenced: bool = field(Bool, default=True)
    should_shut_down: bool = field(Bool)


@request(key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest:
    """A controller says where it listens and what it can do (KIP-919)."""

    @record
    class Listener:
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
    listeners: list[Listener] = field(Array(Listener))
    features: list[Feature] = field(Array(Feature))


@response(key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse:
    """How that went."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")


@request(key=94, versions="0", flexible="0+")
class UnregisterControllerRequest:
    """Forget a controller. Since metadata.version 4.4-IV2; brokers pass it on to the active controller."""

    controller_id: int = field(Int32)


@response(key=94, versions="0", flexible="0+")
class UnregisterControllerResponse:
    """How that went."""

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
