"""Fetch: what a reader is given, when, and what it is told where it cannot be given anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.records import CompressionCodec
from tests.answers.scenarios import scenario
from tests.answers.story import Story, Topic

UNKNOWN_ID = "aaaaaaaaaaaaaaaaaaaaaQ"
MEGABYTE = 1 << 20
NOWHERE = Topic("no-such-topic", UNKNOWN_ID, ((0,),))


def of(topic: Topic, *partitions: Mapping[str, Any], **limits: Any) -> dict[str, Any]:
    """A fetch of one topic; a partition is what differs from partition 0 from offset 0 on."""
    return of_many([(topic, list(partitions))], **limits)


def of_many(topics: list[tuple[Topic, list[Mapping[str, Any]]]], **limits: Any) -> dict[str, Any]:
    return {
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 32 * MEGABYTE,
        "sessionEpoch": -1,
        "topics": [
            {
                "topic": topic.name,
                "topicId": topic.id,
                "partitions": [
                    {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": MEGABYTE, "currentLeaderEpoch": -1, **one}
                    for one in partitions
                ],
            }
            for topic, partitions in topics
        ],
        **limits,
    }


def at(offset: int, **more: Any) -> dict[str, Any]:
    return {"fetchOffset": offset, **more}


def filled(story: Story, name: str = "t", partitions: int = 2, **more: Any) -> Topic:
    """A topic with three batches of two records in its first partition."""
    topic = story.topic(name, partitions=partitions, **more)
    for number in range(3):
        story.produced(topic, b"%d" % number, b"%d again" % number, at=number)
    for follower in topic.replicas[0][1:]:
        story.until(
            lambda follower=follower: high_watermark(story, topic, follower) == 6, "the follower's high watermark"
        )
    return topic


def high_watermark(story: Story, topic: Topic, broker: int) -> int:
    """What a follower knows of it, which it hears late."""
    answer = story.quiet("Fetch", 12, of(topic, at(0)), to=broker, on="settle")
    return int(answer["responses"][0]["partitions"][0]["highWatermark"])


@scenario("fetch v{version}", versions=("Fetch", 4, 18))
def plain(story: Story, version: int) -> None:
    topic = filled(story)

    def ask(step: str, request: Mapping[str, Any], **more: Any) -> None:
        story.ask(step, "Fetch", version, request, **more)

    for offset in (0, 3, 6, 7, -1, -5):
        ask(f"offset {offset}", of(topic, at(offset)))
        ask(f"offset {offset}, committed", of(topic, at(offset), isolationLevel=1))
    ask("isolation level 2", of(topic, at(0), isolationLevel=2))
    ask("unknown partition", of(topic, {"partition": 9}))
    ask("negative partition", of(topic, {"partition": -1}))
    ask("unknown topic", of(NOWHERE, {}))
    ask("unknown topic, committed", of(NOWHERE, {}, isolationLevel=1))
    ask("partition of another broker", of(topic, {"partition": 1}))
    ask("its leader asked", of(topic, {"partition": 1}), to=1)
    ask("a follower asked", of(topic, {}), to=1)
    ask("a follower asked, past the end", of(topic, at(9)), to=1)
    ask("good, bad and elsewhere", of_many([(topic, [{}, {"partition": 9}, at(9, partition=0)]), (NOWHERE, [{}])]))
    ask("unknown between", of_many([(topic, [{}]), (NOWHERE, [{}]), (topic, [{"partition": 1}])]))
    ask("a partition twice", of(topic, at(0), at(4)))
    ask("no topics", of_many([]))
    ask("no partitions", of(topic))
    for epoch in (0, 1, -2, 5):
        ask(f"leader epoch {epoch}", of(topic, {"currentLeaderEpoch": epoch}))
        ask(f"leader epoch {epoch}, a follower", of(topic, {"currentLeaderEpoch": epoch}), to=1)
    for epoch in (0, 1, -2):
        ask(f"last fetched epoch {epoch}", of(topic, at(2, lastFetchedEpoch=epoch)))
        ask(f"last fetched epoch {epoch}, past the end", of(topic, at(9, lastFetchedEpoch=epoch)))
        ask(f"last fetched epoch {epoch}, a follower", of(topic, at(2, lastFetchedEpoch=epoch)), to=1)


@scenario("fetch/limits v{version}", versions=("Fetch", 4, 18))
def limits(story: Story, version: int) -> None:
    topic = filled(story)
    story.produced(topic, b"other", index=1)
    second = filled(story, "u", 1)

    def ask(step: str, request: Mapping[str, Any], **more: Any) -> None:
        story.ask(step, "Fetch", version, request, **more)

    for size in (0, 1, 60, 82, 83, 84, 100, 165, 166, 167, 200, 249, 250):
        ask(f"partition limit {size}", of(topic, {"partitionMaxBytes": size}))
        ask(f"limit {size}", of(topic, {}, maxBytes=size))
        ask(f"partition limit {size}, committed, from 2 on", of(topic, at(2, partitionMaxBytes=size), isolationLevel=1))
    both = [(topic, [{}]), (second, [{}])]
    for size in (0, 1, 100, 200, 250, 300, 400, 500):
        ask(f"two topics, limit {size}", of_many(both, maxBytes=size))
        ask(f"two topics, limit {size}, committed", of_many(both, maxBytes=size, isolationLevel=1))
    empty = [(topic, [at(6)]), (second, [{"partitionMaxBytes": 10}])]
    ask("an empty one first", of_many(empty))
    ask("a full one first", of_many([(topic, [{}]), (second, [{"partitionMaxBytes": 10}])]))
    ask("partition limit -1", of(topic, {"partitionMaxBytes": -1}))
    ask("partition limit -1 at the end", of(topic, at(6, partitionMaxBytes=-1)))
    ask("partition limit -1 past the end", of(topic, at(9, partitionMaxBytes=-1)))
    ask("limit -1", of(topic, {}, maxBytes=-1))
    ask("limit -1, two topics", of_many(both, maxBytes=-1))
    ask(
        "both limits 0",
        of_many([(topic, [{"partitionMaxBytes": 0}]), (second, [{"partitionMaxBytes": 0}])], maxBytes=0),
    )


@scenario("fetch/waits v{version}", versions=("Fetch", 4, 18))
def waits(story: Story, version: int) -> None:
    topic = filled(story)

    def ask(step: str, *partitions: Mapping[str, Any], wait: int = 400, least: int = 1, **more: Any) -> None:
        request = of(topic, *partitions, maxWaitMs=wait, minBytes=least, **more)
        story.ask(step, "Fetch", version, request, waits_ms=wait)

    ask("at the end", at(6))
    ask("at the end, committed", at(6), isolationLevel=1)
    ask("at the end, nothing wanted", at(6), least=0)
    ask("at the end, less than nothing wanted", at(6), least=-1)
    ask("something there", at(4))
    ask("less there than wanted", at(4), least=1000)
    ask("less there than wanted, a limit below", at(4), least=1000, maxBytes=10)
    ask("less there than wanted, a partition limit below", at(4, partitionMaxBytes=10), least=1000)
    ask("at the end, a limit of nothing", at(6), maxBytes=0)
    ask("an error", at(7))
    ask("an unknown partition", {"partition": 9})
    ask("an unknown partition beside an empty one", at(6), {"partition": 9})
    ask("an error beside an empty one", at(6), {"partition": 1, "currentLeaderEpoch": 9})
    ask("no time", at(6), wait=0)
    request = of(topic, at(6), maxWaitMs=20_000, minBytes=1)
    pending = story.begin("until there is something", "Fetch", version, request, on="reader")
    story.wait(100)
    story.produced(topic, b"new")
    pending.answer()
    request = of(topic, at(7), maxWaitMs=20_000, minBytes=150)
    pending = story.begin("until there is enough", "Fetch", version, request, on="reader")
    story.wait(50)
    story.produced(topic, b"new")
    story.wait(50)
    story.produced(topic, b"more")
    story.wait(50)
    story.produced(topic, b"enough")
    pending.answer()


@scenario("fetch/sessions v{version}", versions=("Fetch", 7, 18))
def sessions(story: Story, version: int) -> None:
    topic = filled(story)
    other = filled(story, "u", 1)

    def ask(step: str, request: Mapping[str, Any]) -> Any:
        return story.ask(step, "Fetch", version, request)

    def forget(one: Topic, *partitions: int) -> list[dict[str, Any]]:
        return [{"topic": one.name, "topicId": one.id, "partitions": list(partitions)}]

    first = ask("a new one", of(topic, at(6), sessionEpoch=0))["sessionId"]
    ask("nothing new", of_many([], sessionId=first, sessionEpoch=1))
    story.produced(topic, b"new")
    ask("something new", of_many([], sessionId=first, sessionEpoch=2))
    ask("again, as the offset stands", of_many([], sessionId=first, sessionEpoch=3))
    ask("another offset", of(topic, at(7), sessionId=first, sessionEpoch=4))
    ask("one more topic", of(other, at(0), sessionId=first, sessionEpoch=5))
    ask("it stays", of_many([], sessionId=first, sessionEpoch=6))
    ask("an error in it", of(other, at(99), sessionId=first, sessionEpoch=7))
    ask("the error stays", of_many([], sessionId=first, sessionEpoch=8))
    ask("one less", of_many([], sessionId=first, sessionEpoch=9, forgottenTopicsData=forget(other, 0, 7)))
    ask("an unknown one more", of(NOWHERE, {}, sessionId=first, sessionEpoch=10))
    ask("unknown still", of_many([], sessionId=first, sessionEpoch=11))
    ask("forgotten", of_many([], sessionId=first, sessionEpoch=12, forgottenTopicsData=forget(NOWHERE, 0)))
    ask("a wrong epoch", of_many([], sessionId=first, sessionEpoch=5))
    ask("the epoch to come", of_many([], sessionId=first, sessionEpoch=14))
    other_way = 12 if version >= 13 else 13
    story.ask("the other way to name topics", "Fetch", other_way, of_many([], sessionId=first, sessionEpoch=13))
    ask("still there", of_many([], sessionId=first, sessionEpoch=13))
    ask("all forgotten", of_many([], sessionId=first, sessionEpoch=14, forgottenTopicsData=forget(topic, 0)))
    ask("gone then", of_many([], sessionId=first, sessionEpoch=15))
    empty = ask("an empty one", of_many([], sessionEpoch=0))["sessionId"]
    ask("an empty one goes on", of_many([], sessionId=empty, sessionEpoch=1))
    filled_up = ask("another empty one", of_many([], sessionEpoch=0))["sessionId"]
    ask("is filled", of(topic, at(6), sessionId=filled_up, sessionEpoch=1))
    ask("closed", of(topic, at(6), sessionId=filled_up, sessionEpoch=-1))
    ask("closed before", of_many([], sessionId=filled_up, sessionEpoch=2))
    replaced = ask("to be replaced", of(topic, at(6), sessionEpoch=0))["sessionId"]
    ask("replaced", of(topic, at(6), sessionId=replaced, sessionEpoch=0))
    ask("replaced before", of_many([], sessionId=replaced, sessionEpoch=1))
    ask("never there", of_many([], sessionId=12345, sessionEpoch=1))
    ask("never there, with a topic", of(topic, {}, sessionId=12345, sessionEpoch=1))
    ask("never there, a full one", of(topic, at(6), sessionId=12345, sessionEpoch=-1))
    ask("no session, an epoch", of(topic, at(6), sessionId=0, sessionEpoch=3))
    with_error = ask("a new one with an error", of(topic, {"partition": 9}, sessionEpoch=0))["sessionId"]
    ask("the error comes again", of_many([], sessionId=with_error, sessionEpoch=1))
    doomed = filled(story, "doomed", 1)
    last = ask("before a topic goes", of_many([(doomed, [at(6)]), (topic, [at(8)])], sessionEpoch=0))["sessionId"]
    story.delete_topic(doomed.name)
    ask("the topic is gone", of_many([], sessionId=last, sessionEpoch=1))
    ask("the topic is gone, without a session", of(doomed, at(6)))


@scenario("fetch/codecs v{version}", versions=("Fetch", 4, 18))
def codecs(story: Story, version: int) -> None:
    topic = story.topic("t")
    for codec in CompressionCodec:
        story.produced(topic, b"one", b"two", codec=codec)
    zstd = story.topic("zstd", configs={"compression.type": "zstd"})
    story.produced(zstd, b"one", b"two")
    story.ask("all codecs", "Fetch", version, of(topic, {}))
    story.ask("from the zstd batch", "Fetch", version, of(topic, at(8)))
    story.ask("a topic of zstd", "Fetch", version, of(zstd, {}))
    story.ask("a topic of zstd, at its end", "Fetch", version, of(zstd, at(2)))


@scenario("fetch/racks v{version}", versions=("Fetch", 11, 18))
def racks(story: Story, version: int) -> None:
    topic = filled(story)

    def ask(step: str, rack: str, *partitions: Mapping[str, Any], to: int = 0, **more: Any) -> None:
        story.ask(step, "Fetch", version, of(topic, *partitions, rackId=rack, **more), to=to)

    story.until(
        lambda: (
            story.quiet("Fetch", 12, of(topic, {}, rackId="b"))["responses"][0]["partitions"][0]["preferredReadReplica"]
            == 1
        ),
        "the follower to be known to have all",
    )
    ask("the leader's rack", "a", {})
    ask("a follower's rack", "b", {})
    ask("a follower's rack, committed", "b", {}, isolationLevel=1)
    ask("an unknown rack", "z", {})
    ask("a follower's rack, past the end", "b", at(9))
    ask("a follower's rack, before the start", "b", at(-1))
    ask("a follower's rack, a wrong leader epoch", "b", {"currentLeaderEpoch": 7})
    ask("a follower's rack, an unknown partition", "b", {"partition": 9})
    ask("asked where it is", "b", {}, to=1)
    ask("asked where it is, committed", "b", {}, to=1, isolationLevel=1)
    ask("asked elsewhere", "b", {}, to=2)
    ask("waits for nothing there", "b", at(6), maxWaitMs=5000, minBytes=1)


@scenario("fetch/segments v{version}", versions=("Fetch", 4, 4))
@scenario("fetch/segments v{version}", versions=("Fetch", 12, 13))
def segments(story: Story, version: int) -> None:
    by_time = story.topic("times", configs={"segment.ms": "60000"})
    for ms in (0, 1000, 70_000, 80_000, 1000, 90_000):
        story.produced(by_time, b"x" * 10, at=ms)
    by_size = story.topic("sizes", configs={"segment.bytes": "1048576"})
    for letter in b"abcde":
        story.produced(by_size, bytes([letter]) * 400_000)
    for offset in range(7):
        story.ask(f"by time, from {offset}", "Fetch", version, of(by_time, at(offset)))
    sizes = [({"fetchOffset": offset, "partitionMaxBytes": 3 * MEGABYTE}) for offset in range(6)]
    for one in sizes:
        answer = story.quiet("Fetch", version, of(by_size, one))
        records = answer["responses"][0]["partitions"][0]["records"] or ""
        story.keep(f"by size, from {one['fetchOffset']}", "Fetch", version, {}, {"bytes": len(records)})
    beside = of_many([(by_time, [at(0, partitionMaxBytes=100)]), (by_size, [at(2, partitionMaxBytes=10)])])
    story.ask("limits across", "Fetch", version, beside)
    story.ask(
        "wanted is more than the segment",
        "Fetch",
        version,
        of(by_time, at(0), maxWaitMs=300, minBytes=5000),
        waits_ms=300,
    )
