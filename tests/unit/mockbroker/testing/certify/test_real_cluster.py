"""What happens to programs before a real cluster; a cluster of ours stands as the real one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kafka_rack.selection import RACK_AWARE_SELECTOR
from mockbroker import MockCluster
from mockbroker.adapters.client_properties.bootstrap import servers_in
from mockbroker.adapters.real_cluster.connection import RealClusterError
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from mockbroker.testing.certify.plan import CertifyPlan, UnfitClusterError, UpstreamPlan
from mockbroker.testing.certify.real_cluster import RealCluster
from protocol.apis.metadata import MetadataRequest
from protocol.error_codes import ErrorCode
from tests.unit.mockbroker.handlers.records import fetch_request
from tests.unit.mockbroker.wire_client import WireClient

pytestmark = pytest.mark.proxy

MADE, THERE = "made-for-the-run", "orders"
SELECTING = {"replica.selector.class": RACK_AWARE_SELECTOR}


@asynccontextmanager
async def certified(
    topic: str = MADE, *, feeds: bool = False, given: dict[int, str | None] | None = None, **options: Any
) -> AsyncIterator[tuple[RealCluster, MockCluster]]:
    async with MockCluster(**{"settings": SELECTING, "topics": {THERE: (3, 2)}, **options}) as real:
        settings = UpstreamSettings(servers=servers_in(real.bootstrap_servers))
        upstream = UpstreamPlan(settings, given or {}, feeds_named=feeds)
        plan = CertifyPlan([], [], topic=topic, partitions=3, group=topic, upstream=upstream)
        cluster = RealCluster(plan, upstream)
        try:
            await cluster.start()
            yield cluster, real
        finally:
            await cluster.close()


@asynccontextmanager
async def client_in(rack: str, cluster: RealCluster, broker: int) -> AsyncIterator[WireClient]:
    async with WireClient(cluster.served.bootstrap_servers_for(rack).split(",")[broker]) as client:
        yield client


async def fetched(cluster: RealCluster, rack: str, broker: int, partition: int = 0) -> Any:
    """What a reader in a rack is answered."""
    async with client_in(rack, cluster, broker) as client:
        request = fetch_request(topic=MADE, index=partition, rack_id=rack)
        answer = await client.ask(request, 12)
        return answer.responses[0].partitions[0]


async def described(cluster: RealCluster, rack: str, broker: int) -> Any:
    async with client_in(rack, cluster, broker) as client:
        return await client.ask(MetadataRequest(topics=[MetadataRequest.Topic(name=MADE)]), 12)


async def test_a_topic_is_made_near_some_racks_and_far_from_others_and_taken_away_at_the_end():
    async with certified() as (cluster, real):
        made = real.state.topics[MADE]
        assert [list(one.replicas) for one in made.partitions] == [[0, 1], [1, 2], [2, 0]]
        assert cluster.proxy.state.liveness.racks() == ["a", "b", "c"]
        assert MADE in real.state.topics
    assert MADE not in real.state.topics
    assert THERE in real.state.topics


async def test_records_are_written_to_what_was_made_and_their_offsets_are_known():
    async with certified() as (cluster, real):
        await cluster.feed([MADE], 2)
        await cluster.feed([MADE], 3)
        assert cluster.fed == 15
        assert [cluster.end_offset((MADE, index)) for index in range(3)] == [5] * 3
        assert [one.log.end_offset for one in real.state.topics[MADE].partitions] == [5, 5, 5]
        logged = await cluster.logged((MADE, 1), 0, 5)
        assert [(one.base_offset, one.last_offset) for one in logged] == [(0, 1), (2, 4)]


async def test_a_topic_that_was_there_stays_as_it_is_unless_it_is_to_be_fed():
    async with certified(THERE) as (cluster, real):
        assert not cluster.feeds(THERE)
        assert not cluster.owns(THERE)
    async with certified(THERE, feeds=True) as (cluster, real):
        assert cluster.feeds(THERE)
        await cluster.feed([THERE], 1)
        assert cluster.fed == 3
    assert THERE in real.state.topics


async def test_a_follower_that_lags_answers_out_of_range_and_the_leader_names_it_to_nobody():
    async with certified() as (cluster, real):
        await cluster.feed([MADE], 2)
        assert (await fetched(cluster, "b", 0)).preferred_read_replica == 1
        await cluster.lag(1, [(MADE, 0)])
        assert (await fetched(cluster, "b", 1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        at_leader = await fetched(cluster, "b", 0)
        assert (at_leader.preferred_read_replica, bool(at_leader.records)) == (-1, True)
        assert (await fetched(cluster, "b", 1, partition=1)).error_code == 0  # which it leads
        assert cluster.hidden_racks == {"b"}
        await cluster.catch_up(1)
        assert cluster.hidden_racks == set()
        assert (await fetched(cluster, "b", 0)).preferred_read_replica == 1
        assert len(real.state.topics[MADE].partitions[0].isr) == 2


async def test_leaders_and_replicas_of_what_was_made_are_moved_by_the_real_brokers():
    async with certified() as (cluster, real):
        assert await cluster.move(MADE, {0: [1, 0]}) is None
        assert real.state.topics[MADE].partitions[0].leader == 1
        assert await cluster.move(MADE, {2: [2, 1]}) is None
        assert real.state.topics[MADE].partitions[2].replicas == (2, 1)


async def test_a_move_that_brokers_refuse_is_told():
    async with certified() as (cluster, _):
        refused = await cluster.move(MADE, {2: [2, 7]})
        assert refused is not None
        assert refused.startswith("AlterPartitionReassignments is refused: INVALID_REPLICA_ASSIGNMENT")


async def test_a_rack_that_stops_is_in_no_metadata_leads_nothing_and_is_named_to_no_reader():
    async with certified() as (cluster, real):
        assert await cluster.stop_rack("b") == [1]
        answer = await described(cluster, "b", 0)
        assert [one.node_id for one in answer.brokers] == [0, 2]
        found = {one.partition_index: one for one in answer.topics[0].partitions}
        assert {index: one.leader_id for index, one in found.items()} == {0: 0, 1: 2, 2: 2}
        assert (found[0].isr_nodes, found[0].offline_replicas) == ([0], [1])
        assert (await fetched(cluster, "b", 0)).preferred_read_replica == -1
        with pytest.raises(ConnectionRefusedError):
            await described(cluster, "b", 1)
        assert all(broker.online for broker in real.state.brokers.values())
        await cluster.start_rack("b")
        assert len((await described(cluster, "b", 1)).brokers) == 3
        assert cluster.hidden_racks == set()


async def test_the_rack_of_a_coordinator_is_not_stopped():
    async with certified() as (cluster, _):
        assert cluster.outage_rack({0: 4, 1: 2}, set()) == "a"
        assert cluster.outage_rack({0: 4, 1: 2}, {0}) == "b"
        assert cluster.outage_rack({0: 4}, {0, 1, 2}) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"racks": [None, None]}, "expected brokers in two or more racks, got none of 3 brokers; --racks ID=RACK"),
        ({"racks": ["a", "a"]}, "expected brokers in two or more racks, got a of 3 brokers"),
    ],
)
async def test_a_cluster_without_racks_is_refused(options: dict[str, Any], words: str):
    with pytest.raises(UnfitClusterError, match=words):
        async with certified(**options):
            pass


async def test_racks_are_those_that_are_given_for_brokers():
    async with certified(given={0: "x", 1: "y", 2: None}) as (cluster, _):
        assert cluster.proxy.state.liveness.racks() == ["x", "y"]


async def test_a_cluster_that_does_not_answer_is_named():
    settings = UpstreamSettings(servers=[("127.0.0.1", 1)])
    upstream = UpstreamPlan(settings)
    cluster = RealCluster(CertifyPlan([], [], upstream=upstream), upstream)
    with pytest.raises(RealClusterError, match=r"127\.0\.0\.1:1: cannot be reached"):
        await cluster.start()
    await cluster.close()
