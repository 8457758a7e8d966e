"""Real clients over an outage: neither the capture of their calls nor their own histories have anomalies."""

from __future__ import annotations

import pytest

from kafka_rack.cli import main
from kafka_rack.consistency import Poll, Read, Send, check
from kafka_rack.consistency.captures import check_capture, recordings
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from mockbroker import MockCluster
from tests.interop.client_process import ClientProcess, acknowledged_in, records_in
from tests.progress import until

TOPIC, PARTITIONS = "orders", 6
SOON_MS = 500


async def until_more(client: ClientProcess, number: int) -> None:
    wanted = len(records_in(client.lines)) + number
    await client.until(lambda lines: len(records_in(lines)) >= wanted)


def own_history(sent, lines):
    """What a producer and a reader say themselves; records are read one after the other."""
    for at, (value, (partition, offset)) in enumerate(sent.items()):
        yield Send("producer", TOPIC, partition, value, 0, at, offset=offset)
    for at, record in enumerate(records_in(lines)):
        yield Poll("reader", [Read(record.topic, record.partition, record.offset, record.value)], at, at + 1)


@pytest.mark.parametrize(("writing", "reading"), [("confluent-kafka", "aiokafka"), ("aiokafka", "confluent-kafka")])
async def test_over_an_outage_nothing_is_lost_doubled_or_out_of_order(writing, reading, tmp_path, capsys):
    capture = tmp_path / "trace.jsonl"
    async with MockCluster(topics={TOPIC: (PARTITIONS, 3)}, capture=capture, capture_bytes=40_000) as cluster:
        cluster.journal.watch_history()
        servers = {"servers": cluster.bootstrap_servers, "metadata_max_age_ms": SOON_MS}
        sending = {**servers, "acks": "all", "idempotence": True}
        async with (
            ClientProcess(writing, "produce_steadily", topic=TOPIC, settings=sending) as producer,
            ClientProcess(reading, "consume", topics=[TOPIC], settings=servers) as reader,
        ):
            await until_more(reader, 50)
            await cluster.stop_rack("a")
            await until_more(reader, 50)
            await cluster.start_rack("a")
            await until_more(reader, 50)
            await producer.stop()
            sent = acknowledged_in(await producer.finish())
            await until(lambda: len(records_in(reader.lines)) >= len(sent), "the reading of all that was sent")
            await reader.stop()
            lines = await reader.finish()
    cluster.journal.assert_consistent()
    watched = cluster.journal.history.report()
    own = check(own_history(sent, lines))
    assert own.counts == {}

    files, _ = find_files([str(tmp_path)])
    assert len(files) > 1, "a recording in several files was meant"
    (recording,) = recordings(files)
    found = check_capture(recording, Options(), max_examples=5)
    assert found.report.counts == {}
    assert (found.report.sends, found.report.polls) == (watched.sends, watched.polls)
    assert found.report.sends > 50
    assert found.report.reads > 50
    assert found.problems == ()
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("trace: consistent: ")


async def test_what_an_unclean_election_loses_is_found_in_the_capture(tmp_path):
    settings = {"unclean.leader.election.enable": True, "replica.lag.time.max.ms": SOON_MS}
    async with MockCluster(
        2, ("a", "b"), topics={TOPIC: (1, 2)}, settings=settings, capture=tmp_path / "trace.jsonl"
    ) as cluster:
        (partition,) = cluster.state.topics[TOPIC].partitions
        leader, follower = partition.replicas
        own = {"servers": cluster.bootstrap_servers, "metadata_max_age_ms": SOON_MS}
        cluster.set_follower_lag(follower, 1_000_000)
        async with ClientProcess("confluent-kafka", "consume", topics=[TOPIC], settings=own) as reader:
            async with ClientProcess(
                "aiokafka", "produce_steadily", topic=TOPIC, settings={**own, "acks": "all", "idempotence": True}
            ) as producer:
                await until(lambda: partition.isr == (leader,), "a follower falling out of sync", lambda: partition.isr)
                await until_more(reader, 20)
                await cluster.stop_broker(leader)
                assert partition.leader == follower
                lost_from = partition.log.end_offset
                await until(lambda: partition.log.end_offset > lost_from + 50, "records in the place of those")
                await producer.stop()
                await producer.finish()
            await until(lambda: partition.high_watermark > lost_from + 50, "that readers may read them")
            await reader.stop()
            await reader.finish()
            async with ClientProcess("confluent-kafka", "consume", topics=[TOPIC], settings=own) as second:
                await until_more(second, 20)
                await second.stop()
                await second.finish()
    files, _ = find_files([str(tmp_path)])
    strict = check_capture(files, Options(), max_examples=5).report
    assert "lost-write" in strict.counts
    lossy = check_capture(files, Options(), is_lossy=lambda _: True, max_examples=5).report
    assert lossy.counts == {}
