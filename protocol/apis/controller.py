"""LeaderAndIsr (key 4), StopReplica (5), UpdateMetadata (6), ControlledShutdown (7): controller and brokers.

Gone with Zookeeper in Kafka 4.0. KIP-36 numbers UpdateMetadata 0-2; its version 2 brought racks.
"""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int8, Int16, Int32, Int64, String, Uuid


@record
class LeaderAndIsrPartitionState:
    """The controller's instructions to a broker for one partition."""

    topic_name: str = field(String, versions="0-1", ignorable=True)
    partition_index: int = field(Int32)
    controller_epoch: int = field(Int32)
    leader: int = field(Int32)
    leader_epoch: int = field(Int32)
    isr: list[int] = field(Array(Int32))
    partition_epoch: int = field(Int32)
    replicas: list[int] = field(Array(Int32))
    adding_replicas: list[int] = field(Array(Int32), versions="3+", ignorable=True)
    removing_replicas: list[int] = field(Array(Int32), versions="3+", ignorable=True)
    is_new: bool = field(Bool, versions="1+", ignorable=True)
    leader_recovery_state: int = field(Int8, versions="6+")


@request(key=4, versions="0-7", flexible="4+")
class LeaderAndIsrRequest:
    """Makes a broker leader or follower of partitions. Grouped by topic since version 2 (KIP-380)."""

    @record
    class TopicState:
        topic_name: str = field(String, versions="2+")
        topic_id: bytes = field(Uuid, versions="5+", ignorable=True)
        partition_states: list[LeaderAndIsrPartitionState] = field(Array(LeaderAndIsrPartitionState), versions="2+")

    @record
    class LiveLeader:
        broker_id: int = field(Int32)
        host_name: str = field(String)
        port: int = field(Int32)

    controller_id: int = field(Int32)
    is_kraft_controller: bool = field(Bool, versions="7+", json="isKRaftController")
    controller_epoch: int = field(Int32)
    # keeps orders for an earlier life of the broker from being followed
    broker_epoch: int = field(Int64, versions="2+", default=-1, ignorable=True)
    type: int = field(Int8, versions="5+")  # 1: some partitions; 2: all of them (KIP-516)
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(
        Array(LeaderAndIsrPartitionState), versions="0-1"
    )
    topic_states: list[TopicState] = field(Array(TopicState), versions="2+")
    live_leaders: list[LiveLeader] = field(Array(LiveLeader))  # those named above


@record
class LeaderAndIsrPartitionError:
    """How that went."""

    topic_name: str = field(String, versions="0-4", ignorable=True)
    partition_index: int = field(Int32)
    error_code: int = field(Int16)


@response(key=4, versions="0-7", flexible="4+")
class LeaderAndIsrResponse:
    """How that went, for each partition."""

    @record
    class TopicError:
        topic_id: bytes = field(Uuid, versions="5+")
        partition_errors: list[LeaderAndIsrPartitionError] = field(Array(LeaderAndIsrPartitionError), versions="5+")

    error_code: int = field(Int16)
    partition_errors: list[LeaderAndIsrPartitionError] = field(Array(LeaderAndIsrPartitionError), versions="0-4")
    topics: list[TopicError] = field(Array(TopicError), versions="5+")


@request(key=5, versions="0-4", flexible="2+")
class StopReplicaRequest:
    """Takes replicas off a broker. Versions 1 and 3 laid it out anew (KIP-380, KIP-570)."""

    @record
    class UngroupedPartition:
        topic_name: str = field(String, versions="0")
        partition_index: int = field(Int32, versions="0")

    @record
    class Topic:
        name: str = field(String, versions="1-2")
        partition_indexes: list[int] = field(Array(Int32), versions="1-2")

    @record
    class TopicState:
        @record
        class PartitionState:
            partition_index: int = field(Int32, versions="3+")
            leader_epoch: int = field(Int32, versions="3+", default=-1)
            delete_partition: bool = field(Bool, versions="3+")

        topic_name: str = field(String, versions="3+")
        partition_states: list[PartitionState] = field(Array(PartitionState), versions="3+")

    controller_id: int = field(Int32)
    is_kraft_controller: bool = field(Bool, versions="4+", json="isKRaftController")
    controller_epoch: int = field(Int32)
    broker_epoch: int = field(Int64, versions="1+", default=-1, ignorable=True)
    delete_partitions: bool = field(Bool, versions="0-2")
    ungrouped_partitions: list[UngroupedPartition] = field(Array(UngroupedPartition), versions="0")
    topics: list[Topic] = field(Array(Topic), versions="1-2")
    topic_states: list[TopicState] = field(Array(TopicState), versions="3+")


