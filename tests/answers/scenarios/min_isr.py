"""Coordinators while fewer replicas of their partitions are in sync than ``min.insync.replicas``: two of three brokers
are down. What is refused at once, what is not answered in time, what remains once one of them is back.
"""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario, share_groups, streams_groups
from tests.answers.scenarios.classic_groups import commit, join_request, joined
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.scenarios.share_state import asked, begun, request, share_coordinator, written
from tests.answers.scenarios.streams_groups import subtopology, topology
from tests.answers.story import Fields, Story, Topic
from tests.answers.transactional import Producer, fetch_offsets

TIMEOUT_MS = 1000
SETTINGS = {
    **share_groups.SETTINGS,
    **streams_groups.SETTINGS,
    "min.insync.replicas": "2",
    "offsets.commit.timeout.ms": str(TIMEOUT_MS),
    "offsets.topic.num.partitions": "50",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.num.partitions": "50",
    "share.coordinator.state.topic.min.isr": "2",
    "share.coordinator.write.timeout.ms": str(TIMEOUT_MS),
    "group.consumer.session.timeout.ms": "60000",
}
OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC = "__consumer_offsets", "__transaction_state", "__share_group_state"
LEFT = 0
"""The broker that stays."""


def alone(story: Story) -> None:
    """Stop two brokers, once they have what the third has, and wait until that one leads everything."""
    story.settle()
    story.wait(2000)  # followers hear of the last high watermark when they ask next
    for broker in (2, 1):
        story.driver.stop_broker(broker)

    def leads_all() -> bool:
        wanted = {"topics": [{"name": one} for one in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC)]}
        answer = story.quiet("Metadata", 12, wanted | {"allowAutoTopicCreation": False}, to=LEFT)
        partitions = [one for topic in answer["topics"] for one in topic["partitions"]]
        return all((one["leaderId"], one["isrNodes"]) == (LEFT, [LEFT]) for one in partitions)

    story.until(leads_all, "one broker that leads all")


def back(story: Story) -> None:
    """Start one of them, and wait until it is in sync."""
    story.driver.start_broker(1)

    def in_sync() -> bool:
        wanted = {"topics": [{"name": one} for one in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_TOPIC)]}
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
        self.simple, self.other, self.fresh, self.new = (story.named(one) for one in ("simple", "other", "fresh", "n"))
        commit(story, self.simple, topic, offset=5)
        commit(story, self.other, topic, offset=5)
        self.group, self.leaver, self.syncer, self.static = (
            story.named(one) for one in ("classic", "leaver", "syncer", "static")
        )
        self.member = joined(story, self.group)
        self.leaving = joined(story, self.leaver)
        self.replaced = joined(story, self.static, groupInstanceId="s")
        story.coordinator(self.syncer)

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
        story, topic = self.story, self.topic
        self.heartbeat("before a write", self.group, self.member)
        self.offset("before a write", self.simple)
        self.offset("before a write, stable", self.simple, stable=True)
        for version in (2, 7, 9, 10):
            self.ask("a commit", "OffsetCommit", version, committed(topic, self.simple, 6 + version))
        self.offset("after a commit", self.simple)
        self.offset("after a commit, stable", self.simple, stable=True)
        self.described("after a commit", self.simple)
        self.ask("an offset deleted", "OffsetDelete", 0, self.deleted(self.simple))
        self.ask("a group that is gone", "DeleteGroups", 2, {"groupsNames": [self.other]})
        self.offset("of a group that is gone", self.other)
        self.ask("of a new group", "OffsetCommit", 8, committed(topic, self.new, 3))
        self.described("of a new group", self.new)
        self.ask("a member's", "OffsetCommit", 8, committed(topic, self.group, 9, self.member, 1))
        self.heartbeat("behind a write", self.group, self.member)
        self.ask("a group that nobody knows", "JoinGroup", 3, join_request(self.fresh))
        self.described("a group that nobody knows", self.fresh)
        member = self.ask("an id", "JoinGroup", 5, join_request(self.syncer))["memberId"]
        self.described("an id was given", self.syncer)
        self.ask("with that id", "JoinGroup", 5, join_request(self.syncer, member))
        sync = {"groupId": self.syncer, "memberId": member, "groupInstanceId": None, "generationId": 1}
        sync["assignments"] = [{"memberId": member, "assignment": b"all"}]
        self.ask("the leader's", "SyncGroup", 3, sync)
        self.described("after the leader's", self.syncer)
        returning = join_request(self.static, groupInstanceId="s")
        story.names.know(self.replaced, "<replaced>")
        self.ask("a static member comes back", "JoinGroup", 5, returning)
        leave = {"groupId": self.leaver, "members": [{"memberId": self.leaving, "groupInstanceId": None}]}
        self.ask("the last member leaves", "LeaveGroup", 4, leave)
        self.described("after the last member has left", self.leaver)

    def deleted(self, group: str) -> Fields:
        return {"groupId": group, "topics": [{"name": self.topic.name, "partitions": [{"partitionIndex": 0}]}]}

    def back(self) -> None:
        for group in (self.simple, self.other, self.new, self.group):
            self.offset(f"back: {group}", group, stable=True)
        self.described("back", self.simple, self.new, self.group, self.fresh, self.leaver, self.static)
        self.heartbeat("back", self.group, self.member)
        self.ask("back", "OffsetCommit", 8, committed(self.topic, self.simple, 20))
        self.offset("back, once more", self.simple)


