"""TopicMetadata (key 3) as KIP-36 draws it; :mod:`.metadata` has what became of it."""

from ..declare import field, record, request, response
from ..wire import Array, Int16, Int32, String


@request(key=3, versions="0-1")
class TopicMetadataRequest:
    """Names of topics to describe; none asks for all, in both versions."""

    topics: list[str] = field(Array(String))


@response(key=3, versions="0-1")
class TopicMetadataResponse:
    """The brokers, and who leads each partition. Version 1 adds the rack of each broker, and nothing else."""

    @record
    class Broker:
        node_id: int = field(Int32)
        host: str = field(String)
        port: int = field(Int32)
        rack: str | None = field(String, versions="1+", nullable="1+", default=None, ignorable=True)

    @record
    class Topic:
        @record
        class Partition:
            error_code: int = field(Int16)
            partition_index: int = field(Int32)
            leader_id: int = field(Int32)
            replica_nodes: list[int] = field(Array(Int32))
            isr_nodes: list[int] = field(Array(Int32))

        error_code: int = field(Int16)
        name: str = field(String)
        partitions: list[Partition] = field(Array(Partition))

    brokers: list[Broker] = field(Array(Broker))
    topics: list[Topic] = field(Array(Topic))
