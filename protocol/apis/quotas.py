"""DescribeClientQuotas (key 48) and AlterClientQuotas (49): limits for users and clients (KIP-546)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Float64, Int8, Int16, Int32, String


@request(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    """Whose quotas to show."""

    @record
    class Component:
        entity_type: str = field(String)  # user, client-id or ip
        match_type: int = field(Int8)  # 0: this name; 1: the default; 2: any named
        match: str | None = field(String, nullable="0+")

    components: list[Component] = field(Array(Component))
    strict: bool = field(Bool)  # leave out entities with more parts than were asked for


@response(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    """Those quotas, entity by entity."""

    @record
    class Entry:
        @record
        class Entity:
            entity_type: str = field(String)
            entity_name: str | None = field(String, nullable="0+")  # null: the default entity

        @record
        class Value:
            key: str = field(String)
            value: float = field(Float64)

        entity: list[Entity] = field(Array(Entity))
        values: list[Value] = field(Array(Value))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    entries: list[Entry] | None = field(Array(Entry), nullable="0+")


@request(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    """Quotas to set or remove."""

    @record
    class Entry:
        @record
        class Entity:
            entity_type: str = field(String)
            entity_name: str | None = field(String, nullable="0+")  # null: the default entity

        @record
        class Op:
            key: str = field(String)  # as producer_byte_rate
            value: float = field(Float64)
            remove: bool = field(Bool)

        entity: list[Entity] = field(Array(Entity))
        ops: list[Op] = field(Array(Op))

    entries: list[Entry] = field(Array(Entry))
    validate_only: bool = field(Bool)


@response(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    """How that went, for each entity."""

    @record
    class Entry:
        @record
        class Entity:
            entity_type: str = field(String)
            entity_name: str | None = field(String, nullable="0+")

        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+")
        entity: list[Entity] = field(Array(Entity))

    throttle_time_ms: int = field(Int32)
    entries: list[Entry] = field(Array(Entry))
