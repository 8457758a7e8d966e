"""CreateTopics (key 19), DeleteTopics (20), CreatePartitions (37)."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, String, Uuid


@request(key=19, versions="0-7", flexible="5+")
class CreateTopicsRequest:
    """Topics to create (KIP-4)."""

    @record
    class Topic:
        @record
        class Assignment:
            partition_index: int = field(Int32)
            broker_ids: list[int] = field(Array(Int32))

        @record
        class Config:
            name: str = field(String)
            value: str | None = field(String, nullable="0+")

        name: str = field(String)
        # -1: as assigned below, or since version 4 as the broker is set up (KIP-464)
        num_partitions: int = field(Int32)
        replication_factor: int = field(Int16)  # -1: the same
        assignments: list[Assignment] = field(Array(Assignment))  # empty: the brokers choose
        configs: list[Config] = field(Array(Config))

    topics: list[Topic] = field(Array(Topic))
    timeout_ms: int = field(Int32, default=60000)
    validate_only: bool = field(Bool, versions="1+")  # say what would happen, and do nothing


@response(key=19, versions="0-7", flexible="5+")
class CreateTopicsResponse:
    """How that went; since version 5 also what was created (KIP-525)."""

    @record
    class Topic:
        @record
        class Config:
            name: str = field(String, versions="5+")
            value: str | None = field(String, versions="5+", nullable="5+")
            read_only: bool = field(Bool, versions="5+")
            config_source: int = field(Int8, versions="5+", default=-1, ignorable=True)
            is_sensitive: bool = field(Bool, versions="5+")

        name: str = field(String)
        topic_id: bytes = field(Uuid, versions="7+", ignorable=True)
        error_code: int = field(Int16)
        error_message: str | None = field(String, versions="1+", nullable="0+", ignorable=True)
        topic_config_error_code: int = field(Int16, versions="5+", ignorable=True, tag=0)  # why Configs is null
        num_partitions: int = field(Int32, versions="5+", default=-1, ignorable=True)
        replication_factor: int = field(Int16, versions="5+", default=-1, ignorable=True)
        configs: list[Config] | None = field(Array(Config), versions="5+", nullable="5+", ignorable=True)

    throttle_time_ms: int = field(Int32, versions="2+", ignorable=True)
    topics: list[Topic] = field(Array(Topic))


@request(key=20, versions="0-6", flexible="4+")
class DeleteTopicsRequest:
    """Topics to delete, by name or since version 6 by id (KIP-516)."""

    @record
    class Topic:
        # null where the topic id stands for it
        name: str | None = field(String, versions="6+", nullable="6+", default=None)
        topic_id: bytes = field(Uuid, versions="6+")

    topics: list[Topic] = field(Array(Topic), versions="6+")
    topic_names: list[str] = field(Array(String), versions="0-5", ignorable=True)
    timeout_ms: int = field(Int32)


@response(key=20, versions="0-6", flexible="4+")
class DeleteTopicsResponse:
    """How that went, for each topic."""

    @record
    class Topic:
        name: str | None = field(String, nullable="6+")
        topic_id: bytes = field(Uuid, versions="6+", ignorable=True)
        error_code: int = field(Int16)
        error_message: str | None = field(String, versions="5+", nullable="5+", default=None, ignorable=True)

    throttle_time_ms: int = field(Int32, versions="1+", ignorable=True)
    responses: list[Topic] = field(Array(Topic))


@request(key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    """Topics to widen (KIP-195)."""

    @record
    class Topic:
        @record
        class Assignment:
            broker_ids: list[int] = field(Array(Int32))

        name: str = field(String)
        count: int = field(Int32)  # partitions there shall be, old and new
        # of the new ones alone; null: the brokers choose
        assignments: list[Assignment] | None = field(Array(Assignment), nullable="0+")

    topics: list[Topic] = field(Array(Topic))
    timeout_ms: int = field(Int32)
    validate_only: bool = field(Bool)


@response(key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse:
    """How that went, for each topic."""

    @record
    class Topic:
        name: str = field(String)
        error_code: int = field(Int16)
        error_message: str | None = field(String, nullable="0+", default=None)

    throttle_time_ms: int = field(Int32)
    results: list[Topic] = field(Array(Topic))
