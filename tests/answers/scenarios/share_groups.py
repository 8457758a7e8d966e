"""Share groups: ShareGroupHeartbeat, ShareGroupDescribe, their offsets, and what older APIs say of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.share_fetch import ACCEPT, Member, filled
from tests.answers.story import Story, Topic, mine

SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
    "group.share.min.session.timeout.ms": "1000",
    "group.share.session.timeout.ms": "60000",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.max.size": "3",
}
NO_GROUP = "there is no such group"


class Joined:
    """A member of a share group, as it heartbeats."""

    def __init__(self, story: Story, topics: Iterable[str], name: str = "one", group: str = "g") -> None:
        self.story, self.topics, self.name = story, list(topics), name
        self.group = story.named(group)
        self.right = story.coordinator(self.group)
        self.epoch = 0

    def beat(self, step: str | None, *, to: int | None = None, **fields: Any) -> dict[str, Any]:
        body = {
            "groupId": self.group,
            "memberId": self.name,
            "memberEpoch": self.epoch,
            "rackId": None,
            "subscribedTopicNames": self.topics if self.epoch == 0 else None,
            **fields,
        }
        answer = self.story.ask(step, "ShareGroupHeartbeat", 1, body, to=self.right if to is None else to)
        if answer.get("errorCode") == 0 and "memberEpoch" not in fields:
            self.epoch = answer["memberEpoch"]
        return answer

    def assigned(self, count: int) -> None:
        """Heartbeat, unkept, until the member has so many partitions."""

        def has() -> bool:
            answer = self.beat(None, subscribedTopicNames=self.topics)
            found = answer["assignment"]["topicPartitions"] if answer["errorCode"] == 0 else []
            return sum(len(one["partitions"]) for one in found) == count

        self.story.until(has, f"{count} partitions")

    def describe(self, step: str, *groups: str, **fields: Any) -> dict[str, Any]:
        body = {"groupIds": list(groups) or [self.group], "includeAuthorizedOperations": False, **fields}
        return self.story.ask(step, "ShareGroupDescribe", 1, body, to=self.right)


@scenario("share groups/join and leave")
def join_and_leave(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, [topic.name])
    one.describe("before")
    one.beat("joins")
    one.assigned(2)
    one.describe("with a member")
    one.describe("with what one may do", includeAuthorizedOperations=True)
    one.beat("stays")
    one.beat("says again what it reads", subscribedTopicNames=[topic.name])
    one.beat("in another rack", rackId="b")
    one.describe("in another rack")
    two = Joined(story, [topic.name], "two")
    two.beat("another joins")
    one.beat("after another has joined")
    two.beat("stays, the second")
    one.describe("with two")
    two.beat("leaves", memberEpoch=-1)
    one.beat("after another has left")
    one.describe("with one again")
    one.beat("joins again without leaving", memberEpoch=0, subscribedTopicNames=[topic.name])
    one.beat("leaves as the last", memberEpoch=-1)
    one.describe("empty")
    one.beat("after leaving", memberEpoch=1)
    one.beat("leaves twice", memberEpoch=-1)


@scenario("share groups/heartbeats that are refused")
def refused(story: Story) -> None:
    topic = story.topic("t")
    story.settle()
    one = Joined(story, [topic.name])
    for step, fields in {
        "no group": {"groupId": ""},
        "no member": {"memberId": ""},
        "a long member": {"memberId": "m" * 37},
        "an empty rack": {"rackId": ""},
        "no topics named": {"subscribedTopicNames": None},
        "no topics": {"subscribedTopicNames": []},
        "a blank member": {"memberId": " "},
        "a blank group": {"groupId": " "},
        "an epoch below leaving": {"memberEpoch": -2},
        "a group that is not there": {"memberEpoch": 1},
        "leaving a group that is not there": {"memberEpoch": -1},
    }.items():
        one.beat(step, **fields)
    one.beat("not the coordinator", to=(one.right + 1) % 3)
    one.beat("a topic that is not there", subscribedTopicNames=["share-groups-no-topic"])
    one.beat("an epoch ahead", memberEpoch=9)
    one.beat("a member that is not there", memberId="two", memberEpoch=1)
    one.beat("a member that is not there leaves", memberId="two", memberEpoch=-1)
    one.beat("topics as they were", subscribedTopicNames=[topic.name])
    one.beat("an epoch behind", memberEpoch=1)
    one.beat("no topics any more", subscribedTopicNames=[])
    for name in ("two", "three"):
        Joined(story, [topic.name], name).beat(None)
    Joined(story, [topic.name], "four").beat("one too many")
    one.describe("none", "")
    one.describe("unknown, where it would be", story.named("g"), story.named("g"))
    wrong = {"groupIds": [one.group], "includeAuthorizedOperations": False}
    story.ask("not the coordinator", "ShareGroupDescribe", 1, wrong, to=(one.right + 1) % 3)


@scenario("share groups/topics")
def topics(story: Story) -> None:
    first, second = story.topic("a", partitions=2), story.topic("b", partitions=1)
    story.settle()
    one = Joined(story, [first.name])
    one.beat("the first topic")
    one.assigned(2)
    one.topics = [first.name, second.name]
    one.beat("both", subscribedTopicNames=one.topics)
    one.assigned(3)
    one.describe("both")
    one.topics = [second.name]
    one.beat("the second alone", subscribedTopicNames=one.topics)
    one.assigned(1)
    one.describe("the second alone")
    story.delete_topic(second.name)
    story.settle()
    story.until(
        lambda: (
            sum(
                len(x["partitions"])
                for x in one.beat(None, subscribedTopicNames=one.topics)["assignment"]["topicPartitions"]
            )
            == 0
        )
    )
    one.describe("of a topic that was deleted")


@scenario("share groups/session")
def session(story: Story) -> None:
    topic = story.topic("t")
    story.settle()
    configs = [{"name": "share.session.timeout.ms", "configOperation": 0, "value": "3000"}]
    resource = {"resourceType": 32, "resourceName": story.named("g"), "configs": configs}
    story.quiet("IncrementalAlterConfigs", 1, {"resources": [resource]})
    story.settle()
    one = Joined(story, [topic.name])
    one.beat(None)
    one.assigned(1)
    story.wait(5000)
    one.beat("after its session")
    one.describe("after its session")


@scenario("share groups/what other APIs say")
def other_apis(story: Story) -> None:
    topic = story.topic("t")
    story.settle()
    one = Joined(story, [topic.name])
    one.beat(None)
    one.assigned(1)
    to = one.right
    offsets = [{"name": topic.name, "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}]
    for version in (2, 8, 9):
        commit = {"groupId": one.group, "topics": offsets}
        story.ask("of a share group", "OffsetCommit", version, commit, to=to)
    story.ask("of a share group", "DescribeGroups", 6, {"groups": [one.group]}, to=to)
    story.ask("of a share group", "DescribeGroups", 5, {"groups": [one.group]}, to=to)
    fetch = {"groups": [{"groupId": one.group, "topics": [{"name": topic.name, "partitionIndexes": [0]}]}]}
    story.ask("of a share group", "OffsetFetch", 8, fetch, to=to)
    story.ask("of a share group", "OffsetFetch", 9, fetch, to=to)
    story.ask(
        "of a share group",
        "OffsetDelete",
        0,
        {"groupId": one.group, "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0}]}]},
        to=to,
    )
    story.ask("of a share group", "Heartbeat", 4, {"groupId": one.group, "generationId": 1, "memberId": "one"}, to=to)
    story.ask("of a share group", "LeaveGroup", 4, {"groupId": one.group, "members": [{"memberId": "one"}]}, to=to)
    join = {
        "groupId": one.group,
        "sessionTimeoutMs": 10_000,
        "rebalanceTimeoutMs": 10_000,
        "memberId": "",
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": ""}],
    }
    story.ask("to a share group", "JoinGroup", 5, join, to=to)
    beat = {
        "groupId": one.group,
        "memberId": "consumer",
        "memberEpoch": 0,
        "rebalanceTimeoutMs": 10_000,
        "subscribedTopicNames": [topic.name],
        "topicPartitions": [],
    }
    story.ask("to a share group", "ConsumerGroupHeartbeat", 1, beat, to=to)
    story.ask("of a share group", "ConsumerGroupDescribe", 1, {"groupIds": [one.group]}, to=to)
    for types in (["share"], ["consumer"], ["Share"], []):
        name = f"of types {types}"
        story.ask(name, "ListGroups", 5, {"typesFilter": types}, to=to, only=mine(story, "groups"))
    for states in (["Stable"], ["Empty"], ["stable"]):
        name = f"in states {states}"
        story.ask(name, "ListGroups", 5, {"statesFilter": states}, to=to, only=mine(story, "groups"))
    story.ask("with members", "DeleteGroups", 2, {"groupsNames": [one.group]}, to=to)
    one.beat(None, memberEpoch=-1)
    story.ask("without members", "DeleteGroups", 2, {"groupsNames": [one.group]}, to=to)
    story.ask("that is gone", "DeleteGroups", 2, {"groupsNames": [one.group]}, to=to)
    one.describe("deleted")
    classic = story.named("classic")
    right = story.coordinator(classic)
    commit = {"groupId": classic, "topics": offsets}
    story.quiet("OffsetCommit", 8, commit, to=right)
    wanted = {"groupIds": [classic]}
    story.ask("of a classic group", "ShareGroupDescribe", 1, wanted, to=right)
    beat = {"groupId": classic, "memberId": "one", "memberEpoch": 0, "subscribedTopicNames": [topic.name]}
    story.ask("to a classic group", "ShareGroupHeartbeat", 1, beat, to=right)


def describe_offsets(story: Story, step: str, version: int, group: str, to: int, topics: Any = None) -> None:
    body = {"groups": [{"groupId": group, "topics": topics}]}
    story.ask(step, "DescribeShareGroupOffsets", version, body, to=to)


def of(topic: Topic | str, *indexes: int) -> dict[str, Any]:
    return {"topicName": topic if isinstance(topic, str) else topic.name, "partitions": list(indexes)}


@scenario("share groups/offsets v{version}", versions="DescribeShareGroupOffsets")
def offsets(story: Story, version: int) -> None:
    topic, other = story.topic("t", partitions=2), story.topic("other")
    configs = [{"name": "share.auto.offset.reset", "configOperation": 0, "value": "earliest"}]
    resource = {"resourceType": 32, "resourceName": story.named("g"), "configs": configs}
    story.quiet("IncrementalAlterConfigs", 1, {"resources": [resource]})
    story.settle()
    one = Joined(story, [topic.name])
    group, to = one.group, one.right
    describe_offsets(story, "of no group", version, group, to)
    describe_offsets(story, "of no group, by topic", version, group, to, [of(topic, 0, 1, 9), of("no-topic", 0)])
    one.beat(None)
    one.assigned(2)
    describe_offsets(story, "begun", version, group, to)
    filled(story, topic, 5)
    reader = Member(story, topic)
    reader.fetch(None)
    reader.acknowledge(None, (0, 1, [ACCEPT]), (3, 3, [ACCEPT]))
    describe_offsets(story, "read", version, group, to)
    describe_offsets(story, "by topic", version, group, to, [of(topic, 0), of(other, 0), of("no-topic", 0, 1)])
    describe_offsets(story, "no topics", version, group, to, [])
    describe_offsets(story, "a partition that is not there", version, group, to, [of(topic, 7)])
    describe_offsets(story, "not the coordinator", version, group, (to + 1) % 3)
    alter = {
        "groupId": group,
        "topics": [{"topicName": topic.name, "partitions": [{"partitionIndex": 0, "startOffset": 1}]}],
    }
    story.ask("with members", "AlterShareGroupOffsets", 0, alter, to=to)
    deleted = {"groupId": group, "topics": [{"topicName": topic.name}]}
    story.ask("with members", "DeleteShareGroupOffsets", 0, deleted, to=to)
    reader.fetch(None, epoch=-1, indexes=[])
    one.beat(None, memberEpoch=-1)
    story.ask("not the coordinator", "AlterShareGroupOffsets", 0, alter, to=(to + 1) % 3)
    story.ask("without members", "AlterShareGroupOffsets", 0, alter, to=to)
    describe_offsets(story, "altered", version, group, to)
    partitions = [{"partitionIndex": 0, "startOffset": 3}, {"partitionIndex": 8, "startOffset": 3}]
    topics = [
        {"topicName": topic.name, "partitions": partitions},
        {"topicName": "no-topic", "partitions": partitions},
        {"topicName": other.name, "partitions": [{"partitionIndex": 0, "startOffset": 0}]},
    ]
    story.ask("some unknown", "AlterShareGroupOffsets", 0, {"groupId": group, "topics": topics}, to=to)
    story.ask("no topics", "AlterShareGroupOffsets", 0, {"groupId": group, "topics": []}, to=to)
    story.ask("an empty group id", "AlterShareGroupOffsets", 0, {"groupId": "", "topics": topics}, to=to)
    describe_offsets(story, "altered, and another topic", version, group, to)
    story.ask("not the coordinator", "DeleteShareGroupOffsets", 0, deleted, to=(to + 1) % 3)
    story.ask("an empty group id", "DeleteShareGroupOffsets", 0, {**deleted, "groupId": ""}, to=to)
    story.ask(
        "no such group", "DeleteShareGroupOffsets", 0, {**deleted, "groupId": NO_GROUP}, to=story.coordinator(NO_GROUP)
    )
    some = {"groupId": group, "topics": [{"topicName": topic.name}, {"topicName": "no-topic"}]}
    story.ask("some unknown", "DeleteShareGroupOffsets", 0, some, to=to)
    story.ask("gone already", "DeleteShareGroupOffsets", 0, some, to=to)
    story.ask("no topics", "DeleteShareGroupOffsets", 0, {"groupId": group, "topics": []}, to=to)
    describe_offsets(story, "deleted", version, group, to)
    describe_offsets(story, "deleted, by topic", version, group, to, [of(topic, 0, 1)])


@scenario("share groups/offsets of a new group")
def new_group(story: Story) -> None:
    topic = story.topic("t")
    story.settle()
    group = story.named("g")
    to = story.coordinator(group)
    filled(story, topic, 4)
    unknown = {
        "groupId": group,
        "topics": [{"topicName": "no-topic", "partitions": [{"partitionIndex": 0, "startOffset": 1}]}],
    }
    story.ask("an unknown topic", "AlterShareGroupOffsets", 0, unknown, to=to)
    story.ask("not made by that", "ShareGroupDescribe", 1, {"groupIds": [group]}, to=to)
    body = {
        "groupId": group,
        "topics": [{"topicName": topic.name, "partitions": [{"partitionIndex": 0, "startOffset": 2}]}],
    }
    story.ask("a group is made", "AlterShareGroupOffsets", 0, body, to=to)
    story.ask("made by that", "ShareGroupDescribe", 1, {"groupIds": [group]}, to=to)
    describe_offsets(story, "of a new group", 1, group, to)
    one = Joined(story, [topic.name])
    one.beat("joins the new group")
    one.assigned(1)
    Member(story, topic).fetch("from the offset that was set")
    one.describe("after joining")
