from __future__ import annotations

import pytest

from mockbroker.proxy.rewrites import Rewrites
from protocol.apis.metadata import MetadataRequest
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request
from tests.unit.mockbroker.proxy.adapters.test_proxy import ALL, proxied
from tests.unit.mockbroker.wire_client import WireClient

NEAREST = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


async def test_a_reader_without_a_rack_is_sent_to_the_replica_in_the_rack_of_its_listener():
    async with proxied(
        {"listener_per_rack": True, "rewrites": Rewrites(racks=True)}, topics={TOPIC: 1}, settings=NEAREST
    ) as (real, proxy):
        leader = real.state.topics[TOPIC].partitions[0].leader
        rack, near = next((one.rack, one.id) for one in real.state.brokers.values() if one.id != leader)
        async with WireClient(proxy.bootstrap_servers_for(rack).split(",")[leader]) as client:
            await client.ask(produce_request(batch(b"a")), 12)
            answer = await client.ask(fetch_request(), 12)
            assert answer.responses[0].partitions[0].preferred_read_replica == near
        (rewritten,) = [entry for entry in real.journal if entry.api == "Fetch"]
        (seen,) = [entry for entry in proxy.journal if entry.api == "Fetch"]
        assert (rewritten.client_rack, rewritten.client_rack_source) == (rack, "request")
        assert (seen.client_rack, seen.client_rack_source) == (rack, "listener")


async def test_a_client_id_gets_the_rack_and_the_request_stays_what_it_was():
    async with proxied(
        {"listener_per_rack": True, "rewrites": Rewrites(client_id_racks="diskless_az")}, topics={TOPIC: 1}
    ) as (real, proxy):
        leader = real.state.topics[TOPIC].partitions[0].leader
        async with WireClient(proxy.bootstrap_servers_for("b").split(",")[leader]) as client:
            await client.ask(produce_request(batch(b"a")), 12)
        (entry,) = [entry for entry in real.journal if entry.api == "Produce"]
        assert (entry.client_id, entry.client_rack) == ("test,diskless_az=b", "b")
        assert real.state.topics[TOPIC].partitions[0].log.end_offset == 1


@pytest.mark.parametrize("rack", ["a", "b", "c"])
async def test_brokers_of_the_clients_rack_are_named_for_topics_that_a_config_says_to_be_diskless(rack: str):
    rewrites = Rewrites(diskless_config=("cleanup.policy", "compact"))
    async with proxied({"listener_per_rack": True, "rewrites": rewrites}, topics={TOPIC: 3}) as (real, proxy):
        real.create_topic("table", 6, 3, configs={"cleanup.policy": "compact"})
        await proxy.look()
        async with WireClient(proxy.bootstrap_servers_for(rack).split(",")[0]) as client:
            answer = await client.ask(MetadataRequest(topics=None), 12)
            leaders = {topic.name: [one.leader_id for one in topic.partitions] for topic in answer.topics}
            near = {one.id for one in real.state.brokers.values() if one.rack == rack}
            assert set(leaders["table"]) == near
            assert set(leaders[TOPIC]) == {0, 1, 2}
            assert (await client.ask(ALL, 12)).topics == answer.topics
