"""Transactions as others see and end them: lists, descriptions, time-outs and markers."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story
from tests.answers.transactional import Producer, fetch_offsets, producers_of, read


@scenario("txn/listed v{version}", versions="ListTransactions")
def listed(story: Story, version: int) -> None:
    topic = story.topic("t")
    producer = Producer.of(story).begun()
    other = Producer.of(story, "y").begun()
    producer.add(None, topic.name, 0)
    story.wait(10)

    def ask(step: str, **fields: Any) -> None:
        def only(answer: Any) -> Any:
            mine = [one for one in answer["transactionStates"] if one["transactionalId"] == producer.name]
            return {**answer, "transactionStates": mine}

        wanted = {"stateFilters": [], "producerIdFilters": [], "durationFilter": -1, "transactionalIdPattern": None}
        story.ask(step, "ListTransactions", version, wanted | fields, to=producer.at, only=only)

    ask("no filter")
    ask("all", stateFilters=["Ongoing", "NoSuchState"])
    ask("under way", stateFilters=["Ongoing"])
    ask("empty and under way", stateFilters=["Empty", "Ongoing"])
    ask("dead", stateFilters=["Dead", "PrepareEpochFence", "CompleteAbort"])
    ask("case", stateFilters=["ongoing", ""])
    ask("unknown twice", stateFilters=["Nope", "Nope", "Other"])
    ask("by producer", producerIdFilters=[producer.id])
    ask("by two producers", producerIdFilters=[producer.id, other.id, producer.id])
    ask("by producer and another state", producerIdFilters=[producer.id], stateFilters=["Empty"])
    ask("by unknown producer", producerIdFilters=[producer.id + 5000, -1])
    if version >= 1:
        ask("long ones", durationFilter=60_000)
        ask("duration 0", durationFilter=0)
        ask("duration -2", durationFilter=-2)
    if version >= 2:
        name = story.named("")
        for pattern in (
            "",
            ".*",
            f"{name}.*",
            f"{name}x",
            "x",
            f"{name}(x|y)",
            "[",
            "(?P<a>x)",
            "*",
            f"{name}\\w",
            "a{2,1}",
        ):
            ask(f"pattern {pattern}", transactionalIdPattern=pattern)
        ask("bad pattern and unknown state", transactionalIdPattern="[", stateFilters=["Nope"])


@scenario("txn/looked at")
def described(story: Story) -> None:
    topic = story.topic("t", partitions=3)
    producer = Producer.of(story).begun()
    name = producer.name

    def ask(step: str, *names: str, to: int = producer.at) -> None:
        story.ask(step, "DescribeTransactions", 0, {"transactionalIds": list(names)}, to=to)

    def producers(step: str, name: str, *indexes: int, to: int = 0) -> None:
        wanted = {"topics": [{"name": name, "partitionIndexes": list(indexes)}]}
        story.ask(step, "DescribeProducers", 0, wanted, to=to)

    ask("empty", name)
    producer.add(None, topic.name, 0, 2)
    ask("added", name)
    producer.produce(None, topic, b"x", b"y")
    producer.add_offsets(None, story.named("g"))
    ask("under way", name)
    ask("unknown", story.named("none"), to=story.coordinator(story.named("none"), 1))
    ask("not the coordinator", name, to=(producer.at + 1) % 3)
    ask("empty id", "")
    ask("none")
    ask("twice", name, name)
    ask("good and bad", name, "")
    producers("under way", topic.name, 0)
    producers("unknown partition", topic.name, 9)
    producers("negative partition", topic.name, -1)
    producers("another broker's", topic.name, 1)
    producers("unknown topic", "no-such-topic", 0)
    producers("no producer there", topic.name, 1, to=1)
    producers("bad name", "a b", 0)
    producers("empty name", "", 0)
    producers("several", topic.name, 0, 1, 9, 0)
    producers("no partitions", topic.name)
    story.ask("nothing", "DescribeProducers", 0, {"topics": []})
    producer.end(None)
    producers("committed", topic.name, 0)
    pid = story.producer_id()
    story.produced(topic, b"p", producer_id=pid, producer_epoch=0, base_sequence=0)
    producers("and an idempotent one", topic.name, 0)
    ask("committed", name)


@scenario("txn/time-out")
def timed_out(story: Story) -> None:
    """The coordinator aborts a transaction that takes too long, in an epoch of its own."""
    topic, group = story.topic("t"), story.named("g")
    for newer in (False, True):
        story.wait(500 if newer else 0)
        kind = "newer" if newer else "older"
        producer = Producer.of(story, kind).begun()
        producer.init(f"{kind}: init", transactionTimeoutMs=1000)
        if newer:
            producer.produce(None, topic, b"open", version=12)
            producer.commit_offset(None, group, topic, 0, 4, 5)
        else:
            producer.add(None, topic.name, 0)
            producer.produce(None, topic, b"open")
            producer.add_offsets(None, group)
            producer.commit_offset(None, group, topic, 0, 4)
        producer.described(f"{kind}: under way")
        fetch_offsets(story, f"{kind}: under way", group, topic, 0, stable=True)

        def aborted(producer: Producer = producer) -> bool:
            (state,) = story.quiet(
                "DescribeTransactions", 0, {"transactionalIds": [producer.name]}, to=producer.at, on="settle"
            )["transactionStates"]
            return bool(state["transactionState"] == "CompleteAbort")

        story.until(aborted, "the time-out")
        producer.described(f"{kind}: aborted")
        fetch_offsets(story, f"{kind}: aborted", group, topic, 0, stable=True)
        read(story, f"{kind}: aborted", topic, 1)
        for version in (0, 3, 4, 5):
            for commit in (True, False):
                step = f"{kind}: {'commit' if commit else 'abort'} too late"
                story.ask(step, "EndTxn", version, producer.who | {"committed": commit}, to=producer.at)
        producer.produce(f"{kind}: too late", topic, b"late", version=9)
        producer.produce(f"{kind}: too late", topic, b"late", version=12)
        producer.add(f"{kind}: too late", topic.name, 0)
        producer.init(f"{kind}: goes on", 4, producerId=producer.id, producerEpoch=producer.epoch)
        producer.described(f"{kind}: in the end")
        producer.produce(f"{kind}: in the new epoch", topic, b"new", version=12, base_sequence=0)
        producer.end(f"{kind}: in the new epoch", 5)


@scenario("txn/markers v{version}", versions="WriteTxnMarkers")
def markers(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    producer = Producer.of(story).begun()

    def ask(step: str, *markers: Fields, **how: Any) -> None:
        story.ask(step, "WriteTxnMarkers", version, {"markers": list(markers)}, **how)

    def marker(name: str = topic.name, *indexes: int, **fields: Any) -> Fields:
        return {
            "producerId": producer.id,
            "producerEpoch": producer.epoch,
            "transactionResult": False,
            "topics": [{"name": name, "partitionIndexes": list(indexes)}],
            "coordinatorEpoch": 0,
            "transactionVersion": 1,
        } | fields

    ask("none")
    ask("no topics", marker(topics=[]))
    ask("no partitions", marker(topic.name))
    ask("unknown topic", marker("no-such-topic", 0))
    ask("bad topic", marker("a b", 0))
    ask("unknown partition", marker(topic.name, 9))
    ask("another broker's", marker(topic.name, 1))
    ask("a producer that wrote nothing", marker(topic.name, 0))
    producer.add(None, topic.name, 0)
    producer.produce(None, topic, b"open")
    ask("an old epoch", marker(topic.name, 0, producerEpoch=producer.epoch - 1))
    ask("aborted", marker(topic.name, 0))
    ask("aborted again", marker(topic.name, 0))
    ask("committed then", marker(topic.name, 0, transactionResult=True))
    ask("a later coordinator", marker(topic.name, 0, coordinatorEpoch=7))
    ask("an older coordinator", marker(topic.name, 0, coordinatorEpoch=3))
    ask("a coordinator of -1", marker(topic.name, 0, coordinatorEpoch=-1))
    ask("a later epoch", marker(topic.name, 0, producerEpoch=producer.epoch + 3, coordinatorEpoch=7))
    ask("the epoch before it", marker(topic.name, 0, coordinatorEpoch=7))
    ask("epoch -1", marker(topic.name, 0, producerEpoch=-1, coordinatorEpoch=7))
    ask("producer -1", marker(topic.name, 0, producerId=-1, coordinatorEpoch=7))
    one = marker(topic.name, 0, coordinatorEpoch=7, producerEpoch=9)
    ask(
        "two markers", one, marker(topic.name, 0, 9, coordinatorEpoch=7, producerEpoch=9, producerId=producer.id + 5000)
    )
    ask("a marker twice", one, one)
    none = marker("no-such-topic", 0)
    ask("two markers, one of nothing", one, none | {"producerId": producer.id + 5000})
    for number in (2, 3, -1):
        more = {"transactionVersion": number, "coordinatorEpoch": 7}
        ask(f"transaction version {number}, the same epoch", marker(topic.name, 0, producerEpoch=9, **more))
        ask(f"transaction version {number}, the next epoch", marker(topic.name, 0, producerEpoch=20 + number, **more))
    story.ask("in the end", "DescribeProducers", 0, producers_of(topic, 0))
    read(story, "in the end", topic, 1)
