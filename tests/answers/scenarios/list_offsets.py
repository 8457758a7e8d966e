"""ListOffsets: where logs start and end, and where a time falls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.records import CompressionCodec, Record, build_batch
from tests.answers.scenarios import scenario
from tests.answers.story import Story, Topic

MARKS = (-1, -2, -3, -4, -5, -6, -7, -100)


def of(topic: Topic, *partitions: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    wanted = [{"partitionIndex": 0, "currentLeaderEpoch": -1, "timestamp": -1, **one} for one in partitions]
    return {"replicaId": -1, "topics": [{"name": topic.name, "partitions": wanted}], "timeoutMs": 1000, **more}


def when(timestamp: int, **more: Any) -> dict[str, Any]:
    return {"timestamp": timestamp, **more}


@scenario("list offsets v{version}", versions="ListOffsets")
def plain(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    empty = story.topic("empty")
    for ms in (1000, 3000, 2000, 5000):
        story.produced(topic, b"x", b"y", at=ms)

    def ask(step: str, request: Mapping[str, Any], **more: Any) -> None:
        story.ask(step, "ListOffsets", version, request, **more)

    for mark in MARKS:
        ask(f"timestamp {mark}", of(topic, when(mark)))
        ask(f"timestamp {mark}, committed", of(topic, when(mark), isolationLevel=1))
        ask(f"timestamp {mark}, empty", of(empty, when(mark)))
        ask(f"timestamp {mark}, another's", of(topic, when(mark, partitionIndex=1)))
    for ms in (0, 1000, 1001, 2000, 3000, 3001, 5000, 5001):
        ask(f"time {ms}", of(topic, when(story.time(ms))))
    ask("time 0, of 1970", of(topic, when(0)))
    ask("time 0, empty", of(empty, when(0)))
    ask("unknown partition", of(topic, when(-1, partitionIndex=9)))
    ask("unknown partition, unknown time", of(topic, when(-9, partitionIndex=9)))
    ask("unknown topic", of(Topic("no-such-topic-here", "", ()), when(-1)))
    ask("a follower", of(topic, when(-1)), to=1)
    ask("twice", of(topic, when(-1), when(-2)))
    ask("twice and another", of(topic, when(-1), when(-2), when(-1, partitionIndex=1)))
    ask("several", of(topic, when(-2), when(-1, partitionIndex=9), when(-1, partitionIndex=1)))
    ask("nobody", {"replicaId": -1, "topics": []})
    ask("no partitions", of(topic))
    for epoch in (0, 1, 5, -2):
        ask(f"leader epoch {epoch}", of(topic, when(-1, currentLeaderEpoch=epoch)))
        ask(f"leader epoch {epoch}, a follower", of(topic, when(-1, currentLeaderEpoch=epoch)), to=1)
    for replica in (-2, -3, 1):
        ask(f"as replica {replica}", of(topic, when(-1), replicaId=replica))
        ask(f"as replica {replica}, at a follower", of(topic, when(-2), replicaId=replica), to=1)
        ask(f"as replica {replica}, by time", of(topic, when(story.time(3000)), replicaId=replica))


@scenario("list offsets/records v{version}", versions=("ListOffsets", 3, 11))
def records(story: Story, version: int) -> None:
    def ask(step: str, topic: Topic, timestamp: int, **more: Any) -> None:
        story.ask(step, "ListOffsets", version, of(topic, when(timestamp), **more))

    for codec in CompressionCodec:
        topic = story.topic(codec.name.lower())
        times = (5000, 1000, 9000, 9000, 3000)
        batch = build_batch([Record(value=b"v", timestamp=story.time(ms)) for ms in times], codec=codec)
        partition = {"index": 0, "records": batch}
        wanted = {"acks": -1, "timeoutMs": 10_000, "topicData": [{"name": topic.name, "partitionData": [partition]}]}
        story.quiet("Produce", 9, wanted)
        for ms in (0, 1000, 4000, 6000, 9000, 9001):
            ask(f"{codec.name.lower()}, time {ms}", topic, story.time(ms))
        ask(f"{codec.name.lower()}, the newest", topic, -3)
    bare = story.topic("bare")
    wanted = {
        "acks": -1,
        "timeoutMs": 10_000,
        "topicData": [
            {
                "name": bare.name,
                "partitionData": [{"index": 0, "records": build_batch([Record(value=b"v", timestamp=-1)])}],
            }
        ],
    }
    story.quiet("Produce", 9, wanted)
    for mark in (0, 5, -1, -2, -3):
        ask(f"without times, {mark}", bare, mark)
    story.produced(bare, b"x", at=1000)
    ask("without times at first, the newest", bare, -3)
    ask("without times at first, the first", bare, 0)
    old = story.topic("segments", configs={"segment.ms": "60000"})
    for ms in (1000, 90_000, 2000, 90_000, 5000):
        story.produced(old, b"x", at=ms)
    for ms in (0, 1000, 2000, 3000, 90_000, 99_000):
        ask(f"segments, time {ms}", old, story.time(ms))
    ask("segments, the newest", old, -3)


@scenario("list offsets/committed v{version}", versions=("ListOffsets", 2, 4))
@scenario("list offsets/committed v{version}", versions=("ListOffsets", 7, 7))
@scenario("list offsets/committed v{version}", versions=("ListOffsets", 11, 11))
def committed(story: Story, version: int) -> None:
    topic = story.topic("t")
    transactional_id = story.named("x")
    at = story.coordinator(transactional_id, 1)
    init = {"transactionalId": transactional_id, "transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1}

    def begun() -> Any:
        answer = story.quiet("InitProducerId", 4, init, to=at)
        return None if answer["errorCode"] else answer

    given = story.until(begun, "a producer")
    producer = {"producer_id": given["producerId"], "producer_epoch": given["producerEpoch"]}
    story.produced(topic, b"before", at=1000)
    add = {
        "v3AndBelowTransactionalId": transactional_id,
        "v3AndBelowProducerId": given["producerId"],
        "v3AndBelowProducerEpoch": given["producerEpoch"],
        "v3AndBelowTopics": [{"name": topic.name, "partitions": [0]}],
    }
    story.until(
        lambda: (
            story.quiet("AddPartitionsToTxn", 3, add, to=at)["resultsByTopicV3AndBelow"][0]["resultsByPartition"][0][
                "partitionErrorCode"
            ]
            == 0
        ),
        "the transaction",
    )
    batch = story.batch(b"open", at=5000, base_sequence=0, transactional=True, **producer)
    partition = {"index": 0, "records": batch}
    wanted = {
        "transactionalId": transactional_id,
        "acks": -1,
        "timeoutMs": 10_000,
        "topicData": [{"name": topic.name, "partitionData": [partition]}],
    }
    story.quiet("Produce", 9, wanted)
    story.produced(topic, b"after", at=3000)
    for level in (0, 1, 2):
        for mark in (-1, -2, -3):
            story.ask(
                f"open, {mark} at level {level}", "ListOffsets", version, of(topic, when(mark), isolationLevel=level)
            )
        for ms in (1000, 2000, 5000):
            request = of(topic, when(story.time(ms)), isolationLevel=level)
            story.ask(f"open, time {ms} at level {level}", "ListOffsets", version, request)
    end = {
        "transactionalId": transactional_id,
        "producerId": given["producerId"],
        "producerEpoch": given["producerEpoch"],
        "committed": False,
    }
    story.quiet("EndTxn", 3, end, to=at)
    story.until(
        lambda: (
            story.quiet("ListOffsets", 5, of(topic, when(-1), isolationLevel=1))["topics"][0]["partitions"][0]["offset"]
            == 4
        ),
        "the marker",
    )
    for level in (0, 1):
        for mark in (-1, -2):
            story.ask(
                f"aborted, {mark} at level {level}", "ListOffsets", version, of(topic, when(mark), isolationLevel=level)
            )
