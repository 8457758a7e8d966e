"""The drop-in assignors on a real Kafka 4.4 of three brokers in three racks: what its coordinator is told and gives.

The subscriptions are read off DescribeGroups as bytes and decoded by our own codec, so they are what the coordinator
holds, not what a client believes to have sent. Where replicas lie comes from Kafka's own answer too.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from kafka_rack.assignment import assign
from mockbroker.adapters.real_cluster.cluster import LiveCluster
from mockbroker.adapters.real_cluster.group import coordinator
from protocol.apis.groups import DescribeGroupsRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned
from tests.interop.fetched import skipped_without_tools
from tests.interop.java_brokers import kafka_cluster
from tests.interop.rack_member import client_id
from tests.interop.rack_members import CLIENTS_AND_KINDS, AioMember, ProcessMember, expect_soon, group

RACKS = ("a", "b", "c")
ROUND = [[0], [1], [2]] * 4
"""Twelve partitions of one replica each: plain range, dealing runs of four, would read eight outside their racks."""
VERSION_WITH_RACKS = 3
ASSIGNORS = {"Range": "range", "Sticky": "sticky", "CooperativeSticky": "cooperative-sticky"}


@dataclass
class Kafka:
    """A running cluster; each case has a topic and a group of its own name."""

    bootstrap_servers: str

    def create(self, topic: str, rows: list[list[int]]) -> None:
        with LiveCluster(self.bootstrap_servers) as cluster:
            cluster.create_topic(topic, rows, {})

    def replicas(self, topic: str) -> list[list[int]]:
        """The replicas of each partition, as Kafka tells them."""
        with LiveCluster(self.bootstrap_servers) as cluster:
            partitions = cluster.snapshot([topic], with_settings=False).topics[topic].partitions
        return [list(partition.replicas) for partition in partitions]

    def partitions_in(self, topic: str, rack: str) -> set[int]:
        """The partitions with a replica in a rack."""
        return {number for number, row in enumerate(self.replicas(topic)) if rack in {RACKS[broker] for broker in row}}

    def move(self, topic: str, rows: dict[int, list[int]]) -> None:
        """Partition -> its new replicas."""
        with LiveCluster(self.bootstrap_servers) as cluster:
            topics = AlterPartitionReassignmentsRequest.Topic
            moves = [topics.Partition(partition_index=number, replicas=row) for number, row in rows.items()]
            request = AlterPartitionReassignmentsRequest(
                topics=[topics(name=topic, partitions=moves)], timeout_ms=30_000
            )
            answer = cluster.ask_controller(request, "Kafka 2.4")
        assert {one.error_code for one in answer.responses[0].partitions} == {0}

    def described(self, group_id: str) -> DescribedGroup:
        """What the coordinator holds of a group."""
        with LiveCluster(self.bootstrap_servers) as cluster:
            connection = cluster.connection_to(coordinator(cluster, group_id))
            version = connection.version_for(DescribeGroupsRequest)
            (said,) = connection.ask(DescribeGroupsRequest(groups=[group_id]), version).groups
        return DescribedGroup(
            said.group_state,
            said.protocol_data,
            sorted((member.client_id, member.member_metadata) for member in said.members),
            {member.member_id: member.member_assignment for member in said.members},
            {member.member_id: member.client_id for member in said.members},
        )


@dataclass
class DescribedGroup:
    """A group by DescribeGroups."""

    state: str
    assignor: str
    subscriptions: list[tuple[str, bytes]]
    """Client id and subscription of each member, as bytes."""
    assignments: dict[str, bytes]
    client_ids: dict[str, str]

    def racks(self) -> list[tuple[str, int, str | None]]:
        """Client id, version of the subscription, and the rack in it."""
        return [
            (name, int.from_bytes(data[:2], "big"), read_versioned(ConsumerProtocolSubscription, data).rack_id)
            for name, data in self.subscriptions
        ]

    def assigned(self, topic: str) -> dict[str, list[tuple[str, int]]]:
        """Member id -> its pairs of the topic, sorted."""
        return {
            member: sorted(
                (part.topic, number)
                for part in read_versioned(ConsumerProtocolAssignment, data).assigned_partitions
                for number in part.partitions
                if part.topic == topic
            )
            for member, data in self.assignments.items()
        }


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with skipped_without_tools(), kafka_cluster(RACKS, tmp_path_factory.mktemp("kafka")) as address:
        yield Kafka(address)


def members_of(kafka, name, *clients_kinds_racks, **options):
    """Members of a group and a topic of this name."""
    return [client(kafka, kind, rack, topic=name, group=name, **options) for client, kind, rack in clients_kinds_racks]


async def described_when_stable(kafka, group_id):
    """What the coordinator holds once no rebalance is under way: a cooperative group may have one more to come."""
    found = []

    def state():
        found.append(kafka.described(group_id))
        return found[-1].state

    await expect_soon(state, "Stable")
    return found[-1]


async def expect_partitions(members, wanted):
    await expect_soon(lambda: [member.partitions() for member in members], wanted)


@pytest.mark.parametrize(("client", "kind"), CLIENTS_AND_KINDS)
async def test_kafka_holds_each_members_rack_and_each_reads_the_partitions_of_its_rack(kafka, client, kind):
    name = f"{client.__name__}-{kind}"
    kafka.create(name, ROUND)
    members = members_of(kafka, name, *((client, kind, rack) for rack in ("c", "a", "b")))
    async with group(*members):
        await expect_partitions(members, [kafka.partitions_in(name, rack) for rack in ("c", "a", "b")])
        told = await described_when_stable(kafka, name)
    assert told.assignor == ASSIGNORS[kind]
    assert told.racks() == [(client_id(rack), VERSION_WITH_RACKS, rack) for rack in RACKS]
    by_client = {told.client_ids[member]: pairs for member, pairs in told.assigned(name).items()}
    assert by_client == {
        client_id("a"): [(name, number) for number in (0, 3, 6, 9)],
        client_id("b"): [(name, number) for number in (1, 4, 7, 10)],
        client_id("c"): [(name, number) for number in (2, 5, 8, 11)],
    }


@pytest.mark.parametrize(("client", "kind"), CLIENTS_AND_KINDS)
async def test_a_rack_without_replicas_gets_its_even_share_and_the_others_read_only_within_theirs(kafka, client, kind):
    name = f"bare-{client.__name__}-{kind}"
    kafka.create(name, [[0], [1]] * 6)  # nothing in rack c
    members = members_of(kafka, name, *((client, kind, rack) for rack in RACKS))
    async with group(*members):
        await expect_soon(lambda: sorted(len(member.partitions()) for member in members), [4, 4, 4])
        in_a, in_b, in_c = (member.partitions() for member in members)
    assert in_a <= kafka.partitions_in(name, "a")
    assert in_b <= kafka.partitions_in(name, "b")
    assert sorted(in_a | in_b | in_c) == list(range(12))


@pytest.mark.parametrize(("client", "kind"), [(AioMember, "Range"), (ProcessMember, "Range")])
async def test_partitions_copied_in_two_of_three_racks_are_all_read_within_a_rack_of_theirs(kafka, client, kind):
    name = f"two-{client.__name__}-{kind}"
    kafka.create(name, [[0, 1], [1, 2], [2, 0]] * 3)
    members = members_of(kafka, name, *((client, kind, rack) for rack in RACKS))
    async with group(*members):
        await expect_soon(lambda: sorted(len(member.partitions()) for member in members), [3, 3, 3])
        read = [member.partitions() for member in members]
    assert sorted(number for one in read for number in one) == list(range(9))
    for rack, numbers in zip(RACKS, read, strict=True):
        assert numbers <= kafka.partitions_in(name, rack)


async def test_both_clients_share_a_group_whoever_leads(kafka):
    kafka.create("both", ROUND)
    members = members_of(kafka, "both", (AioMember, "Range", "b"), (ProcessMember, "Range", "c"))
    members += members_of(kafka, "both", (AioMember, "Range", "a"))
    async with group(*members):
        await expect_partitions(members, [kafka.partitions_in("both", rack) for rack in ("b", "c", "a")])


async def test_a_live_group_with_a_member_without_rack_gets_what_assign_forecasts(kafka):
    kafka.create("forecast", ROUND)
    racks = ["a", "a", "b", "c", None]
    members = members_of(kafka, "forecast", *((AioMember, "Range", rack) for rack in racks))
    async with group(*members):
        await expect_soon(lambda: sorted(len(member.partitions()) for member in members), [2, 2, 2, 3, 3])
        told = await described_when_stable(kafka, "forecast")
        described = {
            member.member_id(): {"topics": ["forecast"], "rack": rack}
            for member, rack in zip(members, racks, strict=True)
        }
    layout = {"nodes": list(map(list, enumerate(RACKS))), "topics": {"forecast": kafka.replicas("forecast")}}
    assert told.assigned("forecast") == assign("range", layout, described)
    assert [rack for _, _, rack in told.racks()] == [None, "a", "a", "b", "c"]


async def test_when_a_member_leaves_the_rest_stays_in_rack(kafka):
    kafka.create("leaving", ROUND)
    racks = [(ProcessMember, "CooperativeSticky", rack) for rack in RACKS]
    stays, also_stays, leaves = members_of(kafka, "leaving", *racks)
    async with group(stays, also_stays):
        async with group(leaves):
            await expect_soon(leaves.partitions, kafka.partitions_in("leaving", "c"))
        in_a, in_b = (kafka.partitions_in("leaving", rack) for rack in ("a", "b"))
        await expect_soon(
            lambda: (
                len(stays.partitions() | also_stays.partitions()),
                in_a - stays.partitions(),
                in_b - also_stays.partitions(),
            ),
            (len(ROUND), set(), set()),
        )


@pytest.mark.parametrize("client", [AioMember, ProcessMember])
async def test_a_replica_that_kafka_moves_to_another_rack_brings_a_rebalance(kafka, client):
    name = f"moving-{client.__name__}"
    kafka.create(name, ROUND)
    members = members_of(kafka, name, *((client, "Range", rack) for rack in RACKS))
    async with group(*members):
        await expect_partitions(members, [kafka.partitions_in(name, rack) for rack in RACKS])
        kafka.move(name, {0: [1], 1: [0]})
        await expect_soon(lambda: kafka.replicas(name)[:2], [[1], [0]])
        await expect_partitions(members, [{1, 3, 6, 9}, {0, 4, 7, 10}, {2, 5, 8, 11}])


async def test_plain_range_reads_elsewhere_what_ours_reads_at_home(kafka):
    """The judge has teeth: the client's own range assignor in the same group reads most partitions outside its rack."""
    aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is not installed")
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    kafka.create("plain", ROUND)
    consumers = [
        aiokafka.AIOKafkaConsumer(
            "plain",
            bootstrap_servers=kafka.bootstrap_servers,
            group_id="plain",
            client_id=client_id(rack),
            partition_assignment_strategy=[RangePartitionAssignor],
        )
        for rack in RACKS
    ]
    try:
        await asyncio.gather(*(consumer.start() for consumer in consumers))
        await expect_soon(lambda: sorted(len(one.assignment()) for one in consumers), [4, 4, 4])
        told = await described_when_stable(kafka, "plain")
        home = [
            part.partition in kafka.partitions_in("plain", rack)
            for one, rack in zip(consumers, RACKS, strict=True)
            for part in one.assignment()
        ]
    finally:
        await asyncio.gather(*(consumer.stop() for consumer in consumers))
    assert home.count(False) >= 6
    assert [rack for _, _, rack in told.racks()] == [None] * 3
