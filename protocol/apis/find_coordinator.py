"""FindCoordinator (key 10): the broker that looks after a group or a transactional id."""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, String


@request(key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    """One key up to version 3, many from 4 on (KIP-699)."""

    key: str = field(String, versions="0-3")
    key_type: int = field(Int8, versions="1+")  # 0: group; 1: transactional id (KIP-98); 2: share partition (KIP-932)
    coordinator_keys: list[str] = field(Array(String), versions="4+")


@response(key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse:
    """The coordinator of each key."""

    @record
    class Coordinator:
        key: str = field(String, versions="4+")
        node_id: int = field(Int32, versions="4+")
        host: str = field(String, versions="4+")
        port: int = field(Int32, versions="4+")
        error_code: int = field(Int16, versions="4+")
        error_message: str | None = field(String, versions="4+", nullable="4+", ignorable=True)

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    error_code: int = field(Int16, versions="0-3")
    error_message: str | None = field(String, versions="1-3", nullable="1-3", ignorable=True)
    node_id: int = field(Int32, versions="0-3")
    host: str = field(String, versions="0-3")
    port: int = field(Int32, versions="0-3")
    coordinators: list[Coordinator] = field(Array(Coordinator), versions="4+")
