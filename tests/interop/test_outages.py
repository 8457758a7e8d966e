"""Consumers of a classic topic over an outage: they read on at the new leaders, and notice where records are gone."""

from __future__ import annotations

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import (
    LIBRARIES,
    ClientProcess,
    acknowledged_in,
    errors_in,
    produce,
    produce_runs,
    records_in,
    run_of,
    values,
)
from tests.progress import until

TOPIC, PARTITIONS = "orders", 6
HEARTBEAT, OFFSET_FOR_LEADER_EPOCH = 12, 23
CHECKS_EPOCHS = ("confluent-kafka", "kafka-python")  # whether its place still holds, once leaders changed (KIP-320)
SOON_MS, HEARTBEAT_MS = 500, 300


async def until_more(client: ClientProcess, count: int) -> None:
    """Wait until a consumer has read so many records more."""
    wanted = len(records_in(client.lines)) + count
    await client.until(lambda lines: len(records_in(lines)) >= wanted)


async def until_heartbeat(cluster: MockCluster) -> None:
    """Wait for a heartbeat from now on: aiokafka does not end before it has found the group's new coordinator."""
    mark = cluster.journal.mark()
    await until(lambda: HEARTBEAT in {call.api_key for call in cluster.journal.since(mark)}, "a heartbeat")


@pytest.mark.parametrize("library", LIBRARIES)
async def test_a_group_reads_on_over_an_outage_and_its_end_without_a_gap_or_a_repetition(library):
    async with MockCluster(topics={TOPIC: (PARTITIONS, 3)}) as cluster:
        servers = {"servers": cluster.bootstrap_servers, "metadata_max_age_ms": SOON_MS}
        sending = {**servers, "acks": "all", "idempotence": True}
        member = {**servers, "group": "billing", "client_id": "reader", "heartbeat_ms": HEARTBEAT_MS}
        reading = {"topics": [TOPIC], "settings": member}
        async with ClientProcess("confluent-kafka", "produce_steadily", topic=TOPIC, settings=sending) as producer:
            async with ClientProcess(library, "consume", **reading) as first:
                await until_more(first, 50)
                assert cluster.state.internal_topics.coordinator("billing").rack == "a"
                assert await cluster.stop_rack("a") == [0]
                await until_more(first, 50)
                await until_heartbeat(cluster)
                await first.stop()
                early = await first.finish()
            async with ClientProcess(library, "consume", **reading) as second:
                await until_more(second, 50)
                assert await cluster.start_rack("a") == [0]
                await until_more(second, 50)
                await until_heartbeat(cluster)
                await producer.stop()
                sent = acknowledged_in(await producer.finish())
                await until(
                    lambda: len(records_in(early)) + len(records_in(second.lines)) >= len(sent),
                    "the reading of all that was sent",
                    lambda: second.lines[-1:],
                )
                await second.stop()
                late = await second.finish()
        seen: list[list[int]] = [[] for _ in range(PARTITIONS)]
        for record in records_in([*early, *late]):
            seen[record.partition].append(record.offset)
        partitions = cluster.state.topics[TOPIC].partitions
        assert seen == [list(range(partition.log.end_offset)) for partition in partitions]
        assert sum(map(len, seen)) == len(sent)
        assert max(partition.leader_epoch for partition in partitions) == 2, "its leader went, and came back"
        asked = {call.client_id for call in cluster.journal if call.api_key == OFFSET_FOR_LEADER_EPOCH}
        assert asked == ({"reader"} if library in CHECKS_EPOCHS else set())


async def test_a_reader_is_told_when_unclean_election_has_lost_records_that_it_read():
    settings = {"unclean.leader.election.enable": True, "replica.lag.time.max.ms": SOON_MS}
    async with MockCluster(2, ("a", "b"), topics={TOPIC: (1, 2)}, settings=settings) as cluster:
        (partition,) = cluster.state.topics[TOPIC].partitions
        leader, follower = partition.replicas
        servers = cluster.bootstrap_servers
        cluster.set_follower_lag(follower, 10)
        one_by_one = [run_of("aiokafka", TOPIC, [one], servers=servers, acks=1) for one in values(0, 20)]
        await produce_runs("aiokafka", one_by_one)
        await until(lambda: partition.isr == (leader,), "a follower falling out of sync", lambda: partition.isr)
        own = {"servers": servers, "metadata_max_age_ms": SOON_MS, "auto.offset.reset": "error"}
        async with ClientProcess("confluent-kafka", "consume", topics=[TOPIC], settings=own) as reader:
            await until_more(reader, 20)
            await cluster.stop_broker(leader)
            assert (partition.leader, partition.log.end_offset) == (follower, 10)
            await produce("aiokafka", TOPIC, values(20, 25), servers=servers)
            await reader.until(errors_in)
            await reader.stop()
            lines = await reader.finish()
        assert "truncat" in errors_in(lines)[0].lower()
        assert [record.offset for record in records_in(lines)] == list(range(20)), "and nothing else in its stead"
