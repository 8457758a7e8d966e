"""Retention and compaction by brokers that look often: what is left of logs, and how the rest of the API sees that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from protocol.records import CompressionCodec, Record, build_batch
from tests.answers.scenarios import scenario
from tests.answers.scenarios.fetch import at, of
from tests.answers.scenarios.list_offsets import of as offsets_of
from tests.answers.scenarios.list_offsets import when
from tests.answers.story import Story, Topic

SETTINGS = {
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "300",
    "log.cleaner.backoff.ms": "300",
}
COMPACTED = {"cleanup.policy": "compact", "segment.ms": "10000", "min.cleanable.dirty.ratio": "0"}
LONG_AGO = -3_000_000  # within the hour, so that recordings can be compared


def wrote(story: Story, topic: Topic, *pairs: tuple[bytes | None, bytes | None], ms: int, **fields: Any) -> None:
    records = [Record(key=key, value=value, timestamp=story.time(ms)) for key, value in pairs]
    partition = {"index": 0, "records": build_batch(records, **fields)}
    wanted = {"acks": -1, "timeoutMs": 30_000, "topicData": [{"name": topic.name, "partitionData": [partition]}]}
    answer = story.quiet("Produce", 9, wanted)
    assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0, answer


def earliest(story: Story, topic: Topic) -> int:
    return int(story.quiet("ListOffsets", 5, offsets_of(topic, when(-2)))["topics"][0]["partitions"][0]["offset"])


def settled(story: Story, looked: Callable[[], Any]) -> None:
    """Wait until something has happened, and a while more."""
    story.until(looked, "the brokers to clean")
    story.wait(1000)


def see(story: Story, topic: Topic, end: int, step: str, only: Mapping[int, Any] | None = None) -> None:
    for offset in range(end + 1):
        story.ask(f"{step}, from {offset}", "Fetch", 12, of(topic, at(offset)))
    for mark in (-1, -2, -3, -4):
        story.ask(f"{step}, {mark}", "ListOffsets", 8, offsets_of(topic, when(mark)))
    story.ask(f"{step}, the first", "ListOffsets", 8, offsets_of(topic, when(0)))
    epochs = [{"partition": 0, "currentLeaderEpoch": -1, "leaderEpoch": 0}]
    request = {"replicaId": -1, "topics": [{"topic": topic.name, "partitions": epochs}]}
    story.ask(f"{step}, the epoch", "OffsetForLeaderEpoch", 4, request)


@scenario("upkeep/retention by time")
def by_time(story: Story) -> None:
    topic = story.topic("t", configs={"retention.ms": "1500000", "segment.ms": "10000"})
    for ms in (LONG_AGO, LONG_AGO + 1000, LONG_AGO + 20_000, 0, 1000, 12_000):
        wrote(story, topic, (None, b"v"), ms=ms)
    settled(story, lambda: earliest(story, topic) > 0)
    see(story, topic, 6, "the old ones gone")
    wrote(story, topic, (None, b"more"), ms=13_000)
    see(story, topic, 7, "written on")


@scenario("upkeep/retention of all there is")
def of_all(story: Story) -> None:
    topic = story.topic("t", configs={"retention.ms": "1500000"})
    for number in range(3):
        wrote(story, topic, (None, b"v"), ms=LONG_AGO + number)
    settled(story, lambda: earliest(story, topic) > 0)
    see(story, topic, 3, "all gone")
    wrote(story, topic, (None, b"more"), ms=0)
    see(story, topic, 4, "written on")


@scenario("upkeep/retention by size")
def by_size(story: Story) -> None:
    topic = story.topic("t", configs={"retention.bytes": "300", "segment.ms": "10000"})
    for number in range(6):
        wrote(story, topic, (None, b"x" * 50), ms=20_000 * number)
    settled(story, lambda: earliest(story, topic) > 0)
    see(story, topic, 6, "what is too much gone")


@scenario("upkeep/deleted records")
def deleted(story: Story) -> None:
    topic = story.topic("t", configs={"segment.ms": "10000"})
    for number in range(4):
        wrote(story, topic, (None, b"v"), (None, b"w"), ms=20_000 * number)
    partitions = [{"partitionIndex": 0, "offset": 5}]
    request = {"topics": [{"name": topic.name, "partitions": partitions}], "timeoutMs": 10_000}
    story.ask("before 5", "DeleteRecords", 2, request)
    story.wait(1500)
    see(story, topic, 8, "its segments gone")


@scenario("upkeep/compaction")
def compaction(story: Story) -> None:
    topic = story.topic("t", configs=COMPACTED | {"delete.retention.ms": "600000"})
    wrote(story, topic, (b"a", b"1"), (b"b", b"1"), ms=0)
    wrote(story, topic, (b"a", b"2"), ms=1000, codec=CompressionCodec.GZIP)
    wrote(story, topic, (b"c", b"1"), (b"a", b"3"), (b"d", b"1"), ms=20_000)
    wrote(story, topic, (b"d", None), ms=40_000)
    wrote(story, topic, (b"b", b"2"), ms=60_000, producer_id=7777, producer_epoch=0, base_sequence=0)
    wrote(story, topic, (b"b", b"3"), ms=80_000, producer_id=7777, producer_epoch=0, base_sequence=1)
    wrote(story, topic, (b"b", b"4"), ms=100_000)

    story.wait(2500)
    see(story, topic, 9, "compacted")
    wrote(story, topic, (b"b", b"5"), ms=120_000)
    story.wait(1500)
    see(story, topic, 10, "compacted again")


@scenario("upkeep/tombstones")
def tombstones(story: Story) -> None:
    topic = story.topic("t", configs=COMPACTED | {"delete.retention.ms": "0"})
    wrote(story, topic, (b"a", b"1"), ms=0)
    wrote(story, topic, (b"a", None), ms=20_000)
    wrote(story, topic, (b"b", b"1"), ms=40_000)
    story.wait(1500)
    wrote(story, topic, (b"b", b"2"), ms=60_000)
    story.wait(1500)
    see(story, topic, 4, "gone")


@scenario("upkeep/lags")
def lags(story: Story) -> None:
    young = story.topic("young", configs=COMPACTED | {"min.compaction.lag.ms": "1500000"})
    clean = story.topic("clean", configs=COMPACTED | {"min.cleanable.dirty.ratio": "1"})
    overdue = story.topic(
        "overdue", configs=COMPACTED | {"min.cleanable.dirty.ratio": "1", "max.compaction.lag.ms": "1500000"}
    )
    for topic in (young, clean, overdue):
        for ms in (LONG_AGO, LONG_AGO + 20_000, LONG_AGO + 40_000, 0, 20_000):
            wrote(story, topic, (b"a", b"1"), ms=ms)
    story.wait(2000)
    for topic in (young, clean, overdue):
        see(story, topic, 5, topic.name.rpartition(".")[2])
