"""Scenarios by the names and steps of those that Kafka 4.1 was asked, to be compared with its answers too."""

from __future__ import annotations

from typing import Any

from protocol.records import CompressionCodec, Record, build_batch
from tests.answers.scenarios import fetch, scenario
from tests.answers.scenarios.list_offsets import of, when
from tests.answers.story import Story, Topic
from tests.answers.transactional import Producer, producers_of

NO_SUCH_TOPIC = Topic("no-such-topic", "", ((0,),))


@scenario("list offsets/more")
def list_offsets(story: Story) -> None:
    topic = story.topic("t", assignments=[[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]])
    story.produced(topic, b"a", b"b")

    def ask(step: str, request: dict[str, Any], version: int = 6, to: int = 0) -> None:
        story.ask(step, "ListOffsets", version, request, to=to)

    end, start_of_3 = when(-1), when(-2, partitionIndex=3)
    ask("a partition twice", of(topic, end, end))
    twice = of(topic, end)
    ask("a topic twice", twice | {"topics": twice["topics"] + of(topic, start_of_3)["topics"]})
    ask("two partitions", of(topic, end, start_of_3))
    ask("nothing", {"replicaId": -1, "topics": []})
    ask("replica -2, end", of(topic, end, replicaId=-2))
    ask("replica 1, end", of(topic, end, replicaId=1))
    ask("at a follower", of(topic, end), to=1)
    ask("at a follower, replica -2", of(topic, end, replicaId=-2), to=1)
    ask("isolation level 9", of(topic, end, isolationLevel=9))
    ask("timestamp -100", of(topic, when(-100)))
    ask("bad name", of(Topic("bad name!", "", ((0,),)), end))
    newest = when(-3)
    ask("newest of two", of(topic, newest, newest | {"partitionIndex": 3}), 7)
    for step, times, codec in (
        ("newest inside of a batch", (7, 3, 5), CompressionCodec.NONE),
        ("newest inside of a compressed batch", (5, 50, 9), CompressionCodec.GZIP),
    ):
        records = [Record(value=b"v", timestamp=story.time(ms)) for ms in times]
        produce = {"index": 0, "records": build_batch(records, codec=codec)}
        wanted = {"acks": -1, "timeoutMs": 10_000, "topicData": [{"name": topic.name, "partitionData": [produce]}]}
        story.quiet("Produce", 9, wanted)
        ask(step, of(topic, newest), 7)
    ask("time inside of a compressed batch", of(topic, when(story.time(8))), 7)


@scenario("txn/described")
def described(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.producer_id()  # the first id may be 0, which answers have for none
    producer = Producer.of(story).begun()
    other = (producer.at + 1) % 3

    def transactions(step: str, *names: str, to: int = producer.at) -> None:
        story.ask(step, "DescribeTransactions", 0, {"transactionalIds": list(names)}, to=to)

    def producers(step: str, of_topic: Topic, index: int, to: int = 0) -> None:
        story.ask(step, "DescribeProducers", 0, producers_of(of_topic, index), to=to)

    transactions("empty", producer.name)
    producer.add(None, topic.name, 0, 1)
    producer.produce(None, topic, b"a")
    transactions("under way", producer.name)
    transactions("not the coordinator", producer.name, to=other)
    transactions("empty id", "")
    transactions("none")
    transactions("twice", producer.name, producer.name)
    producers("under way", topic, 0)
    producers("under way, at a follower", topic, 0, to=1)
    producers("unknown partition", topic, 9)
    producers("another broker's", topic, 1)
    producers("unknown topic", NO_SUCH_TOPIC, 0)
    producers("no producer there", topic, 1, to=1)
    producers("bad name", Topic("a b", "", ((0,),)), 0)
    producer.end(None)
    transactions("committed", producer.name)
    producers("committed", topic, 0)
    idempotent = story.producer_id()
    story.produced(topic, b"b", b"c", producer_id=idempotent, producer_epoch=0, base_sequence=0)
    producers("and an idempotent one", topic, 0)


@scenario("txn/fencing")
def fencing(story: Story) -> None:
    topic = story.topic("t")
    producer = Producer.of(story).begun()
    producer.add(None, topic.name, 0)
    producer.produce(None, topic, b"a")
    fenced = {"producerId": producer.id, "producerEpoch": producer.epoch}
    sequence = producer.sequence
    new = {"transactionTimeoutMs": 60_000, "producerId": -1, "producerEpoch": -1, "transactionalId": producer.name}
    story.ask("another instance, a transaction is under way", "InitProducerId", 4, new, to=producer.at)
    producer.settled()
    producer.init("another instance, the transaction is over")
    for version in (1, 2, 3):
        producer.add("the fenced one", topic.name, 0, version=version, **fenced)
        producer.end("the fenced one", version, **fenced)
        producer.add_offsets("the fenced one", "g", version, **fenced)
    for version in (8, 9, 11, 12):
        batch = {"producer_id": fenced["producerId"], "producer_epoch": fenced["producerEpoch"]}
        producer.produce("the fenced one", topic, b"b", version=version, base_sequence=sequence, **batch)
    producer.init("the fenced one, KIP-360", **fenced)
    story.ask("after fencing", "Fetch", 11, fetch.of(topic, {}, isolationLevel=1))
