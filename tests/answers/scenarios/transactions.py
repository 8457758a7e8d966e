"""Transactions: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn, and what readers see."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import fetch, list_offsets, scenario
from tests.answers.story import Fields, Story, Topic
from tests.answers.transactional import Producer, fetch_offsets, producers_of, read


@scenario("txn v{version}", versions="InitProducerId")
def life(story: Story, version: int) -> None:
    """A transaction that is committed and one that is aborted, by clients of before KIP-890, then by newer ones."""
    topic, group = story.topic("t", partitions=2), story.named("g")
    producer, to = Producer.of(story), story.coordinator(group)
    story.producer_id(producer.at)  # so that it has a block of ids
    producer.init("init", version)
    for commit in (True, False):
        name = "committed" if commit else "aborted"
        old = min(version, 4)
        producer.end(f"{name}: nothing to end", old, commit=commit)
        producer.add(f"{name}: add", topic.name, 0, 1, version=min(version, 3))
        producer.add(f"{name}: add again", topic.name, 0, version=min(version, 3))
        producer.produce(f"{name}: produce to 0", topic, b"1", b"2")
        producer.produce(f"{name}: produce to 1", topic, b"1", b"2", index=1, base_sequence=0 if commit else 2)
        producer.described(f"{name}: under way")
        read(story, f"{name}: under way", topic, 0)
        read(story, f"{name}: under way", topic, 1)
        end = list_offsets.of(topic, list_offsets.when(-1), isolationLevel=1)
        story.ask(f"{name}: read committed, under way", "ListOffsets", 5, end)
        producer.add_offsets(f"{name}: add offsets", group, old)
        producer.commit_offset(f"{name}: offsets", group, topic, 0, 5 if commit else 6, old)
        fetch_offsets(story, f"{name}: offsets, under way", group, topic, 0)
        fetch_offsets(story, f"{name}: stable offsets, under way", group, topic, 0, stable=True)
        partition = {"partitionIndex": 1, "committedOffset": 3, "committedMetadata": ""}
        other = {"groupId": group, "topics": [{"name": topic.name, "partitions": [partition]}]}
        story.ask(f"{name}: other offsets meanwhile", "OffsetCommit", 7, other, to=to)
        producer.end(name, old, commit=commit)
        producer.end(f"{name}: once more", old, commit=commit)
        producer.end(f"{name}: the other way", old, commit=not commit)
        producer.described(f"{name}: after")
        read(story, name, topic, 0)
        read(story, name, topic, 1)
        fetch_offsets(story, f"{name}: offsets", group, topic, 0, 1, stable=True)
        story.ask(f"{name}: producers", "DescribeProducers", 0, producers_of(topic, 0))


@scenario("txn/bumping v{version}", versions=("TxnOffsetCommit", 5, 6))
def bumping(story: Story, version: int) -> None:
    """The same by a client of transaction.version 2: nothing is added before, each end gives an epoch."""
    topic, group = story.topic("t", partitions=2), story.named("g")
    producer = Producer.of(story).begun()
    for commit in (True, False):
        name = "committed" if commit else "aborted"
        before = producer.who
        producer.end(f"{name}: nothing to end", 5, commit=commit)
        producer.described(f"{name}: nothing ended")
        producer.produce(f"{name}: produce to 0", topic, b"1", b"2", version=12)
        producer.described(f"{name}: begun")
        producer.commit_offset(f"{name}: offsets", group, topic, 0, 5, version)
        producer.described(f"{name}: under way")
        fetch_offsets(story, f"{name}: stable offsets, under way", group, topic, 0, stable=True)
        ended = producer.who
        producer.end(name, 5, commit=commit)
        producer.described(f"{name}: after")
        story.ask(f"{name}: again", "EndTxn", 5, ended | {"committed": commit}, to=producer.at)
        story.ask(f"{name}: the other way", "EndTxn", 5, ended | {"committed": not commit}, to=producer.at)
        story.ask(f"{name}: by an older client", "EndTxn", 4, ended | {"committed": commit}, to=producer.at)
        story.ask(f"{name}: two epochs behind", "EndTxn", 5, before | {"committed": commit}, to=producer.at)
        producer.end(f"{name}: in the new epoch by an older client", 4, commit=commit)
        producer.end(f"{name}: in the new epoch", 5, commit=commit)
        producer.end(f"{name}: in the new epoch, the other way", 5, commit=not commit)
        producer.described(f"{name}: at the end")
        read(story, name, topic, 1)
        fetch_offsets(story, f"{name}: offsets", group, topic, 0, stable=True)
        story.ask(f"{name}: producers", "DescribeProducers", 0, producers_of(topic, 0))


@scenario("txn/read committed v{version}", versions=("Fetch", 4, 18))
def read_committed(story: Story, version: int) -> None:
    topic = story.topic("t")
    first, second = Producer.of(story, "x").begun(), Producer.of(story, "y").begun()
    first.add(None, topic.name, 0)
    first.produce(None, topic, b"a1", b"a2")
    first.end(None, commit=False)
    story.wait(5)  # the markers have times of their own
    story.produced(topic, b"plain")
    for value, commit in ((b"c1", True), (b"a3", False)):
        first.add(None, topic.name, 0)
        first.produce(None, topic, value)
        first.end(None, commit=commit)
        story.wait(5)
    second.add(None, topic.name, 0)
    second.produce(None, topic, b"open")
    story.produced(topic, b"behind")
    for offset in (0, 1, 3, 4, 6, 7, 8, 9):
        wanted = fetch.of(topic, fetch.at(offset), isolationLevel=1)
        story.ask(f"read committed from {offset}", "Fetch", version, wanted)
    story.ask("read uncommitted", "Fetch", version, fetch.of(topic, fetch.at(0)))
    small = fetch.of(topic, fetch.at(0, partitionMaxBytes=1), isolationLevel=1)
    story.ask("read committed, one batch", "Fetch", version, small)
    for api_version, mark in ((5, -1), (7, -3), (5, -2), (8, -4)):
        wanted = list_offsets.of(topic, list_offsets.when(mark), isolationLevel=1)
        story.ask(f"read committed, {mark}", "ListOffsets", api_version, wanted)
    second.end(None, commit=False)
    story.ask("read committed, and it aborted", "Fetch", version, fetch.of(topic, fetch.at(0), isolationLevel=1))
    story.ask("read committed, the last one aborted", "Fetch", version, fetch.of(topic, fetch.at(7), isolationLevel=1))


@scenario("txn/add partitions v{version}", versions="AddPartitionsToTxn")
def add_partitions(story: Story, version: int) -> None:
    topic, other = story.topic("t", partitions=3), story.topic("u")
    producer, idle = Producer.of(story).begun(), Producer.of(story, "y").begun()
    pid, epoch = producer.id, producer.epoch
    none, to = story.named("none"), story.coordinator(story.named("none"), 1)
    producer.add("unknown transaction", topic.name, 0, version=version, transactionalId=none, to=to)
    producer.add("not the coordinator", topic.name, 0, version=version, to=(producer.at + 1) % 3)
    producer.add("an old epoch", topic.name, 0, version=version, producerEpoch=epoch - 1)
    producer.add("a later epoch", topic.name, 0, version=version, producerEpoch=epoch + 1)
    producer.add("another producer", topic.name, 0, version=version, producerId=pid + 999)
    producer.add("no producer", topic.name, 0, version=version, producerId=-1, producerEpoch=-1)
    producer.add("empty id", topic.name, 0, version=version, transactionalId="")
    producer.add("unknown topic", "no-such-topic", 0, version=version)
    producer.add("bad topic", "a b", 0, version=version)
    producer.add("empty topic", "", 0, version=version)
    producer.add("unknown partition", topic.name, 0, 9, version=version)
    producer.add("negative partition", topic.name, -1, version=version)
    if version < 4:
        producer.add("offsets topic", "__consumer_offsets", 0, version=version)
        producer.add("state topic", "__transaction_state", 0, version=version)
    producer.add("no partitions", topic.name, version=version)
    story.ask("no topics", "AddPartitionsToTxn", version, producer.adding(version, []), to=producer.at)
    producer.described("nothing yet")
    both = [{"name": topic.name, "partitions": [1, 0, 1]}, {"name": other.name, "partitions": [0]}]
    wanted = producer.adding(version, [*both, {"name": "no-such-topic", "partitions": [0]}])
    story.ask("good and bad", "AddPartitionsToTxn", version, wanted, to=producer.at)
    story.ask("a partition twice", "AddPartitionsToTxn", version, producer.adding(version, both), to=producer.at)
    twice = [{"name": topic.name, "partitions": [2]}, {"name": topic.name, "partitions": [0]}]
    story.ask("a topic twice", "AddPartitionsToTxn", version, producer.adding(version, twice), to=producer.at)
    producer.described("all of them")
    if version > 3:
        producer.end(None, 4)
        first = [{"name": topic.name, "partitions": [0]}]
        adding = producer.adding(version, first)["transactions"]
        for one in (producer.at, (producer.at + 1) % 3):
            wanted = producer.adding(version, first, verify=True)
            step = "at the coordinator" if one == producer.at else "elsewhere"
            story.ask(f"verify, {step}", "AddPartitionsToTxn", version, wanted, to=one)
        others = idle.adding(version, [{"name": other.name, "partitions": [0]}])["transactions"]
        story.ask("two", "AddPartitionsToTxn", version, {"transactions": adding + others}, to=producer.at, on="two")
        story.ask("one twice", "AddPartitionsToTxn", version, {"transactions": adding * 2}, to=producer.at)
        more = [{"name": topic.name, "partitions": [0, 1]}, {"name": other.name, "partitions": [0]}]
        wanted = producer.adding(version, more, verify=True)
        story.ask("verify some", "AddPartitionsToTxn", version, wanted, to=producer.at)
        wanted = producer.adding(version, more, verify=True, producerEpoch=epoch + 5)
        story.ask("verify, a later epoch", "AddPartitionsToTxn", version, wanted, to=producer.at)
        wanted = producer.adding(version, more, verify=True, producerId=pid + 999)
        story.ask("verify, another producer", "AddPartitionsToTxn", version, wanted, to=producer.at)
        wanted = producer.adding(version, [{"name": "no-such-topic", "partitions": [0]}], verify=True)
        story.ask("verify, unknown topic", "AddPartitionsToTxn", version, wanted, to=producer.at)
        producer.described("in the end")


@scenario("txn/add offsets v{version}", versions="AddOffsetsToTxn")
def add_offsets(story: Story, version: int) -> None:
    group = story.named("g")
    producer = Producer.of(story).begun()
    none, to = story.named("none"), story.coordinator(story.named("none"), 1)
    producer.add_offsets("unknown transaction", group, version, transactionalId=none, to=to)
    producer.add_offsets("not the coordinator", group, version, to=(producer.at + 1) % 3)
    producer.add_offsets("an old epoch", group, version, producerEpoch=producer.epoch - 1)
    producer.add_offsets("a later epoch", group, version, producerEpoch=producer.epoch + 1)
    producer.add_offsets("another producer", group, version, producerId=producer.id + 999)
    producer.add_offsets("empty id", group, version, transactionalId="")
    producer.add_offsets("empty group", "", version)
    producer.described("nothing yet, but for the empty group")
    producer.end(None, 3)
    producer.add_offsets("right", group, version)
    producer.add_offsets("again", group, version)
    producer.described("under way")
    producer.end("committed without offsets", 3)


@scenario("txn/commit offsets v{version}", versions="TxnOffsetCommit")
def commit_offsets(story: Story, version: int) -> None:
    topic, group = story.topic("t", partitions=2), story.named("g")
    producer = Producer.of(story).begun()
    to = story.coordinator(group)
    none = Topic("no-such-topic", "aaaaaaaaaaaaaaaaaaaaaQ", ((0,),))

    def ask(step: str, topic: Topic = topic, index: int = 0, offset: int = 4, **fields: Any) -> None:
        name = fields.pop("group", group)
        producer.commit_offset(step, name, topic, index, offset, version, **({"to": to} | fields))

    ask("before the group joined")
    producer.described("after the first")
    producer.add_offsets(None, group)
    ask("right")
    ask("again, lower", offset=1)
    ask("unknown topic", none)
    ask("unknown partition", index=9)
    ask("negative partition", index=-1)
    ask("negative offset", offset=-1)
    ask("offset -2", offset=-2)
    ask("metadata too large", partition={"committedMetadata": "m" * 4097})
    ask("metadata as large as may be", partition={"committedMetadata": "m" * 4096})
    ask("null metadata", partition={"committedMetadata": None})
    ask("leader epoch 7", partition={"committedLeaderEpoch": 7})
    ask("not the coordinator", to=(to + 1) % 3)
    ask("an old epoch", producerEpoch=producer.epoch - 1)
    ask("a later epoch", producerEpoch=producer.epoch + 1)
    ask("another producer", producerId=producer.id + 999)
    ask("no producer", producerId=-1, producerEpoch=-1)
    ask("another transaction", transactionalId=story.named("none"))
    ask("empty transaction", transactionalId="")
    ask("empty group", group="")
    ask("nothing", topics=[])
    ask("no partitions", topics=[{"name": topic.name, "topicId": topic.id, "partitions": []}])
    one = {"partitionIndex": 1, "committedOffset": 7, "committedMetadata": ""}
    twice = [one, one | {"committedOffset": 8}]
    ask("a partition twice", topics=[{"name": topic.name, "topicId": topic.id, "partitions": twice}])
    bad = {"name": none.name, "topicId": none.id, "partitions": [one]}
    ask("good and bad", topics=[{"name": topic.name, "topicId": topic.id, "partitions": [one]}, bad])
    if version >= 3:
        ask("unknown member", memberId="m", generationIdOrMemberEpoch=1)
        ask("a generation, no member", generationIdOrMemberEpoch=1)
        ask("a member, no generation", memberId="m")
        ask("unknown instance", groupInstanceId="i")
    fetch_offsets(story, "under way", group, topic, 0, 1)
    fetch_offsets(story, "under way, stable", group, topic, 0, 1, stable=True)
    story.ask("the group", "DescribeGroups", 5, {"groups": [group]}, to=to)
    deleted = {"groupId": group, "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0}]}]}
    story.ask("while they are pending", "OffsetDelete", 0, deleted, to=to)
    producer.end(None, 3)
    fetch_offsets(story, "committed", group, topic, 0, 1, stable=True)
    story.ask("the group, committed", "DescribeGroups", 5, {"groups": [group]}, to=to)
    story.ask("a group with pending offsets no more", "DeleteGroups", 2, {"groupsNames": [group]}, to=to)


@scenario("txn/end v{version}", versions="EndTxn")
def end(story: Story, version: int) -> None:
    topic = story.topic("t")
    producer = Producer.of(story).begun()
    pid, epoch = producer.id, producer.epoch
    to = story.coordinator(story.named("none"), 1)

    def wrong(when: str) -> None:
        for commit in (True, False):
            step = f"{'commit' if commit else 'abort'}, {when}"

            def ask(why: str, commit: bool = commit, step: str = step, **fields: Any) -> None:
                producer.end(f"{why}: {step}", version, commit=commit, **fields)

            ask("unknown transaction", transactionalId=story.named("none"), to=to)
            ask("not the coordinator", to=(producer.at + 1) % 3)
            ask("an old epoch", producerEpoch=epoch - 1)
            ask("a later epoch", producerEpoch=epoch + 1)
            ask("another producer", producerId=pid + 999)
            ask("no producer", producerId=-1, producerEpoch=-1)
            ask("empty id", transactionalId="")

    wrong("none")
    producer.add(None, topic.name, 0)
    wrong("under way")
    producer.end("right", version)
    producer.described("after it")


@scenario("txn/fenced")
def fencing(story: Story) -> None:
    topic = story.topic("t")
    producer = Producer.of(story).begun()
    producer.add(None, topic.name, 0)
    producer.produce(None, topic, b"open")
    old = producer.who
    producer.init("another instance, a transaction is under way")
    producer.settled()
    producer.described("after another instance came")
    for version in range(6):
        producer.add("the fenced one", topic.name, 0, version=version)
        producer.end("the fenced one", version, commit=True)
        if version < 5:
            producer.add_offsets("the fenced one", story.named("g"), version)
        topics = story.named("g")
        producer.commit_offset("the fenced one", topics, topic, 0, 4, version)
    for version in range(3, 14):
        producer.produce("the fenced one", topic, b"late", version=version, base_sequence=1)
    for version in range(3, 6):
        given = {"producerId": old["producerId"], "producerEpoch": old["producerEpoch"]}
        producer.init("the fenced one, KIP-360", version, **given)
    read(story, "after fencing", topic, 1)
    producer.init("another instance, once more")
    producer.described("another instance")
    story.ask("after fencing", "DescribeProducers", 0, producers_of(topic, 0))


@scenario("txn/continued v{version}", versions=("InitProducerId", 3, 5))
def continued(story: Story, version: int) -> None:
    """Producers that go on after an error (KIP-360), with the present id and with older ones."""
    topic = story.topic("t")
    producer = Producer.of(story).begun()

    def who() -> Fields:
        return {"producerId": producer.id, "producerEpoch": producer.epoch}

    first = who()
    producer.init("idle", version, **who())
    second = who()
    producer.init("idle, a retry", version, **first)
    producer.add(None, topic.name, 0)
    producer.produce(None, topic, b"open")
    producer.init("under way", version, **second)
    producer.settled()
    producer.described("aborted")
    producer.init("under way, again", version, **second)
    third = who()
    producer.described("begun again")
    producer.init("under way, a retry", version, **second)
    producer.init("the one before that", version, **first)
    producer.produce("by a newer client", topic, b"open", version=12)
    producer.init("a newer one under way", version, **who())
    producer.settled()
    producer.init("a newer one under way, again", version, **third)
    producer.described("begun a third time")
    producer.produce("in an epoch that has gone", topic, b"x", version=12, producer_epoch=third["producerEpoch"])
    producer.end("nothing", 5, commit=False)
    producer.init("after an end", version, **who())
    producer.init("with another time-out", version, transactionTimeoutMs=30_000)
    producer.described("another time-out")
    story.ask("in the end", "DescribeProducers", 0, producers_of(topic, 0))


@scenario("txn/produced v{version}", versions=("Produce", 3, 13))
def produce(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=4)
    producer = Producer.of(story).begun()
    pid, epoch = producer.id, producer.epoch
    producer.produce("a partition that was not added", topic, b"x", version=version)
    producer.add(None, topic.name, 3)
    producer.produce("one that was", topic, b"x", index=3, version=version, base_sequence=0)
    producer.produce("the same again", topic, b"x", index=3, version=version, base_sequence=0)
    producer.produce("without the transactional bit", topic, b"x", index=3, version=version, transactional=False)
    producer.produce("without transactional id", topic, b"x", index=3, version=version, named=None)
    producer.produce("another transactional id", topic, b"x", index=3, version=version, named=story.named("none"))
    producer.produce("empty transactional id", topic, b"x", index=3, version=version, named="")
    producer.produce("another producer", topic, b"x", index=3, version=version, producer_id=pid + 999)
    producer.produce("an old epoch", topic, b"x", index=3, version=version, producer_epoch=epoch - 1)
    producer.produce("a later epoch", topic, b"x", index=3, version=version, producer_epoch=epoch + 1)
    producer.produce("a gap", topic, b"x", index=3, version=version, base_sequence=7)
    producer.produce("no sequence", topic, b"x", index=3, version=version, base_sequence=-1)
    story.ask(
        "a plain batch",
        "Produce",
        version,
        {
            "transactionalId": producer.name,
            "acks": -1,
            "timeoutMs": 10_000,
            "topicData": [
                {
                    "name": topic.name,
                    "topicId": topic.id,
                    "partitionData": [{"index": 3, "records": story.batch(b"x")}],
                }
            ],
        },
        to=topic.leader(3),
    )
    producer.described("under way")
    producer.end(None, 3, commit=False)
    producer.produce("after it ended", topic, b"x", index=3, version=version, base_sequence=1)
    producer.described("after it ended")
    wanted = fetch.of(topic, {"partition": 3}, isolationLevel=1)
    story.ask("in the end", "Fetch", 12, wanted, to=topic.leader(3))
    story.ask("in the end", "DescribeProducers", 0, producers_of(topic, 3), to=topic.leader(3))
