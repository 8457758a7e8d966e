"""Real clients meet each effect of a fault, and recover from it as they do with Kafka."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import (
    LIBRARIES,
    ClientProcess,
    acknowledged_in,
    consume,
    produce,
    records_in,
    values,
)
from tests.progress import until

TOPIC, COUNT = "orders", 60
RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
REDIRECTED = ("confluent-kafka", "aiokafka")
SURELY: dict[str, Any] = {"acks": "all", "idempotence": True}
SOON_MS = 500


def end_offsets(cluster: MockCluster) -> list[int]:
    return [partition.log.end_offset for partition in cluster.state.topics[TOPIC].partitions]


async def produced(cluster: MockCluster, library: str, records: Any, **settings: Any) -> list[Any]:
    return await produce(library, TOPIC, records, servers=cluster.bootstrap_servers, client_id="writer", **settings)


async def everything_read(cluster: MockCluster, library: str, count: int = COUNT, **settings: Any) -> list[int]:
    """The numbers in the values that a consumer reads, as they came."""
    seen = await consume(library, [TOPIC], count, servers=cluster.bootstrap_servers, client_id="reader", **settings)
    return [int(record.value or "") for record in seen]


# error


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "error",
    [
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_ENOUGH_REPLICAS",
        "KAFKA_STORAGE_ERROR",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "REQUEST_TIMED_OUT",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    ],
)
async def test_an_idempotent_producer_tries_again_and_nothing_is_lost_or_doubled(library, error):
    async with MockCluster(topics={TOPIC: (2, 3)}) as cluster:
        fault = cluster.faults.add(
            match={"api": "Produce", "topic": TOPIC, "partition": 0}, effect={"error": error}, when={"times": 3}
        )
        answers = await produced(cluster, library, values(0, COUNT, partitions=2), **SURELY)
        assert fault.fired == 3, fault.explain()
        assert end_offsets(cluster) == [COUNT // 2, COUNT // 2]
        assert sorted(map(tuple, answers)) == [(partition, offset) for partition in (0, 1) for offset in range(30)]
        assert sorted(await everything_read(cluster, library)) == list(range(COUNT))


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_producer_is_told_of_an_error_that_no_retry_restores(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(
            match={"api": "Produce", "topic": "ord*"}, effect={"error": "TOPIC_AUTHORIZATION_FAILED"}
        )
        (answer,) = await produced(cluster, library, values(0, 1), idempotence=False)
        assert "authoriz" in str(answer).lower()
        assert fault.fired == 1
        assert end_offsets(cluster) == [0]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    "error", ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_LEADER_EPOCH", "KAFKA_STORAGE_ERROR", "FETCH_SESSION_ID_NOT_FOUND"]
)
async def test_a_consumer_reads_on_behind_an_error_without_a_gap_or_a_repetition(library, error):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        await produced(cluster, library, values(0, COUNT))
        fault = cluster.faults.add(
            match={"api": "Fetch", "client_id": "reader"}, effect={"error": error}, when={"times": 2}
        )
        assert await everything_read(cluster, library) == list(range(COUNT))
        assert fault.fired == 2, fault.explain()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("api", "error"),
    [
        ("FindCoordinator", "COORDINATOR_NOT_AVAILABLE"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("JoinGroup", "NOT_COORDINATOR"),
        ("SyncGroup", "REBALANCE_IN_PROGRESS"),
        ("Heartbeat", "UNKNOWN_MEMBER_ID"),
        ("OffsetFetch", "COORDINATOR_LOAD_IN_PROGRESS"),
    ],
)
async def test_a_member_gets_into_its_group_all_the_same(library, api, error):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(match={"api": api, "group": "billing"}, effect={"error": error}, when={"times": 1})
        settings = {
            "servers": cluster.bootstrap_servers,
            "client_id": "reader",
            "group": "billing",
            "heartbeat_ms": 300,
            "session_ms": 6000,
        }
        async with ClientProcess(library, "consume", topics=[TOPIC], settings=settings) as reader:
            await until(lambda: fault.fired, f"{api} of the reader", fault.explain)
            mark = cluster.journal.mark()
            in_the_group = {"api": "Heartbeat", "client_id": "reader", "since": mark}
            await until(lambda: cluster.journal.find(**in_the_group), "a heartbeat of the reader", fault.explain)
            await produced(cluster, library, values(0, COUNT))
            await reader.until(lambda lines: len(records_in(lines)) >= COUNT)
            await reader.stop()
            lines = await reader.finish()
        assert [int(record.value) for record in records_in(lines)] == list(range(COUNT))


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_client_waits_for_a_topic_whose_metadata_is_an_error_at_first(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(
            match={"api": "Metadata", "topic": TOPIC}, effect={"error": "LEADER_NOT_AVAILABLE"}, when={"times": 2}
        )
        await produced(cluster, library, values(0, COUNT), **SURELY)
        assert fault.fired == 2
        assert end_offsets(cluster) == [COUNT]


# delay


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_delayed_client_is_slower_and_has_its_records_in_order(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        match = {"api": ["Produce", "Fetch"], "client_id": ["writer", "reader"]}
        fault = cluster.faults.add(match=match, effect={"delay_ms": 200, "jitter_ms": 50})
        await produced(cluster, library, values(0, COUNT), **SURELY)
        assert await everything_read(cluster, library) == list(range(COUNT))
        delayed = [entry for entry in cluster.journal if fault.id in entry.faults and entry.ending != "dropped"]
        assert {entry.api for entry in delayed} == {"Produce", "Fetch"}
        assert min(entry.latency_ms for entry in delayed) >= 200


# disconnect


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_producer_that_is_disconnected_connects_again_and_nothing_is_lost_or_doubled(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(match={"api": "Produce"}, effect={"disconnect": True}, when={"times": 2})
        await produced(cluster, library, values(0, COUNT), **SURELY)
        assert fault.fired == 2
        assert await everything_read(cluster, library) == list(range(COUNT))
        assert end_offsets(cluster) == [COUNT]
        ended = [entry for entry in cluster.journal if fault.id in entry.faults]
        assert [(entry.ending, entry.reason) for entry in ended] == [("closed", "fault fault-1: disconnect")] * 2


# silence


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_producer_gives_up_on_a_silent_broker_and_tries_again(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(match={"api": "Produce"}, effect={"silence": True}, when={"times": 1})
        await produced(cluster, library, values(0, COUNT), timeout_ms=1500, **SURELY)
        assert fault.fired == 1
        assert end_offsets(cluster) == [COUNT]
        assert await everything_read(cluster, library) == list(range(COUNT))
        (silenced,) = [entry for entry in cluster.journal if fault.id in entry.faults]
        assert silenced.ending == "dropped", "the client went, and the call with it"


# throttle


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_throttled_producer_is_not_heard_before_its_time_is_over(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(match={"api": "Produce"}, effect={"throttle_ms": 400}, when={"times": 3})
        settings = {"servers": cluster.bootstrap_servers, "client_id": "writer", **SURELY}
        async with ClientProcess(library, "produce_steadily", topic=TOPIC, settings=settings) as writer:
            await until(lambda: fault.fired == 3, "three produce requests", fault.explain)
            await writer.until(lambda lines: len(acknowledged_in(lines)) >= COUNT)
            await writer.stop()
            sent = acknowledged_in(await writer.finish())
        assert end_offsets(cluster) == [len(sent)]
        calls = [entry for entry in cluster.journal if entry.client_id == "writer"]
        throttled = [entry for entry in calls if entry.faults]
        for one in throttled:
            later = [entry for entry in calls if entry.connection == one.connection and entry.sequence > one.sequence]
            assert later[0].at_ms - later[0].latency_ms >= one.at_ms + 400


# bandwidth


@pytest.mark.parametrize("library", LIBRARIES)
async def test_records_come_over_a_narrow_connection_at_its_rate(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        records = [(0, None, f"{number} " + "x" * 10_000, ()) for number in range(20)]
        fault = cluster.faults.add(match={"api": ["Produce", "Fetch"]}, effect={"bandwidth": "100KB/s"})
        await produced(cluster, library, records, **SURELY)
        seen = await consume(library, [TOPIC], 20, servers=cluster.bootstrap_servers, client_id="reader")
        assert [record.value.split()[0] for record in seen] == [str(number) for number in range(20)]
        for api in ("Produce", "Fetch"):
            met = [entry for entry in cluster.journal if entry.api == api and fault.id in entry.faults]
            took_ms = max(entry.at_ms for entry in met) - min(entry.at_ms - entry.latency_ms for entry in met)
            assert took_ms >= 2000


# links


@pytest.mark.parametrize("library", REDIRECTED)
async def test_a_reader_of_its_own_rack_waits_out_a_cut_to_the_leaders_rack_and_loses_nothing(library):
    async with MockCluster(settings={**RACK_AWARE, "replica.lag.time.max.ms": SOON_MS}) as cluster:
        cluster.state.replication_control.create(TOPIC, assignment=[[1, 0, 2]])  # led in b, with followers in a and c
        partition = cluster.state.topics[TOPIC].partitions[0]
        await produced(cluster, library, values(0, 20), **SURELY)
        settings = {"servers": cluster.bootstrap_servers, "client_id": "reader", "rack": "a"}
        async with ClientProcess(library, "consume", topics=[TOPIC], settings=settings) as reader:
            await reader.until(lambda lines: len(records_in(lines)) == 20)
            await until(lambda: cluster.journal.find(api="Fetch", client_id="reader", rack="a"), "a fetch in its rack")
            cut = cluster.faults.add(link={"between": ["a", "b"]}, effect={"cut": True})
            await produced(cluster, library, values(20, COUNT), **SURELY)
            assert partition.isr == (1, 2), "acks=all waited until the follower in a was out of sync"
            assert partition.high_watermark == COUNT
            assert len(records_in(reader.lines)) == 20, "nothing new came into rack a"
            assert cut.fired > 0
            cut.remove()
            assert partition.isr == (1, 0, 2)
            await reader.until(lambda lines: len(records_in(lines)) >= COUNT)
            await reader.stop()
            lines = await reader.finish()
        assert [int(record.value) for record in records_in(lines)] == list(range(COUNT))


@pytest.mark.parametrize("library", REDIRECTED)
async def test_a_reader_over_a_cut_link_loses_its_connection_and_is_back_when_it_is_restored(library):
    async with MockCluster(settings=RACK_AWARE) as cluster:
        cluster.state.replication_control.create(TOPIC, assignment=[[1]])  # in b alone
        await produced(cluster, library, values(0, 20))
        settings = {"servers": cluster.bootstrap_servers, "client_id": "reader", "rack": "a"}
        async with ClientProcess(library, "consume", topics=[TOPIC], settings=settings) as reader:
            await reader.until(lambda lines: len(records_in(lines)) == 20)
            cut = cluster.faults.add(link={"from": "a", "to": "b"}, effect={"cut": True})
            ended = cut.fired
            assert ended > 0, "it was reading there"
            await produced(cluster, library, values(20, COUNT))
            await until(lambda: cut.fired > ended, "another attempt of the reader", cut.explain)
            cut.remove()
            await reader.until(lambda lines: len(records_in(lines)) >= COUNT)
            await reader.stop()
            lines = await reader.finish()
        assert [int(record.value) for record in records_in(lines)] == list(range(COUNT))


@pytest.mark.parametrize("library", LIBRARIES)
async def test_acks_all_takes_as_long_as_a_slow_link_between_racks(library):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(link={"between": ["a", "*"]}, effect={"delay_ms": 300})
        leader = cluster.state.topics[TOPIC].partitions[0].leader
        assert cluster.state.brokers[leader].rack == "a"
        assert await produced(cluster, library, values(0, 1), acks="all") == [[0, 0]]
        assert await produced(cluster, library, values(1, 2), acks=1, idempotence=False) == [[0, 1]]
        slow, quick = cluster.journal.find(api="Produce")
        assert slow.latency_ms >= 300 > quick.latency_ms
        assert fault.fired == 4, "two followers got two batches late"
