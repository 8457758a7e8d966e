"""The drop-in assignors at work: live groups whose members get the partitions of their racks.

Twelve partitions of one replica each go round three racks, so plain range, which deals runs of neighbours, would put
two thirds of them into other racks.
"""

from __future__ import annotations

from collections import Counter

import pytest

from kafka_rack.assignment import assign
from mockbroker import MockCluster
from tests.interop.rack_members import CLIENTS_AND_KINDS, TOPIC, AioMember, ProcessMember, expect_soon, group
from tests.progress import until

RACKS = ("a", "b", "c")
PARTITIONS = 12
JOIN_GROUP, HEARTBEAT = 11, 12


@pytest.fixture
async def cluster():
    async with MockCluster(3, RACKS) as running:
        running.state.replication_control.create(TOPIC, assignment=[[index % 3] for index in range(PARTITIONS)])
        yield running


def partitions_in(cluster: MockCluster, rack: str) -> set[int]:
    """The partitions whose replica is in a rack."""
    return {
        number
        for number, replicas in enumerate(layout_of(cluster)["topics"][TOPIC])
        if cluster.state.brokers[replicas[0]].rack == rack
    }


def layout_of(cluster: MockCluster) -> dict:
    partitions = cluster.state.topics[TOPIC].partitions
    return {
        "nodes": [[broker.id, broker.rack] for broker in cluster.state.brokers.values()],
        "topics": {TOPIC: [list(partition.replicas) for partition in partitions]},
    }


@pytest.mark.parametrize(("client", "kind"), CLIENTS_AND_KINDS)
async def test_each_member_of_a_live_group_gets_the_partitions_of_its_rack(cluster, client, kind):
    members = [client(cluster, kind, rack) for rack in ("c", "a", "b")]
    async with group(*members):
        wanted = [partitions_in(cluster, rack) for rack in ("c", "a", "b")]
        await expect_soon(lambda: [member.partitions() for member in members], wanted)


async def test_both_clients_share_a_group_whoever_leads(cluster):
    members = [AioMember(cluster, "Range", "b"), ProcessMember(cluster, "Range", "c"), AioMember(cluster, "Range", "a")]
    async with group(*members):
        wanted = [partitions_in(cluster, rack) for rack in ("b", "c", "a")]
        await expect_soon(lambda: [member.partitions() for member in members], wanted)


async def test_a_live_group_gets_what_assign_forecasts(cluster):
    racks = ["a", "a", "b", "c", None]
    members = [AioMember(cluster, "Range", rack) for rack in racks]
    async with group(*members):
        await expect_soon(lambda: sorted(len(member.partitions()) for member in members), [2, 2, 2, 3, 3])
        described = {
            member.member_id(): {"topics": [TOPIC], "rack": rack} for member, rack in zip(members, racks, strict=True)
        }
        forecast = assign("range", layout_of(cluster), described)
        found = {member.member_id(): sorted((TOPIC, number) for number in member.partitions()) for member in members}
        assert found == forecast


async def test_when_a_member_leaves_its_partitions_go_to_the_others_and_the_rest_stays_in_rack(cluster):
    stays, also_stays, leaves = (ProcessMember(cluster, "CooperativeSticky", rack) for rack in RACKS)
    async with group(stays, also_stays):
        async with group(leaves):
            await expect_soon(leaves.partitions, partitions_in(cluster, "c"))
        in_a, in_b = partitions_in(cluster, "a"), partitions_in(cluster, "b")
        await expect_soon(
            lambda: (
                len(stays.partitions() | also_stays.partitions()),
                in_a - stays.partitions(),
                in_b - also_stays.partitions(),
            ),
            (PARTITIONS, set(), set()),
        )


def joins(cluster: MockCluster) -> int:
    return sum(call.api_key == JOIN_GROUP for call in cluster.journal)


@pytest.mark.parametrize("client", [AioMember, ProcessMember])
async def test_a_replica_that_moves_to_another_rack_brings_a_rebalance(cluster, client):
    members = [client(cluster, "Range", rack) for rack in RACKS]
    async with group(*members):
        await expect_soon(
            lambda: [member.partitions() for member in members], [partitions_in(cluster, r) for r in RACKS]
        )
        in_a, in_b = min(partitions_in(cluster, "a")), min(partitions_in(cluster, "b"))
        replicas = [cluster.state.find_partition(TOPIC, number).replicas for number in (in_a, in_b)]
        cluster.state.replication_control.reassign(TOPIC, in_a, list(replicas[1]))
        cluster.state.replication_control.reassign(TOPIC, in_b, list(replicas[0]))
        assert in_a in partitions_in(cluster, "b")
        await expect_soon(
            lambda: [member.partitions() for member in members], [partitions_in(cluster, r) for r in RACKS]
        )


@pytest.mark.parametrize("client", [AioMember, ProcessMember])
async def test_a_broker_that_bounces_brings_none(cluster, client):
    members = [client(cluster, "Range", rack) for rack in RACKS]
    async with group(*members):
        await expect_soon(
            lambda: [member.partitions() for member in members], [partitions_in(cluster, r) for r in RACKS]
        )
        coordinator = cluster.state.internal_topics.coordinator("readers").id
        bounced = next(broker for broker in cluster.state.brokers if broker != coordinator)
        before = joins(cluster)
        await cluster.stop_broker(bounced)
        await metadata_is_told(cluster, members, bounced, listed=False)
        await cluster.start_broker(bounced)
        await metadata_is_told(cluster, members, bounced, listed=True)
        assert joins(cluster) == before


async def test_by_the_older_rule_a_broker_that_goes_down_brings_one(cluster):
    members = [AioMember(cluster, "Range", rack, broker_down_is_change=True) for rack in RACKS]
    async with group(*members):
        await expect_soon(
            lambda: [member.partitions() for member in members], [partitions_in(cluster, r) for r in RACKS]
        )
        coordinator = cluster.state.internal_topics.coordinator("readers").id
        before = joins(cluster)
        await cluster.stop_broker(next(broker for broker in cluster.state.brokers if broker != coordinator))
        await expect_soon(lambda: joins(cluster) > before, True)


async def metadata_is_told(cluster: MockCluster, members, broker: int, *, listed: bool) -> None:
    """Wait until each member has seen metadata with the broker, or without it, and has had the time to act on it."""
    await expect_soon(lambda: [broker in member.brokers() for member in members], [listed] * len(members))
    mark = cluster.journal.mark()

    def heartbeats() -> Counter[str | None]:
        return Counter(call.client_id for call in cluster.journal.since(mark) if call.api_key == HEARTBEAT)

    await until(
        lambda: len(heartbeats()) == len(members) and min(heartbeats().values()) >= 3,
        "three heartbeats each",
        heartbeats,
    )
