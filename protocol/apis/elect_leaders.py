"""ElectLeaders (key 43): other replicas of a partition lead it."""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, String


@request(key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest:
    """Partitions to elect leaders for (KIP-183); since version 1 out-of-sync ones, too (KIP-460)."""

    @record
    class TopicPartitions:
        topic: str = field(String)
        partitions: list[int] = field(Array(Int32))

    election_type: int = field(Int8, versions="1+")  # 0: preferred replica; 1: any replica, even out of sync
    topic_partitions: list[TopicPartitions] | None = field(Array(TopicPartitions), nullable="0+")  # null: all
    timeout_ms: int = field(Int32, default=60000)


@response(key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse:
    """How that went, for each partition."""

    @record
    class Topic:
        @record
        class Partition:
            partition_id: int = field(Int32)
            error_code: int = field(Int16)
            error_message: str | None = field(String, nullable="0+")

        topic: str = field(String)
        partition_result: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16, versions="1+")
    replica_election_results: list[Topic] = field(Array(Topic))
