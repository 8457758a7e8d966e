"""Metadata (key 3) and DescribeTopicPartitions (key 75): brokers with their racks, topics, partitions and leaders.

A broker returns the metadata that it knows (``call.view``): in KRaft mode the cluster's state, unless the broker is
disconnected from the controller; in ZooKeeper mode what the controller sent, so a new topic has no leader at first.
Classic topics show their real leaders. The cluster's profile (``kafka_rack.diskless``) chooses the leaders of diskless
topics for the client: by default one broker of its rack leads all in an answer, the rack's next broker in the next.

Writes cluster.topics when it auto-creates.
Errors, per topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, LEADER_NOT_AVAILABLE, INVALID_TOPIC_EXCEPTION and
TOPIC_AUTHORIZATION_FAILED and those of topic creation; per partition: LEADER_NOT_AVAILABLE, and REPLICA_NOT_AVAILABLE
in v0.
Source: KIP-36, KIP-516, KIP-966; KafkaApis.handleTopicMetadataRequest, Kafka 0.9 to 4.4;
DescribeTopicPartitionsRequestHandler, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_rack.diskless import DisklessClient, DisklessPartition
from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call
from mockbroker.handlers.controlled import check_controller
from mockbroker.handlers.leadership import client_of, endpoint
from mockbroker.state.errors import ApiError
from mockbroker.state.metadata import KnownPartition, KnownTopic
from mockbroker.state.security.operations import CLUSTER_NAME, Operation, ResourceType
from mockbroker.state.topics.topic import INTERNAL_TOPICS, NO_LEADER, check_topic_name
from mockbroker.subjects import Subjects, named
from protocol.apis.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from protocol.error_codes import ErrorCode

NOT_REQUESTED = -(2**31)
NULL_NAME_VERSION = 12
NO_ID = bytes(16)
TIERED = "remote.storage.enable"
UNAUTHORIZED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
MAX_PARTITIONS_DESCRIBED = 2000  # max.request.partition.size.limit

Entry = MetadataResponse.Topic
Described = DescribeTopicPartitionsResponse.Topic
NextCursor = DescribeTopicPartitionsResponse.Cursor


def never_null(
    _request: MetadataRequest, answer: MetadataResponse, _error: ApiError, _version: int
) -> MetadataResponse:
    """The answer to a failed request, with empty topic names instead of null ones."""
    for topic in answer.topics:
        topic.name = topic.name or ""
    return answer


def metadata_subjects(call: Call, request: MetadataRequest) -> Subjects:
    """The requested topics; in v0 an empty list means all topics."""
    return named(call, request) if call.version or request.topics else Subjects({}, all_topics=True)


@handles(
    MetadataRequest,
    access=Needs(
        topic="Describe",
        note="what it creates: Create on the topic or the cluster; others' topics are not listed",
        handler="all",
    ),
    errors=Errors(parts="0+", odd=never_null),
    subjects=metadata_subjects,
)
def metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """The brokers that are up, and the requested topics."""
    view = call.view
    with_operations = request.include_topic_authorized_operations
    found = wanted_topics(call, request)
    client = diskless_client(call, request.rack_id, [one for one in found if not isinstance(one, Entry)])
    topics = []
    for topic in found:
        if isinstance(topic, Entry):
            topics.append(topic)
        else:
            partitions = [partition_entry(call, topic, partition, client) for partition in topic.partitions]
            topics.append(topic_entry(call, Entry, topic, partitions, with_operations))
    return MetadataResponse(
        brokers=[endpoint(call, broker, MetadataResponse.Broker) for broker in view.live_brokers()],
        cluster_id=call.cluster.id,
        controller_id=view.controller_id,
        topics=topics,
        cluster_authorized_operations=cluster_operations(call, request),
    )


def cluster_operations(call: Call, request: Any) -> int:
    """The allowed operations on the cluster, as bits, if they are requested."""
    if not request.include_cluster_authorized_operations:
        return NOT_REQUESTED
    return call.access.permitted(ResourceType.CLUSTER, CLUSTER_NAME)


def topic_operations(call: Call, name: str, with_operations: bool) -> int:
    """The same on a topic."""
    return call.access.permitted(ResourceType.TOPIC, name) if with_operations else NOT_REQUESTED


def described_subjects(call: Call, request: DescribeTopicPartitionsRequest) -> Subjects:
    """The requested topics; an empty list means all topics."""
    return named(call, request) if request.topics else Subjects({}, all_topics=True)


@handles(
    DescribeTopicPartitionsRequest,
    access=Needs(topic="Describe", note="a request for all topics returns those with Describe", handler="all"),
    subjects=described_subjects,
)
def describe_topic_partitions(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """The partitions of the requested topics, by name, up to the limit, and a cursor if there are more."""
    view = call.view
    requested = {wanted.name for wanted in request.topics}
    cursor = request.cursor or DescribeTopicPartitionsRequest.Cursor()
    if request.cursor is not None and (
        cursor.partition_index < 0 or (requested and cursor.topic_name not in requested)
    ):
        raise ApiError(ErrorCode.INVALID_REQUEST)
    if "" in requested and not cursor.topic_name:  # Kafka fails on it in its authorization
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    room = max(1, min(request.response_partition_limit, MAX_PARTITIONS_DESCRIBED))
    response = DescribeTopicPartitionsResponse()
    names = [name for name in sorted(requested or view.topic_names()) if name >= cursor.topic_name]
    access = call.access
    seen = {name: view.topic(name) for name in names if access.may_topic(Operation.DESCRIBE, name)}
    client = diskless_client(call, request.rack_id, [topic for topic in seen.values() if topic is not None])
    for name, topic in seen.items():
        first = cursor.partition_index if name == cursor.topic_name else 0
        if room == 0:
            response.next_cursor = NextCursor(topic_name=name, partition_index=0)
            break
        if topic is None:
            if requested:
                response.topics.append(missing_entry(call, Described, name, may_create=False, with_operations=True))
            continue
        part = [described_partition(call, topic, one, client) for one in topic.partitions[first : first + room]]
        room -= len(part)
        response.topics.append(topic_entry(call, Described, topic, part, with_operations=True))
        if first + len(part) < len(topic.partitions):
            response.next_cursor = NextCursor(topic_name=name, partition_index=first + len(part))
            break
    if requested:
        hidden = [name for name in names if name not in seen]
        response.topics += [Described(name=one, error_code=UNAUTHORIZED) for one in hidden]
    return response


def diskless_client(call: Call, rack_id: str, topics: Sequence[KnownTopic]) -> DisklessClient | None:
    """The client, for the choice of diskless leaders, and a step of the rotation; None if no topic is diskless."""
    if rack_id:
        call.session.learn_rack(rack_id)
    if not any(topic.diskless for topic in topics):
        return None
    client = client_of(call, rack_id)
    if call.cluster.diskless.takes_turns:  # the next answer to this rack has the rotation's next broker
        call.took_turn = True
        call.cluster.liveness.rotate(client.rack)
    return client


def wanted_topics(call: Call, request: MetadataRequest) -> list[KnownTopic | Entry]:
    """The requested topics, or all by name that the client may describe; for a topic that fails, the entry with its
    error. Unauthorized topics are last.
    """
    view, access = call.view, call.access
    if request.topics is None or (call.version == 0 and not request.topics):
        visible = [name for name in view.topic_names() if access.may_topic(Operation.DESCRIBE, name)]
        return [topic for name in visible if (topic := view.topic(name)) is not None]
    names = dict.fromkeys(wanted.name for wanted in request.topics)
    ids = dict.fromkeys(wanted.topic_id for wanted in request.topics if wanted.topic_id != NO_ID)
    if call.version < NULL_NAME_VERSION and (ids or None in names):
        raise ApiError(ErrorCode.INVALID_REQUEST, f"version {call.version} has no topic ids, and no null names")
    found: list[KnownTopic | Entry] = []
    for topic_id in ids:  # with some, Kafka ignores topics without an id
        topic = view.topic_of_id(topic_id)
        if topic is None:
            found.append(Entry(name=None, topic_id=topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID))
        elif access.may_topic(Operation.DESCRIBE, topic.name):
            found.append(topic)
        else:
            found.append(Entry(name=None, topic_id=topic_id, error_code=UNAUTHORIZED))
    may_create = request.allow_auto_topic_creation and call.cluster.settings["auto.create.topics.enable"]
    creates_any = access.may_cluster(Operation.CREATE)
    with_operations = request.include_topic_authorized_operations
    for name in names if not ids else ():
        if name is None:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "a topic has neither a name nor an id")
        topic = view.topic(name)
        if not access.may_topic(Operation.DESCRIBE, name):
            found.append(Entry(name=name, error_code=UNAUTHORIZED))
        elif topic is None and may_create and not creates_any and not access.may_topic(Operation.CREATE, name):
            found.append(Entry(name=name, error_code=UNAUTHORIZED, is_internal=name in INTERNAL_TOPICS))
        else:
            found.append(topic or missing_entry(call, Entry, name, may_create, with_operations))
    return sorted(found, key=lambda one: isinstance(one, Entry) and one.error_code == UNAUTHORIZED)


def missing_entry(call: Call, entry_class: Any, name: str, may_create: bool, with_operations: bool) -> Any:
    """The entry of an unknown topic; creates the topic if that is allowed."""
    return entry_class(
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        error_code=error_of_missing(call, name, may_create),
        topic_authorized_operations=topic_operations(call, name, with_operations),
    )


def error_of_missing(call: Call, name: str, may_create: bool) -> int:
    """The error of an unknown topic; creates the topic if that is allowed.

    In KRaft mode the topic appears in the next answer, as in Kafka, which does not wait for its controller.
    """
    cluster = call.cluster
    is_kraft = cluster.support.is_kraft
    try:
        check_topic_name(name)
    except ApiError as error:
        return error.code
    if not may_create:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if name not in cluster.topics:
        try:
            check_controller(call, forwarding=True)
            cluster.replication_control.check_new_name(name)
            if name in INTERNAL_TOPICS:
                cluster.internal_topics.topic(name)
            else:
                cluster.replication_control.create(name, requesting_broker_id=call.broker.id)
        except ApiError as error:
            if not is_kraft:
                return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_kraft else ErrorCode.LEADER_NOT_AVAILABLE


def topic_entry(call: Call, entry_class: Any, topic: KnownTopic, partitions: list[Any], with_operations: bool) -> Any:
    return entry_class(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=partitions,
        topic_authorized_operations=topic_operations(call, topic.name, with_operations),
    )


def partition_entry(
    call: Call, topic: KnownTopic, partition: KnownPartition, client: DisklessClient | None
) -> Entry.Partition:
    """One partition; version 0 lists only live replicas, with REPLICA_NOT_AVAILABLE if others exist."""
    entry: Entry.Partition = shown(call, topic, partition, client, Entry.Partition)
    if entry.leader_id == NO_LEADER:
        entry.error_code = ErrorCode.LEADER_NOT_AVAILABLE
    if call.version == 0 and not topic.diskless:
        for name in ("replica_nodes", "isr_nodes"):
            replicas = getattr(entry, name)
            alive = [replica for replica in replicas if call.view.is_alive(replica)]
            if len(alive) < len(replicas):
                entry.error_code = entry.error_code or ErrorCode.REPLICA_NOT_AVAILABLE
            setattr(entry, name, alive)
    return entry


def described_partition(
    call: Call, topic: KnownTopic, partition: KnownPartition, client: DisklessClient | None
) -> Described.Partition:
    entry: Described.Partition = shown(call, topic, partition, client, Described.Partition)
    entry.eligible_leader_replicas = list(partition.eligible_leader_replicas)
    entry.last_known_elr = list(partition.last_known_elr)
    return entry


def shown(
    call: Call, topic: KnownTopic, partition: KnownPartition, client: DisklessClient | None, entry_class: Any
) -> Any:
    """A partition with its leader, its replicas, in-sync and offline replicas, as clients see them."""
    replicas: Sequence[int]
    if client is not None and topic.diskless:
        known = call.cluster.topics.get(topic.name)
        tiered = known is not None and known.config(TIERED)
        place = DisklessPartition(topic.id, partition.index, tiered)
        leader, replicas, isr, offline = call.cluster.diskless.shown(client, place)
    else:
        view = call.view
        leader = partition.leader if view.is_alive(partition.leader) else NO_LEADER
        isr = partition.isr if leader != NO_LEADER or view.shows_isr_without_leader else ()
        replicas, offline = partition.replicas, tuple(view.offline_replicas(partition))
    return entry_class(
        partition_index=partition.index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(replicas),
        isr_nodes=list(isr),
        offline_replicas=list(offline),
    )
