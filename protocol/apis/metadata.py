"""Metadata (key 3) and DescribeTopicPartitions (key 75): who the brokers are, and who leads what."""

from ..declare import field, record, request, response
from ..wire import Array, Bool, Int16, Int32, String, Uuid


@request(key=3, versions="0-14", flexible="9+")
class MetadataRequest:
    """Which topics to describe. Version 14 adds the client's rack, for diskless topics."""

    @record
    class Topic:
        topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
        name: str | None = field(String, nullable="10+")  # null where the topic id stands for it

    # null asks for all; in version 0 an empty list does
    topics: list[Topic] | None = field(Array(Topic), nullable="1+")
    allow_auto_topic_creation: bool = field(Bool, versions="4+", default=True)
    include_cluster_authorized_operations: bool = field(Bool, versions="8-10")
    include_topic_authorized_operations: bool = field(Bool, versions="8+")
    rack_id: str = field(String, versions="14+", ignorable=True)  # empty: not known


@response(key=3, versions="0-14", flexible="9+")
class MetadataResponse:
    """The brokers, and who leads each partition. Racks since version 1 (KIP-36)."""

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
            leader_epoch: int = field(Int32, versions="7+", default=-1, ignorable=True)
            replica_nodes: list[int] = field(Array(Int32))
            isr_nodes: list[int] = field(Array(Int32))
            # of ReplicaNodes, those that are down (KIP-112)
            offline_replicas: list[int] = field(Array(Int32), versions="5+", ignorable=True)

        error_code: int = field(Int16)
        name: str | None = field(String, nullable="12+")
        topic_id: bytes = field(Uuid, versions="10+", ignorable=True)
        is_internal: bool = field(Bool, versions="1+", ignorable=True)
        partitions: list[Partition] = field(Array(Partition))
        # a bit set (KIP-430); this default: not asked for
        topic_authorized_operations: int = field(Int32, versions="8+", default=-2147483648)

    throttle_time_ms: int = field(Int32, versions="3+", ignorable=True)
    brokers: list[Broker] = field(Array(Broker))
    cluster_id: str | None = field(String, versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = field(Int32, versions="1+", default=-1, ignorable=True)
    topics: list[Topic] = field(Array(Topic))
    cluster_authorized_operations: int = field(Int32, versions="8-10", default=-2147483648)
    error_code: int = field(Int16, versions="13+", ignorable=True)


@request(key=75, versions="0-1", flexible="0+")
class DescribeTopicPartitionsRequest:
    """One page of the partitions of some topics (KIP-966). Version 1 adds the client's rack, for diskless topics."""

    @record
    class Topic:
        name: str = field(String)

    @record
    class Cursor:
        topic_name: str = field(String)
        partition_index: int = field(Int32)

    topics: list[Topic] = field(Array(Topic))
    response_partition_limit: int = field(Int32, default=2000)
    cursor: Cursor | None = field(Cursor, nullable="0+", default=None)  # null: from the first partition
    rack_id: str = field(String, versions="1+", ignorable=True)  # empty: not known


@response(key=75, versions="0-1", flexible="0+")
class DescribeTopicPartitionsResponse:
    """That page, and where the next one starts."""

    @record
    class Topic:
        @record
        class Partition:
            error_code: int = field(Int16)
            partition_index: int = field(Int32)
            leader_id: int = field(Int32)
            leader_epoch: int = field(Int32, default=-1, ignorable=True)
            replica_nodes: list[int] = field(Array(Int32))
            isr_nodes: list[int] = field(Array(Int32))
            # out of sync, but known to hold all that was committed
            eligible_leader_replicas: list[int] | None = field(Array(Int32), nullable="0+", default=None)
            # the last of them that could be elected
            last_known_elr: list[int] | None = field(Array(Int32), nullable="0+", default=None)
            offline_replicas: list[int] = field(Array(Int32), ignorable=True)

        error_code: int = field(Int16)
        name: str | None = field(String, nullable="0+")
        topic_id: bytes = field(Uuid, ignorable=True)
        is_internal: bool = field(Bool, ignorable=True)
        partitions: list[Partition] = field(Array(Partition))
        topic_authorized_operations: int = field(Int32, default=-2147483648)

    @record
    class Cursor:
        topic_name: str = field(String)
        partition_index: int = field(Int32)

    throttle_time_ms: int = field(Int32, ignorable=True)
    topics: list[Topic] = field(Array(Topic))
    next_cursor: Cursor | None = field(Cursor, nullable="0+", default=None)  # null: this was the last page
