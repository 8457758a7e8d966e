"""One request, seconds of work."""

from __future__ import annotations

import threading
from contextlib import suppress

import protocol
from protocol.apis.classic_group import JoinGroupRequest, SyncGroupRequest
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.delete_records import DeleteRecordsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.groups import DescribeGroupsRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from protocol.apis.transactions import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.records import CompressionCodec, Record, build_batch
from tests.torture.target import MB, Bound, Client, Target, request_bytes

TOPIC = "orders"
OPTIONS = ("--topic", f"{TOPIC}:1:1")
DOUBLES = NAMES = 19_990
"""About as many things as a request may name by ``max.request.items``."""
JOIN_VERSION, PROTOCOLS, MEMBERS = 3, 19_990, 2_000


def join(group: str, protocols: list[str], member_id: str = "", metadata: bytes = b"") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequest.Protocol(name=name, metadata=metadata) for name in protocols],
    )


def many_protocols(target: Target) -> None:
    """Two members of a group name 19,990 protocols each, of which they share the last."""
    target.make_coordinators()
    first = [f"a-{number}" for number in range(PROTOCOLS)]
    second = [f"b-{number}" for number in range(PROTOCOLS)]
    target.client().ask(join("protocols", [*first, "shared"]), JOIN_VERSION)
    target.client().send(request_bytes(join("protocols", [*second, "shared"]), JOIN_VERSION))
    target.client().ask(DescribeGroupsRequest(groups=["protocols"]), 0)


def many_members(target: Target) -> None:
    """2,000 members join one group, each by a connection of its own."""
    target.make_coordinators()
    question = request_bytes(join("members", ["range", "sticky"]), JOIN_VERSION)
    for _ in range(MEMBERS):
        target.client().send(question)
    target.client().ask(DescribeGroupsRequest(groups=["members"]), 0)


def doubled_fetch(target: Target) -> None:
    """A Fetch names one partition 19,990 times."""
    wanted = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=MB)
    topic = FetchRequest.Topic(topic=TOPIC, partitions=[wanted] * DOUBLES)
    target.client().ask(FetchRequest(max_wait_ms=0, max_bytes=MB, session_epoch=-1, topics=[topic]), 11)


def unknown_fetch(target: Target) -> None:
    """A Fetch names 19,990 partitions that are not there."""
    wanted = [FetchRequest.Topic.Partition(partition=index + 5, partition_max_bytes=MB) for index in range(DOUBLES)]
    topic = FetchRequest.Topic(topic=TOPIC, partitions=wanted)
    target.client().ask(FetchRequest(max_wait_ms=0, max_bytes=MB, session_epoch=-1, topics=[topic]), 11)


def empty_names(target: Target) -> None:
    """A Metadata names a topic without a name a million times, which is refused."""
    request = MetadataRequest(topics=[MetadataRequest.Topic(name="")] * 1_000_000)
    target.client().ask(request, 9)


def unknown_names(target: Target) -> None:
    """A Metadata names 19,990 topics that are not there, and none is to be made."""
    topics = [MetadataRequest.Topic(name=f"none-{number}") for number in range(NAMES)]
    target.client().ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)


def many_millions(target: Target) -> None:
    """12 connections name a million topics that are not there, all at the same time; they are refused."""
    topics = [MetadataRequest.Topic(name=f"none-{number}") for number in range(1_000_000)]
    question = request_bytes(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 9)
    clients = [target.client() for _ in range(12)]
    asking = [threading.Thread(target=client.send, args=(question,)) for client in clients]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    for client in clients:
        with suppress(ConnectionError):
            client.receive()


def created_by_name(target: Target) -> None:
    """A Metadata names 10,000 topics that are made for it."""
    topics = [MetadataRequest.Topic(name=f"new-{number}") for number in range(10_000)]
    target.client().ask(MetadataRequest(topics=topics), 9)


def many_partitions(target: Target) -> None:
    """Three CreateTopics of 100,000 partitions."""
    client = target.client()
    for number in range(3):
        topic = CreateTopicsRequest.Topic(name=f"wide-{number}", num_partitions=100_000, replication_factor=1)
        client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)


def more_partitions(target: Target) -> None:
    """A CreatePartitions to 100,000."""
    topic = CreatePartitionsRequest.Topic(name=TOPIC, count=100_000)
    target.client().ask(CreatePartitionsRequest(topics=[topic], timeout_ms=30_000), 1)


def allowed_partitions(target: Target) -> None:
    """Five CreateTopics of as many partitions as one may have: 10,000."""
    client = target.client()
    for number in range(5):
        topic = CreateTopicsRequest.Topic(name=f"wide-{number}", num_partitions=10_000, replication_factor=1)
        client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)


def large_group(target: Target) -> None:
    """DescribeGroups names a group of 10 MB 60 times."""
    target.make_coordinators()
    client = target.client()
    joined = client.ask(join("large", ["range"], metadata=bytes(10 * MB)), JOIN_VERSION)
    assigned = SyncGroupRequest(
        group_id="large", generation_id=joined.generation_id, member_id=joined.member_id, assignments=[]
    )
    client.ask(assigned, 2)
    client.send(request_bytes(DescribeGroupsRequest(groups=["large"] * 60), 4))
    protocol.read_response(client.receive(), DescribeGroupsRequest.api_key, 4)


