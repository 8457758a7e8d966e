"""Coordinators while fewer replicas of their partitions are in sync than ``min.insync.replicas``: two of three brokers
are down. What is refused, and what goes on once one of them is back.
"""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.classic_groups import commit, joined
from tests.answers.story import Fields, Story, Topic
from tests.answers.transactional import Producer, fetch_offsets

TIMEOUT_MS = 1000
SETTINGS = {
    "min.insync.replicas": "2",
    "offsets.commit.timeout.ms": str(TIMEOUT_MS),
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.min.isr": "2",
}
INTERNAL_TOPICS = ("__consumer_offsets", "__transaction_state")
LEFT = 0
"""The broker that stays."""


def alone(story: Story) -> None:
    """Stop two brokers, once they have what the third has, and wait until that one leads everything."""
    story.settle()
    story.wait(2000)  # followers hear of the last high watermark when they ask next
    for broker in (2, 1):
        story.driver.stop_broker(broker)

    def leads_all() -> bool:
        wanted = {"topics": [{"name": one} for one in INTERNAL_TOPICS]}
        answer = story.quiet("Metadata", 12, wanted | {"allowAutoTopicCreation": False}, to=LEFT)
        partitions = [one for topic in answer["topics"] for one in topic["partitions"]]
        return all((one["leaderId"], one["isrNodes"]) == (LEFT, [LEFT]) for one in partitions)

    story.until(leads_all, "one broker that leads all")


def back(story: Story) -> None:
    """Start one of them, and wait until it is in sync."""
    story.driver.start_broker(1)

    def in_sync() -> bool:
        wanted = {"topics": [{"name": one} for one in INTERNAL_TOPICS]}
        answer = story.quiet("Metadata", 12, wanted | {"allowAutoTopicCreation": False}, to=LEFT)
        return all(len(one["isrNodes"]) == 2 for topic in answer["topics"] for one in topic["partitions"])

    story.until(in_sync, "two in sync")
    story.wait(1500)


def committed(topic: Topic, group: str, offset: int, member: str = "", generation: int = -1) -> Fields:
    partition = {"partitionIndex": 0, "committedOffset": offset, "committedMetadata": ""}
    return {
        "groupId": group,
        "generationIdOrMemberEpoch": generation,
        "memberId": member,
        "groupInstanceId": None,
        "topics": [{"name": topic.name, "topicId": topic.id, "partitions": [partition]}],
    }


class Classic:
    """Classic groups."""

    def __init__(self, story: Story, topic: Topic) -> None:
        self.story, self.topic = story, topic
        self.simple, self.other, self.new = (story.named(one) for one in ("simple", "other", "n"))
        commit(story, self.simple, topic, offset=5)
        commit(story, self.other, topic, offset=5)
        self.group = story.named("classic")
        self.member = joined(story, self.group)

    def ask(self, step: str, api: str, version: int, wanted: Fields, **more: Any) -> Fields:
        return self.story.ask(step, api, version, wanted, to=LEFT, waits_ms=TIMEOUT_MS, **more)

    def offset(self, step: str, group: str, *, stable: bool = False) -> None:
        wanted = {
            "groupId": group,
            "topics": [{"name": self.topic.name, "partitionIndexes": [0]}],
            "requireStable": stable,
        }
        self.ask(step, "OffsetFetch", 7, wanted)

    def described(self, step: str, *groups: str) -> None:
        self.ask(step, "DescribeGroups", 5, {"groups": list(groups)})

    def heartbeat(self, step: str, group: str, member: str) -> None:
        wanted = {"groupId": group, "generationId": 1, "memberId": member, "groupInstanceId": None}
        self.ask(step, "Heartbeat", 3, wanted)

    def down(self) -> None:
        topic = self.topic
        self.heartbeat("before a write", self.group, self.member)
        self.offset("before a write", self.simple)
        self.offset("before a write, stable", self.simple, stable=True)
        for version in (2, 7, 9, 10):
            self.ask("a commit", "OffsetCommit", version, committed(topic, self.simple, 6 + version))
        self.offset("after a commit", self.simple)
        self.described("after a commit", self.simple)
        self.ask("an offset deleted", "OffsetDelete", 0, self.deleted(self.simple))
        self.ask("a group that is gone", "DeleteGroups", 2, {"groupsNames": [self.other]})
        self.offset("of a group that is gone", self.other)
        self.ask("of a new group", "OffsetCommit", 8, committed(topic, self.new, 3))
        self.described("of a new group", self.new)
        self.ask("a member's", "OffsetCommit", 8, committed(topic, self.group, 9, self.member, 1))

    def deleted(self, group: str) -> Fields:
        return {"groupId": group, "topics": [{"name": self.topic.name, "partitions": [{"partitionIndex": 0}]}]}

    def back(self) -> None:
        self.heartbeat("back", self.group, self.member)
        self.ask("back", "OffsetCommit", 8, committed(self.topic, self.simple, 20))
        self.offset("back, once more", self.simple)


class Transactional:
    """Transactional ids."""

    def __init__(self, story: Story, topic: Topic) -> None:
        self.story, self.topic = story, topic
        self.group = story.named("txg")
        commit(story, self.group, topic, offset=5)
        self.idle = Producer.of(story, "idle").begun()
        self.open, self.newer, self.offsets = (Producer.of(story, one).begun() for one in ("open", "newer", "offsets"))
        for producer in (self.open, self.newer, self.offsets):
            producer.add(None, topic.name, 0)
            producer.add_offsets(None, self.group)
        self.fresh = Producer.of(story, "fresh")

    def where(self) -> None:
        for producer in (self.idle, self.open, self.newer, self.offsets, self.fresh):
            assert self.story.coordinator(producer.name, 1) == LEFT
            producer.at = LEFT
        self.story.producer_id(LEFT)

    def down(self) -> None:
        topic = self.topic
        for version in (0, 4, 5):
            self.fresh.init("a new id", version)
        self.fresh.described("a new id")
        self.idle.init("again", 4)
        self.idle.add("begins", topic.name, 0)
        self.idle.add("begins", topic.name, 0, version=4)
        self.idle.add_offsets("begins", self.group)
        self.idle.described("after it could not begin")
        self.open.add("in it already", topic.name, 0)
        self.open.add("another partition", topic.name, 1)
        self.open.described("after another partition")
        self.open.end("commits", 3)
        self.open.described("after it could not commit")
        self.newer.end("aborts", 5, commit=False)
        self.newer.init("anew, while open", 4)
        self.newer.described("after it could not abort")
        self.offsets.commit_offset("offsets", self.group, topic, 0, 8, 3, to=LEFT)
        fetch_offsets(self.story, "meanwhile", self.group, topic, 0)

    def back(self) -> None:
        for name, producer in {"idle": self.idle, "open": self.open, "newer": self.newer}.items():
            producer.described(f"back: {name}")
        self.open.end("back: open", 3)
        self.newer.end("back: newer", 5)
        self.offsets.end("back: offsets", 3)
        self.fresh.init("back", 4)


@scenario("min isr")
def too_few_in_sync(story: Story) -> None:
    topic = story.topic("t", assignments=[[0, 1, 2], [0, 1, 2]])
    classic, transactional = Classic(story, topic), Transactional(story, topic)
    alone(story)
    for group in (classic.simple, classic.group, transactional.group):
        assert story.coordinator(group) == LEFT
    transactional.where()
    classic.down()
    transactional.down()
    back(story)
    classic.back()
    transactional.back()
