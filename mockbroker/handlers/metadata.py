"""Metadata (key 3) and DescribeTopicPartitions (key 75): who leads what, and in which rack.

Classic topics show their real leaders. Every diskless partition of an answer is led by one broker of the client's rack,
sole replica and sole in-sync replica; the next answer names the next broker of that rack.

Reads cluster.brokers and cluster.topics; writes cluster.topics when it auto-creates, and takes turns.
Errors, per topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION; per partition:
LEADER_NOT_AVAILABLE, and REPLICA_NOT_AVAILABLE in v0.
Source: KIP-36, KIP-516, KIP-966; KafkaApis.handleTopicMetadataRequest,
DescribeTopicPartitionsRequestHandler, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafka_rack import diskless
from mockbroker.call import Call, handles
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import NO_LEADER, Partition, Topic
from protocol import ZERO_UUID
from protocol.apis.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from protocol.error_codes import ErrorCode

ALL_TOPIC_OPERATIONS = 3576  # READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS as bits
ALL_CLUSTER_OPERATIONS = 8096
NOT_ASKED_FOR = -(2**31)
RACK_VERSION = 14
DESCRIBE_RACK_VERSION = 1
MAX_PARTITIONS_DESCRIBED = 2000  # max.request.partition.size.limit


@handles(MetadataRequest)
def metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """The brokers that are up, and the topics asked for."""
    cluster = call.cluster
    if cluster.zookeeper is not None:
        return zookeeper_metadata(call, request)
    rack_id = request.rack_id if call.version >= RACK_VERSION else None
    topics = wanted_topics(call, request)
    chosen = choose_diskless_leader(call, rack_id, [topic for topic in topics if isinstance(topic, Topic)])
    return MetadataResponse(
        brokers=[broker_entry(call, broker) for broker in cluster.online_brokers()],
        cluster_id=cluster.id,
        controller_id=cluster.controller_id(),
        topics=[
            topic_entry(call, topic, chosen, request.include_topic_authorized_operations)
            if isinstance(topic, Topic)
            else topic
            for topic in topics
        ],
        cluster_authorized_operations=(
            ALL_CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED_FOR
        ),
    )


def zookeeper_metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """What the broker that was called has been told."""
    from mockbroker.handlers.metadata_told import told_metadata

    response = told_metadata(call, request)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = ALL_CLUSTER_OPERATIONS
    if request.include_topic_authorized_operations:
        for topic in response.topics:
            topic.topic_authorized_operations = ALL_TOPIC_OPERATIONS
    return response


@handles(DescribeTopicPartitionsRequest)
def describe_topic_partitions(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """The partitions of the topics asked for, by name, as many as the answer may hold, and where to go on."""
    rack_id = request.rack_id if call.version >= DESCRIBE_RACK_VERSION else None
    names = {wanted.name for wanted in request.topics} or set(call.cluster.topics)
    first_name, first_index = "", 0
    if request.cursor is not None:
        first_name, first_index = request.cursor.topic_name, request.cursor.partition_index
        if first_index < 0:  # the answer has no place for an error but its topics
            return DescribeTopicPartitionsResponse(
                topics=[
                    DescribeTopicPartitionsResponse.Topic(name=name, error_code=ErrorCode.INVALID_REQUEST)
                    for name in sorted({wanted.name for wanted in request.topics})
                ]
            )
    room = max(1, min(request.response_partition_limit, MAX_PARTITIONS_DESCRIBED))
    response = DescribeTopicPartitionsResponse()
    wanted_names = sorted(name for name in names if name >= first_name)
    known = [call.cluster.topics[name] for name in wanted_names if name in call.cluster.topics]
    chosen = choose_diskless_leader(call, rack_id, known)
    for name in wanted_names:
        first = first_index if name == first_name else 0
        topic = call.cluster.topics.get(name)
        if topic is None:
            response.topics.append(
                DescribeTopicPartitionsResponse.Topic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            )
            continue
        if room == 0:
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=first)
            break
        part = topic.partitions[first : first + room]
        room -= len(part)
        response.topics.append(
            DescribeTopicPartitionsResponse.Topic(
                name=topic.name,
                topic_id=topic.id,
                is_internal=topic.is_internal,
                partitions=[described_entry(call, partition, chosen) for partition in part],
                topic_authorized_operations=ALL_TOPIC_OPERATIONS,
            )
        )
        if first + len(part) < len(topic.partitions):
            response.next_cursor = DescribeTopicPartitionsResponse.Cursor(
                topic_name=name, partition_index=first + len(part)
            )
            break
    return response


def choose_diskless_leader(call: Call, rack_id: str | None, topics: list[Topic]) -> int:
    """The broker that leads every diskless partition of this answer; no turn is taken where there is none."""
    rack = diskless.client_rack(rack_id, call.session.client_id, call.session.listener_rack)
    if rack_id:
        call.session.learn_rack(rack_id)
    if not any(topic.diskless for topic in topics):
        return NO_LEADER
    chosen = call.cluster.diskless_broker(rack)
    call.cluster.take_turn(rack)
    call.diskless_turn = (rack, chosen)
    return chosen


def broker_entry(call: Call, broker: Broker) -> MetadataResponse.Broker:
    """A broker with the address of the listener that the client came in by."""
    listener = broker.listener(call.session.listener)
    return MetadataResponse.Broker(node_id=broker.id, host=listener.host, port=listener.port, rack=broker.rack)


def wanted_topics(call: Call, request: MetadataRequest) -> list[Topic | MetadataResponse.Topic]:
    """The topics asked for, or all by name; where one cannot be had, the entry that says why."""
    if request.topics is None or (call.version == 0 and not request.topics):
        return [call.cluster.topics[name] for name in sorted(call.cluster.topics)]
    return list(found_topics(call, request))


def found_topics(call: Call, request: MetadataRequest) -> Iterator[Topic | MetadataResponse.Topic]:
    may_create = request.allow_auto_topic_creation and call.cluster.settings["auto.create.topics.enable"]
    for wanted in request.topics or ():
        try:
            if wanted.name and may_create and wanted.name not in call.cluster.topics:
                yield call.cluster.create_topic(wanted.name)
            else:
                yield call.cluster.find_topic(wanted.name, wanted.topic_id)
        except ApiError as error:
            no_name = None if call.version >= 12 else ""
            yield MetadataResponse.Topic(
                name=wanted.name or no_name,
                topic_id=ZERO_UUID if wanted.name else wanted.topic_id,
                error_code=error.code,
            )


def topic_entry(call: Call, topic: Topic, chosen: int, with_operations: bool) -> MetadataResponse.Topic:
    return MetadataResponse.Topic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[partition_entry(call, partition, chosen) for partition in topic.partitions],
        topic_authorized_operations=ALL_TOPIC_OPERATIONS if with_operations else NOT_ASKED_FOR,
    )


def partition_entry(call: Call, partition: Partition, chosen: int) -> MetadataResponse.Topic.Partition:
    leader, replicas, isr, offline = shown(call, partition, chosen)
    error = ErrorCode.NONE if leader != NO_LEADER else ErrorCode.LEADER_NOT_AVAILABLE
    if call.version == 0 and offline:
        replicas = [replica for replica in replicas if replica not in offline]
        isr = [replica for replica in isr if replica not in offline]
        error = error or ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponse.Topic.Partition(
        error_code=error,
        partition_index=partition.index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline,
    )


def described_entry(call: Call, partition: Partition, chosen: int) -> DescribeTopicPartitionsResponse.Topic.Partition:
    leader, replicas, isr, offline = shown(call, partition, chosen)
    return DescribeTopicPartitionsResponse.Topic.Partition(
        error_code=ErrorCode.NONE if leader != NO_LEADER else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=partition.index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=offline,
    )


def shown(call: Call, partition: Partition, chosen: int) -> tuple[int, list[int], list[int], list[int]]:
    """Leader, replicas, in-sync and offline replicas as clients are told."""
    if partition.topic.diskless:
        alone = [chosen] if chosen != NO_LEADER else []
        return (chosen, alone, alone, [])
    online = call.cluster.online_ids()
    offline = [replica for replica in partition.replicas if replica not in online]
    return (partition.leader, list(partition.replicas), list(partition.isr), offline)