def gzip_batch(size_bytes: int = 50 * MB) -> bytes:
    """A batch of one record of zeros, small as it travels."""
    return build_batch([Record(value=bytes(size_bytes), timestamp=1000)], codec=CompressionCodec.GZIP)


def produce(client: Client, records: bytes, version: int, topic: str = TOPIC) -> int:
    """Send records to the first partition of a topic; gives the error."""
    partition = ProduceRequest.Topic.Partition(index=0, records=records)
    wanted = ProduceRequest.Topic(name=topic, partition_data=[partition])
    answer = client.ask(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[wanted]), version)
    return int(answer.responses[0].partition_responses[0].error_code)


def doubled_list_offsets(target: Target) -> None:
    """A ListOffsets asks 50 times for a time within one gzip batch of 50 MB."""
    client = target.client()
    target.note = f"produce: {produce(client, gzip_batch(), 9)}"
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=500)
    topic = ListOffsetsRequest.Topic(name=TOPIC, partitions=[wanted] * 50)
    client.ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 5)


def old_gzip_sets(target: Target) -> None:
    """An old-format Produce with five gzip sets of 60 MB of zeros."""
    inner = build_batch([Record(value=bytes(60 * MB), timestamp=1000)], codec=CompressionCodec.GZIP, magic=1)
    target.note = f"produce: {produce(target.client(), inner * 5, 2)}"


def bombs(target: Target) -> None:
    """Twenty batches of 60 MB of zeros each, to one partition after the other."""
    client = target.client()
    batch = gzip_batch(60 * MB)
    target.note = f"produce: {sorted({produce(client, batch, 9) for _ in range(20)})}"


def many_in_transaction(target: Target) -> None:
    """AddPartitionsToTxn names 19,990 partitions that are not there."""
    target.make_coordinators()
    topic = AddPartitionsToTxnTopic(name=TOPIC, partitions=list(range(NAMES)))
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="one", v3_and_below_producer_id=1, v3_and_below_topics=[topic]
    )
    target.client().ask(request, 3)


def many_names(target: Target) -> None:
    """Requests of eight APIs that name 19,990 things each."""
    target.make_coordinators()
    client = target.client()
    names = [f"none-{number}" for number in range(NAMES)]
    numbers = range(NAMES)
    resources = [DescribeConfigsRequest.Resource(resource_type=2, resource_name=name) for name in names]
    listed = [ListOffsetsRequest.Topic.Partition(partition_index=number, timestamp=-1) for number in numbers]
    deleted = [DeleteRecordsRequest.Topic.Partition(partition_index=number) for number in numbers]
    committed = [OffsetCommitRequest.Topic.Partition(partition_index=number) for number in numbers]
    fetched = OffsetFetchRequest.Group.Topic(name=TOPIC, partition_indexes=list(numbers))
    for request, version in (
        (DescribeConfigsRequest(resources=resources), 4),
        (DescribeGroupsRequest(groups=names), 5),
        (FindCoordinatorRequest(coordinator_keys=names), 4),
        (ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name=TOPIC, partitions=listed)]), 7),
        (DeleteTopicsRequest(topic_names=names, timeout_ms=1000), 5),
        (DeleteRecordsRequest(topics=[DeleteRecordsRequest.Topic(name=TOPIC, partitions=deleted)]), 2),
        (OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequest.Topic(name=TOPIC, partitions=committed)]), 8),
        (OffsetFetchRequest(groups=[OffsetFetchRequest.Group(group_id="g", topics=[fetched])]), 8),
    ):
        client.send(request_bytes(request, version))
        client.receive()


def refused_topics(target: Target) -> None:
    """A CreateTopics of 19,990 topics, which are too many."""
    topics = [
        CreateTopicsRequest.Topic(name=f"n-{number}", num_partitions=1, replication_factor=1) for number in range(NAMES)
    ]
    client = target.client()
    client.send(request_bytes(CreateTopicsRequest(topics=topics, timeout_ms=1000), 7))
    client.receive()


def many_described(target: Target) -> None:
    """DescribeTopicPartitions names 19,990 topics that are not there."""
    topics = [DescribeTopicPartitionsRequest.Topic(name=f"none-{number}") for number in range(NAMES)]
    target.client().ask(DescribeTopicPartitionsRequest(topics=topics), 0)


BOUND = Bound(peak_mb=100, after_mb=48, mb_a_mb=1, processor_s=4)
ATTACKS = {
    attack.__name__.replace("_", " "): attack
    for attack in (
        many_protocols,
        many_members,
        doubled_fetch,
        unknown_fetch,
        empty_names,
        unknown_names,
        many_millions,
        created_by_name,
        many_partitions,
        more_partitions,
        allowed_partitions,
        large_group,
        doubled_list_offsets,
        old_gzip_sets,
        bombs,
        many_in_transaction,
        many_described,
        many_names,
        refused_topics,
    )
}