class Modern:
    """Groups whose coordinator assigns: consumer, share and Streams groups."""

    def __init__(self, story: Story, topic: Topic) -> None:
        self.story, self.topic = story, topic
        self.consumer = Group(story, "consumer")
        self.consumer.join(None, "m1", topic.name)
        self.consumer.owns(None, "m1", 2, (topic, [0, 1]))
        self.share = share_groups.Joined(story, [topic.name], group="share")
        self.share.beat(None)
        self.share.assigned(2)
        self.streams = streams_groups.Joined(story, topology(subtopology(0, topic.name)), group="streams")
        self.streams.beat(None)
        self.streams.owning(None)

    def where(self) -> None:
        """All are coordinated by the broker that is left."""
        for one in (self.consumer.id, self.share.group, self.streams.group):
            assert self.story.coordinator(one) == LEFT
        self.consumer.to = self.share.right = self.streams.right = LEFT

    def down(self) -> None:
        topic, consumer, share, streams = self.topic, self.consumer, self.share, self.streams
        consumer.beat("before a write", "m1", 2)
        consumer.join("another joins", "m2", topic.name)
        consumer.describe("another has joined")
        consumer.beat("behind a write", "m1", 2)
        consumer.join("of a new group", "m1", topic.name, groupId=self.story.named("c2"))
        share.beat("before a write")
        other = share_groups.Joined(self.story, [topic.name], "two", group="share")
        other.beat("another joins", to=LEFT)
        share.describe("another has joined")
        share.beat("behind a write")
        streams.owning("before a write")
        streams_groups.Joined(self.story, streams.topology, "two", group="streams").beat("another joins", to=LEFT)
        streams.describe("another has joined")
        streams.owning("behind a write")

    def back(self) -> None:
        self.consumer.describe("back")
        self.consumer.beat("back", "m1", 2)
        self.share.describe("back")
        self.share.beat("back")
        self.streams.describe("back")


class ShareStates:
    """What share coordinators keep."""

    def __init__(self, story: Story, topic: Topic) -> None:
        self.story, self.topic, self.group = story, topic, story.named("states")
        begun(story, self.group, topic, (0, 1))
        self.ask(None, "ReadShareGroupState", asked(leader_epoch=1))

    def ask(self, step: str | None, api: str, partition: Fields, version: int = 0) -> None:
        to = LEFT if step else share_coordinator(self.story, self.group, self.topic)
        wanted = request(self.group, self.topic.id, partition)
        self.story.ask(step, api, version, wanted, to=to, waits_ms=TIMEOUT_MS)

    def down(self) -> None:
        self.ask("before a write", "ReadShareGroupState", asked(leader_epoch=1))
        self.ask("before a write", "ReadShareGroupStateSummary", asked(leader_epoch=1))
        self.ask("too few in sync", "WriteShareGroupState", written((0, 3, 2, 1), leader_epoch=1))
        self.ask("behind a write", "ReadShareGroupState", asked(leader_epoch=1))
        self.ask("behind a write", "ReadShareGroupStateSummary", asked(leader_epoch=1))
        self.ask("an older leader", "WriteShareGroupState", written((0, 3, 2, 1), leader_epoch=0))
        self.ask("a new leader's", "ReadShareGroupState", asked(1, leader_epoch=1))
        initial = {"partition": 1, "stateEpoch": 1, "startOffset": 4}
        self.ask("begun anew", "InitializeShareGroupState", initial)
        self.ask("deleted", "DeleteShareGroupState", {"partition": 1})

    def back(self) -> None:
        self.ask("back", "ReadShareGroupState", asked(leader_epoch=1))
        self.ask("back: the other", "ReadShareGroupState", asked(1, leader_epoch=1))
        self.ask("back", "ReadShareGroupStateSummary", asked(leader_epoch=1))


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
        fetch_offsets(self.story, "back", self.group, self.topic, 0, stable=True)
        self.fresh.init("back", 4)


@scenario("min isr")
def too_few_in_sync(story: Story) -> None:
    topic = story.topic("t", assignments=[[0, 1, 2], [0, 1, 2]])
    classic, modern = Classic(story, topic), Modern(story, topic)
    states, transactional = ShareStates(story, topic), Transactional(story, topic)
    alone(story)
    for group in (classic.simple, classic.group, classic.syncer, classic.static, classic.leaver, transactional.group):
        assert story.coordinator(group) == LEFT
    modern.where()
    transactional.where()
    parts = (classic, modern, states, transactional)
    for one in parts:
        one.down()  # type: ignore[attr-defined]
    back(story)
    for one in parts:
        one.back()  # type: ignore[attr-defined]
