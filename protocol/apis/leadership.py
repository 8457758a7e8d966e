"""AlterPartition (key 56): who is in sync."""

from ..declare import field, record, request, response
from ..wire import Array, Int8, Int16, Int32, Int64, String, Uuid


@request(key=56, versions="0-3", flexible="0+")
class AlterPartitionRequest:
    """A leader asks the controller to change who is in sync (KIP-497). Broker epochs from version 3 on (KIP-903)."""

    @record
    class Topic:
        @record
        class Partition:
            @record
            class BrokerState:
                broker_id: int = field(Int32, versions="3+")
                broker_epoch: int = field(Int64, versions="3+", default=-1)

            partition_index: int = field(Int32)
            leader_epoch: int = field(Int32)
            new_isr: list[int] = field(Array(Int32), versions="0-2")
            new_isr_with_epochs: list[BrokerState] = field(Array(BrokerState), versions="3+")
            # 1: the leader recovers from an unclean election (KIP-704)
            leader_recovery_state: int = field(Int8, versions="1+")
            partition_epoch: int = field(Int32)

        topic_id: bytes = field(Uuid, versions="2+", ignorable=True)
        topic_name: str = field(String, versions="0-1", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    topics: list[Topic] = field(Array(Topic))


@response(key=56, versions="0-3", flexible="0+")
class AlterPartitionResponse:
    """The state of each partition as the controller now has it."""

    @record
    class Topic:
        @record
        class Partition:
            partition_index: int = field(Int32)
            error_code: int = field(Int16)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32)
            isr: list[int] = field(Array(Int32))
            leader_recovery_state: int = field(Int8, versions="1+", ignorable=True)
            partition_epoch: int = field(Int32)

        topic_id: bytes = field(Uuid, versions="2+", ignorable=True)
        topic_name: str = field(String, versions="0-1", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))

    throttle_time_ms: int = field(Int32)
    error_code: int = field(Int16)
    topics: list[Topic] = field(Array(Topic))
