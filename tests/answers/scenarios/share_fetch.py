"""ShareFetch and ShareAcknowledge: sessions, what is acquired, what becomes of acknowledgements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.share_state import NO_TOPIC, begun
from tests.answers.story import Story, Topic

SETTINGS = {
    "group.share.record.lock.duration.ms": "2000",
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.partition.max.record.locks": "100",
    "group.share.max.share.sessions": "300",
}
LOCK_MS = 2000
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
Acknowledged = tuple[int, int, Sequence[int]]
VERSIONS = {"versions": "ShareFetch"}


def batches(acknowledged: Iterable[Acknowledged]) -> list[dict[str, Any]]:
    return [
        {"firstOffset": first, "lastOffset": last, "acknowledgeTypes": list(types)}
        for first, last, types in acknowledged
    ]


class Member:
    """One member of a share group and its session at the leader of partition 0."""

    def __init__(self, story: Story, topic: Topic, name: str = "one", group: str = "g", version: int = 2) -> None:
        self.story, self.topic, self.name, self.version = story, topic, name, version
        self.group = story.named(group)
        self.epoch = 0

    def fetch(
        self,
        step: str | None,
        *acknowledged: Acknowledged,
        indexes: Iterable[int] = (0,),
        topic_id: str | None = None,
        epoch: int | None = None,
        to: int | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        where = {key: fields.pop(key) for key in ("waits_ms", "on") if key in fields}
        where.setdefault("on", self.name)
        given = self.epoch if epoch is None else epoch
        partitions = [{"partitionIndex": index, "acknowledgementBatches": batches(acknowledged)} for index in indexes]
        body = {
            "groupId": self.group,
            "memberId": self.name,
            "shareSessionEpoch": given,
            "maxWaitMs": 500,
            "minBytes": 1,
            "maxBytes": 1 << 20,
            "maxRecords": 500,
            "batchSize": 500,
            "topics": [{"topicId": topic_id or self.topic.id, "partitions": partitions}] if partitions else [],
            "forgottenTopicsData": [],
            **fields,
        }
        answer = self.story.ask(
            step, "ShareFetch", self.version, body, to=self.topic.leader() if to is None else to, **where
        )
        if answer.get("errorCode") == 0 and epoch is None:
            self.epoch += 1
        return answer

    def acknowledge(
        self,
        step: str | None,
        *acknowledged: Acknowledged,
        index: int = 0,
        topic_id: str | None = None,
        epoch: int | None = None,
        to: int | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        given = self.epoch if epoch is None else epoch
        partition = {"partitionIndex": index, "acknowledgementBatches": batches(acknowledged)}
        body = {
            "groupId": self.group,
            "memberId": self.name,
            "shareSessionEpoch": given,
            "topics": [{"topicId": topic_id or self.topic.id, "partitions": [partition]}],
            **fields,
        }
        answer = self.story.ask(
            step,
            "ShareAcknowledge",
            self.version,
            body,
            to=self.topic.leader() if to is None else to,
            on=self.name,
        )
        if answer.get("errorCode") == 0 and epoch is None:
            self.epoch += 1
        return answer


def member(
    story: Story, version: int = 2, *, partitions: int = 1, counts: Sequence[int] = (), start: int = 0
) -> Member:
    """A member of a new group, whose share partitions have begun, with batches of so many records in partition 0."""
    topic = story.topic("t", partitions=partitions)
    one = Member(story, topic, version=version)
    begun(story, one.group, topic, range(partitions), start=start)
    filled(story, topic, *counts)
    return one


def filled(story: Story, topic: Topic, *counts: int, index: int = 0) -> None:
    for count in counts:
        story.produced(topic, *(f"value {number}".encode() for number in range(count)), index=index)


@scenario("share fetch/acquire and accept v{version}", versions="ShareFetch")
def acquire_and_accept(story: Story, version: int) -> None:
    one = member(story, version, counts=(3, 2))
    two = Member(story, one.topic, "two", version=version)
    one.fetch("all that there is")
    two.fetch("nothing is left", waits_ms=400)
    one.acknowledge("some", (0, 1, [ACCEPT]))
    one.acknowledge("the same again", (0, 1, [ACCEPT]))
    two.acknowledge("those of another member", (2, 2, [ACCEPT]))
    one.acknowledge("each by itself", (2, 4, [RELEASE, REJECT, GAP]))
    two.fetch("what was released")
    two.fetch("beside an acknowledgement", (2, 2, [ACCEPT]))
    filled(story, one.topic, 1)
    two.fetch("a new record")
    two.fetch("the end, with what is left", (5, 5, [RELEASE]), epoch=-1, indexes=[0])
    two.fetch("after the end", epoch=3)
    one.fetch("released at the end")
    one.acknowledge("the end", (5, 5, [ACCEPT]), epoch=-1)
    one.acknowledge("after the end", (5, 5, [ACCEPT]), epoch=7)


@scenario("share fetch/sessions v{version}", versions="ShareFetch")
def sessions(story: Story, version: int) -> None:
    one = member(story, version, partitions=3, counts=(2,))
    one.fetch("no session", epoch=1)
    one.fetch("the end of none", epoch=-1)
    one.acknowledge("no session", (0, 0, [ACCEPT]), epoch=1)
    one.acknowledge("the end of none", (0, 0, [ACCEPT]), epoch=-1)
    one.acknowledge("the first epoch", (0, 0, [ACCEPT]), epoch=0)
    one.fetch("the first, with an acknowledgement", (0, 0, [ACCEPT]), epoch=0)
    one.fetch("the first", indexes=[0])
    one.fetch("an epoch ahead", epoch=5)
    one.acknowledge("an epoch ahead", (0, 0, [ACCEPT]), epoch=5)
    one.fetch("the first epoch's number again", epoch=-2)
    one.fetch("nothing named, nothing new", indexes=[], maxWaitMs=100)
    one.fetch("another partition", indexes=[2], to=one.topic.leader(), maxWaitMs=100)
    one.fetch(
        "one is forgotten",
        indexes=[],
        forgottenTopicsData=[{"topicId": one.topic.id, "partitions": [2]}],
        maxWaitMs=100,
    )
    one.fetch("a new session takes the place of the old", epoch=0, maxWaitMs=100)
    one.acknowledge("at the new session's epoch", (0, 1, [ACCEPT]), epoch=1)
    one.fetch("at the old one's", epoch=9)


@scenario("share fetch/names v{version}", versions="ShareFetch")
def names(story: Story, version: int) -> None:
    one = member(story, version, counts=(1,))
    for step, group, name in (
        ("no group", None, "one"),
        ("no member", one.group, None),
        ("an empty member", one.group, ""),
        ("a long member", one.group, "m" * 37),
        ("a member just short enough", one.group, "m" * 36),
    ):
        one.fetch(step, groupId=group, memberId=name, epoch=0)
        one.acknowledge(step, (0, 0, [ACCEPT]), groupId=group, memberId=name, epoch=1)
    one.fetch("an empty group", groupId="", epoch=0, maxWaitMs=100)


@scenario("share fetch/partitions v{version}", versions="ShareFetch")
def partitions(story: Story, version: int) -> None:
    one = member(story, version, partitions=2, counts=(1,))
    one.fetch("an unknown topic", topic_id=NO_TOPIC, epoch=0)
    one.fetch("an unknown partition", indexes=[9], epoch=0)
    one.fetch("a negative partition", indexes=[-1], epoch=0)
    one.fetch("not the leader", to=one.topic.other(), epoch=0, waits_ms=400)
    one.fetch("two leaders", indexes=[0, 1], epoch=0)
    one.fetch("in the session, two leaders", indexes=[], epoch=1, maxWaitMs=100)
    one.fetch("an unknown topic in the session", topic_id=NO_TOPIC, epoch=2, maxWaitMs=100)
    one.acknowledge("an unknown topic", (0, 0, [ACCEPT]), topic_id=NO_TOPIC, epoch=3)
    one.acknowledge("an unknown partition", (0, 0, [ACCEPT]), index=9, epoch=4)
    one.acknowledge("a partition that is led elsewhere", (0, 0, [ACCEPT]), index=1, epoch=5)
    one.fetch(
        "with an acknowledgement to an unknown topic", (0, 0, [ACCEPT]), topic_id=NO_TOPIC, epoch=6, maxWaitMs=100
    )
    one.fetch("with one to an unknown partition", (0, 0, [ACCEPT]), indexes=[9], epoch=7, maxWaitMs=100)
    other = Member(story, one.topic, "two", "nobody began", version)
    other.fetch("a share partition that nobody began", maxWaitMs=300, waits_ms=200)
    other.acknowledge("a share partition that nobody began", (0, 0, [ACCEPT]))


@scenario("share fetch/acknowledgements that make no sense v{version}", versions="ShareFetch")
def senseless(story: Story, version: int) -> None:
    one = member(story, version, counts=(5,))
    one.fetch(None)
    for step, acknowledged in (
        ("the last before the first", [(1, 0, [ACCEPT])]),
        ("no types", [(0, 1, [])]),
        ("too many types", [(0, 1, [ACCEPT] * 3)]),
        ("too few types", [(0, 3, [ACCEPT] * 2)]),
        ("an unknown type", [(0, 1, [5])]),
        ("a negative type", [(0, 1, [-1])]),
        ("a renewal that is not told", [(0, 1, [RENEW])]),
        ("out of order", [(2, 3, [ACCEPT]), (0, 1, [ACCEPT])]),
        ("overlapping", [(0, 2, [ACCEPT]), (1, 3, [ACCEPT])]),
        ("past the end", [(3, 9, [ACCEPT])]),
        ("wholly past the end", [(8, 9, [ACCEPT])]),
        ("negative offsets", [(-3, -1, [ACCEPT])]),
        ("the second past the end", [(0, 1, [ACCEPT]), (3, 9, [ACCEPT])]),
    ):
        one.acknowledge(step, *acknowledged)
        one.fetch(f"beside, {step}", *acknowledged, maxWaitMs=50)
    one.acknowledge("nothing at all")
    one.fetch("nothing at all beside", maxWaitMs=50)
    one.acknowledge("touching", (0, 1, [ACCEPT]), (1, 2, [ACCEPT]))
    one.acknowledge("all of it", (0, 4, [ACCEPT]))


@scenario("share fetch/limits v{version}", versions="ShareFetch")
def limits(story: Story, version: int) -> None:
    one = member(story, version, counts=(5, 5, 5))
    one.fetch("no records", maxRecords=0, waits_ms=400)
    one.fetch("no bytes", maxBytes=0, waits_ms=400)
    one.fetch("whole batches", maxRecords=2)
    one.fetch("two batches", maxRecords=7)
    one.fetch("to the next end", maxRecords=1, maxWaitMs=100)
    one.acknowledge("all back", (0, 14, [RELEASE]))
    one.fetch("small batches", batchSize=3)
    one.acknowledge("all back again", (0, 14, [RELEASE]))
    one.fetch("few bytes", maxBytes=1)
    one.fetch("a negative number of records", maxRecords=-1, maxWaitMs=50)


@scenario("share fetch/record limit")
def record_limit(story: Story) -> None:
    one = member(story, counts=(5, 5))
    two = Member(story, one.topic, "two")
    one.fetch("two", maxRecords=2, shareAcquireMode=1)
    two.fetch("the next four", maxRecords=4, shareAcquireMode=1)
    one.fetch("the rest", maxRecords=50, shareAcquireMode=1)
    one.acknowledge("one of each", (0, 1, [ACCEPT, RELEASE]))
    two.acknowledge("all back", (2, 5, [RELEASE]))
    two.fetch("three of those", maxRecords=3, shareAcquireMode=1)
    two.fetch("in whole batches", maxRecords=1)
    one.fetch("an unknown mode", shareAcquireMode=7)


@scenario("share fetch/deliveries v{version}", versions="ShareFetch")
def deliveries(story: Story, version: int) -> None:
    one = member(story, version, counts=(4,))
    for delivery in range(1, 8):
        answer = one.fetch(f"delivery {delivery}", maxWaitMs=100)
        for topic in answer.get("responses", []):
            for partition in topic["partitions"]:
                for acquired in partition["acquiredRecords"]:
                    offsets = (acquired["firstOffset"], acquired["lastOffset"], [RELEASE])
                    one.acknowledge(f"released, delivery {delivery}, from {offsets[0]}", offsets)
    filled(story, one.topic, 1)
    one.fetch("a new record")


@scenario("share fetch/locks")
def locks(story: Story) -> None:
    one = member(story, counts=(3,))
    two = Member(story, one.topic, "two")
    one.fetch("acquired")
    two.fetch(None, maxWaitMs=1)
    two.fetch("until the lock is over", maxWaitMs=3 * LOCK_MS, waits_ms=LOCK_MS // 2)
    one.acknowledge("too late", (0, 2, [ACCEPT]))
    two.acknowledge("in time", (0, 0, [ACCEPT]))
    story.wait(LOCK_MS // 2)
    two.acknowledge("renewed", (1, 2, [RENEW]), isRenewAck=True)
    story.wait(3 * LOCK_MS // 4)
    two.acknowledge("still its own", (1, 1, [ACCEPT]))
    for name in ("maxBytes", "minBytes", "maxRecords", "maxWaitMs"):
        zeros = {"maxBytes": 0, "minBytes": 0, "maxRecords": 0, "maxWaitMs": 0}
        two.fetch(f"a renewal with {name}", (2, 2, [RENEW]), isRenewAck=True, **{**zeros, name: 1})
    two.fetch("a renewal", (2, 2, [RENEW]), isRenewAck=True, maxBytes=0, minBytes=0, maxRecords=0, maxWaitMs=0)
    two.fetch(
        "a renewal of what it does not have",
        (0, 0, [RENEW]),
        isRenewAck=True,
        maxBytes=0,
        minBytes=0,
        maxRecords=0,
        maxWaitMs=0,
    )


@scenario("share fetch/records in flight")
def records_in_flight(story: Story) -> None:
    one = member(story, counts=(60, 60, 60))
    two = Member(story, one.topic, "two")
    short = {"maxWaitMs": 100}
    one.fetch("more than the limit, by a batch")
    two.fetch("no room", **short)
    one.acknowledge("the first", (0, 59, [ACCEPT]))
    two.fetch("room for another batch", **short)
    one.acknowledge("the middle back", (60, 119, [RELEASE]))
    two.fetch("what came back", **short)


@scenario("share fetch/transactions v{version}", versions="ShareFetch")
def transactions(story: Story, version: int) -> None:
    one = member(story, version, counts=(1,))
    story.wait(137)  # so that no marker's time is one that records were given
    group = {"resourceType": 32, "resourceName": one.group}
    committed = {
        **group,
        "configs": [{"name": "share.isolation.level", "configOperation": 0, "value": "read_committed"}],
    }
    story.quiet("IncrementalAlterConfigs", 1, {"resources": [committed]})
    story.settle()
    transactional_id = story.named("tx")
    right = story.coordinator(transactional_id, 1)

    def producer() -> tuple[int, int]:
        found = story.quiet(
            "InitProducerId",
            4,
            {
                "transactionalId": transactional_id,
                "transactionTimeoutMs": 60_000,
                "producerId": -1,
                "producerEpoch": -1,
            },
            to=right,
        )
        return found["producerId"], found["producerEpoch"]

    def write(commits: bool, *values: bytes) -> None:
        producer_id, epoch = story.until(lambda: (found := producer())[0] >= 0 and found)
        named = {"transactionalId": transactional_id, "producerId": producer_id, "producerEpoch": epoch}
        topics = [{"name": one.topic.name, "partitions": [0]}]
        added = {f"v3AndBelow{key[0].upper()}{key[1:]}": value for key, value in {**named, "topics": topics}.items()}
        story.until(
            lambda: (
                story.quiet("AddPartitionsToTxn", 3, added, to=right)["resultsByTopicV3AndBelow"][0][
                    "resultsByPartition"
                ][0]["partitionErrorCode"]
                == 0
            )
        )
        records = story.batch(
            *values, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True
        )
        partition = {"index": 0, "records": records}
        body = {
            "transactionalId": transactional_id,
            "acks": -1,
            "timeoutMs": 5000,
            "topicData": [{"name": one.topic.name, "partitionData": [partition]}],
        }
        assert (
            story.quiet("Produce", 9, body, to=one.topic.leader())["responses"][0]["partitionResponses"][0]["errorCode"]
            == 0
        )
        story.until(lambda: story.quiet("EndTxn", 3, {**named, "committed": commits}, to=right)["errorCode"] == 0)
        story.wait(300)

    write(False, b"aborted", b"aborted too")
    write(True, b"committed")
    one.fetch("aborted records are archived")
    one.acknowledge("what is left", (0, 0, [ACCEPT]), (3, 6, [ACCEPT, ACCEPT, ACCEPT, ACCEPT]))
    one.fetch("nothing else", maxWaitMs=100)


@scenario("share fetch/another leader")
def another_leader(story: Story) -> None:
    one = member(story, counts=(2, 2))
    one.fetch(None, batchSize=1)
    one.acknowledge(None, (0, 1, [ACCEPT]))
    moved = {
        "timeoutMs": 10_000,
        "topics": [
            {"name": one.topic.name, "partitions": [{"partitionIndex": 0, "replicas": [1, 2]}]},
        ],
    }
    story.quiet("AlterPartitionReassignments", 0, moved)

    def leader() -> int:
        found = story.quiet("Metadata", 12, {"topics": [{"topicId": one.topic.id, "name": None}]}, to=1)
        return int(found["topics"][0]["partitions"][0]["leaderId"])

    story.until(lambda: leader() == 1)
    story.settle()
    one.fetch("at the old leader", maxWaitMs=100)
    one.acknowledge("at the old leader", (2, 3, [ACCEPT]))
    two = Member(story, one.topic, "two")
    two.fetch("at the new leader", to=1)
    two.acknowledge("at the new leader", (2, 3, [ACCEPT]), to=1)


@scenario("share fetch/deleted topic")
def deleted_topic(story: Story) -> None:
    one = member(story, counts=(2,))
    one.fetch(None)
    story.delete_topic(one.topic.name)
    one.acknowledge("to a deleted topic", (0, 1, [ACCEPT]))
    one.fetch("of a deleted topic, in its session", indexes=[], maxWaitMs=100)
    one.fetch("of a deleted topic, anew", epoch=0, maxWaitMs=100)


@scenario("share fetch/records deleted")
def records_deleted(story: Story) -> None:
    one = member(story, counts=(2, 2, 2))
    one.fetch(None, batchSize=1)
    one.acknowledge(None, (0, 1, [RELEASE]), (4, 5, [RELEASE]))
    gone = {
        "topics": [{"name": one.topic.name, "partitions": [{"partitionIndex": 0, "offset": 3}]}],
        "timeoutMs": 5000,
    }
    story.quiet("DeleteRecords", 2, gone, to=one.topic.leader())
    one.fetch("the start has moved", maxWaitMs=100)
    one.fetch("what is left", maxWaitMs=100)
    one.acknowledge("before the start", (0, 1, [ACCEPT]))
    one.acknowledge("over the start", (2, 3, [ACCEPT]))
    one.acknowledge("the rest", (4, 5, [ACCEPT]))


@scenario("share fetch/offset reset")
def offset_reset(story: Story) -> None:
    for strategy in ("latest", "earliest", "by_duration:PT1H"):
        short = strategy.partition(":")[0]
        topic = story.topic(f"t-{short}")
        one = Member(story, topic, group=f"g-{short}")
        configs = [{"name": "share.auto.offset.reset", "configOperation": 0, "value": strategy}]
        resource = {"resourceType": 32, "resourceName": one.group, "configs": configs}
        story.quiet("IncrementalAlterConfigs", 1, {"resources": [resource]})
        story.settle()
        filled(story, topic, 2)
        begun(story, one.group, topic, start=-1)
        one.fetch(f"{short}, first", maxWaitMs=100)
        filled(story, topic, 1)
        one.fetch(f"{short}, then", maxWaitMs=300)
