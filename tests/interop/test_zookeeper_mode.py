"""kafka-python as old as its brokers, against clusters in ZooKeeper mode, while the controller goes and returns."""

from __future__ import annotations

from collections import Counter

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import ClientProcess, Seen, acknowledged_in, consume, produce, values

UPDATE_METADATA, METADATA, API_VERSIONS = 6, 3, 18


@pytest.mark.parametrize(("protocol", "api_version", "update_metadata"), [("0.9.0", [0, 9], 1), ("0.10.0", [0, 10], 2)])
async def test_an_old_client_works_through_a_stop_and_start_of_the_controller(protocol, api_version, update_metadata):
    settings = {"inter.broker.protocol.version": protocol}
    async with MockCluster(settings=settings, topics={"orders": (3, 3)}) as cluster:
        theirs = {"servers": cluster.bootstrap_servers, "api_version": api_version}
        steady = {**theirs, "acks": "all", "retries": 20, "retry_backoff_ms": 50}
        async with ClientProcess("kafka-python", "produce_steadily", settings=steady, topic="orders") as client:
            await client.until(lambda lines: len(acknowledged_in(lines)) >= 50)
            await cluster.stop_broker(0)
            assert cluster.state.support.controller_id == 1
            before = len(acknowledged_in(client.lines))
            await client.until(lambda lines: len(acknowledged_in(lines)) >= before + 50)
            await cluster.start_broker(0)
            before = len(acknowledged_in(client.lines))
            await client.until(lambda lines: len(acknowledged_in(lines)) >= before + 50)
            await client.stop()
            lines = await client.finish()
        acknowledged = acknowledged_in(lines)
        assert not [line for line in lines if "failed" in line]
        assert len(acknowledged) >= 150
        stored = sum(one.log.end_offset for one in cluster.state.topics["orders"].partitions)
        seen: list[Seen] = await consume("kafka-python", ["orders"], stored, **theirs)
        assert {one.value for one in seen} >= acknowledged.keys()
        for one in seen:
            if one.value in acknowledged and acknowledged[one.value] == (one.partition, one.offset):
                del acknowledged[one.value]
        assert acknowledged == {}
        calls = list(cluster.journal)
    told = Counter((call.version, call.client_id) for call in calls if call.api_key == UPDATE_METADATA)
    assert {version for version, _ in told} == {update_metadata}
    assert {client_id for _, client_id in told} == {"0", "1"}
    highest = max(call.version for call in calls if call.api_key == METADATA)
    assert highest <= (0 if protocol == "0.9.0" else 1)
    if protocol == "0.9.0":
        assert API_VERSIONS not in {call.api_key for call in calls}


async def test_a_group_of_an_old_client_reads_what_an_old_client_wrote():
    settings = {"inter.broker.protocol.version": "0.9.0"}
    async with MockCluster(settings=settings, topics={"orders": (2, 3)}) as cluster:
        theirs = {"servers": cluster.bootstrap_servers, "api_version": [0, 9]}
        sent = await produce("kafka-python", "orders", values(0, 40, partitions=2), **theirs)
        assert all(isinstance(one, list) for one in sent)
        seen = await consume("kafka-python", ["orders"], 40, group="readers", **theirs)
    assert sorted(int(one.value or -1) for one in seen) == list(range(40))