@response(key=5, versions="0-4", flexible="2+")
class StopReplicaResponse:
    """How that went, for each partition."""

    @record
    class PartitionError:
        topic_name: str = field(String)
        partition_index: int = field(Int32)
        error_code: int = field(Int16)

    error_code: int = field(Int16)
    partition_errors: list[PartitionError] = field(Array(PartitionError))


@record
class UpdateMetadataPartitionState:
    """The leader of one partition and its replicas."""

    topic_name: str = field(String, versions="0-4", ignorable=True)
    partition_index: int = field(Int32)
    controller_epoch: int = field(Int32)
    leader: int = field(Int32)
    leader_epoch: int = field(Int32)
    isr: list[int] = field(Array(Int32))
    zk_version: int = field(Int32)
    replicas: list[int] = field(Array(Int32))
    offline_replicas: list[int] = field(Array(Int32), versions="4+", ignorable=True)


@request(key=6, versions="0-8", flexible="6+")
class UpdateMetadataRequest:
    """Tells a broker who is alive and who leads what, for it to tell clients. Racks from version 2 on (KIP-36)."""

    @record
    class TopicState:
        topic_name: str = field(String, versions="5+")
        topic_id: bytes = field(Uuid, versions="7+", ignorable=True)
        partition_states: list[UpdateMetadataPartitionState] = field(Array(UpdateMetadataPartitionState), versions="5+")

    @record
    class Broker:
        @record
        class Endpoint:
            port: int = field(Int32, versions="1+")
            host: str = field(String, versions="1+")
            listener: str = field(String, versions="3+", ignorable=True)
            security_protocol: int = field(Int16, versions="1+")  # 0: PLAINTEXT; 1: SSL; 2: SASL_PLAINTEXT; 3: SASL_SSL

        id: int = field(Int32)
        v0_host: str = field(String, versions="0", ignorable=True)  # the one plaintext listener
        v0_port: int = field(Int32, versions="0", ignorable=True)
        endpoints: list[Endpoint] = field(Array(Endpoint), versions="1+", ignorable=True)
        rack: str | None = field(String, versions="2+", nullable="0+", ignorable=True)  # null: none

    controller_id: int = field(Int32)
    is_kraft_controller: bool = field(Bool, versions="8+", json="isKRaftController")
    type: int = field(Int8, versions="8+", tag=0)  # 1: some partitions; 2: all of them (KIP-866)
    controller_epoch: int = field(Int32)
    broker_epoch: int = field(Int64, versions="5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(
        Array(UpdateMetadataPartitionState), versions="0-4"
    )
    topic_states: list[TopicState] = field(Array(TopicState), versions="5+")
    live_brokers: list[Broker] = field(Array(Broker))


@response(key=6, versions="0-8", flexible="6+")
class UpdateMetadataResponse:
    """Says if the broker took it."""

    error_code: int = field(Int16)


@request(key=7, versions="0-3", flexible="3+")
class ControlledShutdownRequest:
    """A broker asks to be relieved of leadership before it stops. Version 0 has a header without client id."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, versions="2+", default=-1, ignorable=True)


@response(key=7, versions="0-3", flexible="3+")
class ControlledShutdownResponse:
    """The partitions that it still leads."""

    @record
    class RemainingPartition:
        topic_name: str = field(String)
        partition_index: int = field(Int32)

    error_code: int = field(Int16)
    remaining_partitions: list[RemainingPartition] = field(Array(RemainingPartition))
