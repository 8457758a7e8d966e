"""From the classic protocol to the consumer protocol and back: empty groups, and groups with members of both."""

from __future__ import annotations

from typing import Any

from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import write_versioned
from tests.answers.scenarios import scenario
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.story import Story, Topic, mine


def subscription(*topics: str, owned: tuple[Topic, list[int]] | None = None, rack: str | None = None) -> bytes:
    """What a consumer of the classic protocol says to its assignor."""
    has = []
    if owned is not None:
        has = [ConsumerProtocolSubscription.TopicPartition(topic=owned[0].name, partitions=owned[1])]
    return write_versioned(ConsumerProtocolSubscription(topics=list(topics), owned_partitions=has, rack_id=rack), 3)


def assignment(topic: Topic, *partitions: int, user_data: bytes | None = None) -> bytes:
    given = [ConsumerProtocolAssignment.TopicPartition(topic=topic.name, partitions=list(partitions))]
    return write_versioned(ConsumerProtocolAssignment(assigned_partitions=given, user_data=user_data), 1)


class Classic:
    """Members of the classic protocol in a scenario's group."""

    def __init__(self, story: Story, group: Group) -> None:
        self.story, self.group = story, group

    def join(self, step: str | None, member: str, metadata: bytes, version: int = 7, **fields: Any) -> Any:
        wanted = {
            "groupId": self.group.id,
            "sessionTimeoutMs": 10_000,
            "rebalanceTimeoutMs": 20_000,
            "memberId": member,
            "groupInstanceId": None,
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": metadata}],
            **fields,
        }
        return self.story.ask(step, "JoinGroup", version, wanted, to=self.group.to)

    def join_new(self, step: str | None, metadata: bytes, **fields: Any) -> str:
        """Join as one that has no id yet; gives the id."""
        given = self.join(None if step is None else f"{step}, first", "", metadata, **fields)
        if given["errorCode"] == 79:
            given = self.join(step, given["memberId"], metadata, **fields)
        member: str = given["memberId"]
        return member

    def sync(self, step: str | None, member: str, generation: int, given: bytes | None = None, **fields: Any) -> Any:
        assignments = [] if given is None else [{"memberId": member, "assignment": given}]
        wanted = {
            "groupId": self.group.id,
            "generationId": generation,
            "memberId": member,
            "groupInstanceId": None,
            "protocolType": "consumer",
            "protocolName": "range",
            "assignments": assignments,
            **fields,
        }
        return self.story.ask(step, "SyncGroup", 5, wanted, to=self.group.to)

    def beat(self, step: str, member: str, generation: int, instance: str | None = None) -> None:
        wanted = {"groupId": self.group.id, "generationId": generation, "memberId": member}
        self.story.ask(step, "Heartbeat", 4, {**wanted, "groupInstanceId": instance}, to=self.group.to)

    def leave(self, step: str, *members: tuple[str, str | None]) -> None:
        listed = [{"memberId": member, "groupInstanceId": instance} for member, instance in members]
        self.story.ask(step, "LeaveGroup", 4, {"groupId": self.group.id, "members": listed}, to=self.group.to)

    def list(self, step: str) -> None:
        self.story.ask(step, "ListGroups", 5, {}, to=self.group.to, only=mine(self.story, "groups"))

    def describe(self, step: str) -> None:
        self.story.ask(step, "DescribeGroups", 5, {"groups": [self.group.id]}, to=self.group.to)

    def alone(self, topic: Topic, user_data: bytes | None = None) -> str:
        """One member with both partitions of a topic, in generation 1; unkept."""
        member = self.join_new(None, subscription(topic.name, rack="a"))
        self.sync(None, member, 1, assignment(topic, 0, 1, user_data=user_data))
        return member


@scenario("group migration/empty consumer group to classic")
def to_classic(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    group.join(None, "m1", topic.name)
    group.beat(None, "m1", -1)
    classic.list("empty")
    classic.join("with an id of nobody", "who", subscription(topic.name))
    classic.list("after that")
    member = classic.join_new("joins", subscription(topic.name))
    classic.list("while it joins")
    classic.sync("alone", member, 1, assignment(topic, 0, 1))
    classic.list("stable")
    group.describe("classic now")
    group.beat("a member of before", "m1", 2)


@scenario("group migration/empty classic group to consumer")
def to_consumer(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    partition = {"partitionIndex": 0, "committedOffset": 7, "committedMetadata": ""}
    topics = [{"name": topic.name, "partitions": [partition]}]
    wanted = {"groupId": group.id, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
    story.quiet("OffsetCommit", 7, wanted, to=group.to)
    classic.list("offsets alone")
    group.beat("not joining", "m1", 3)
    group.beat("leaving", "m1", -1)
    group.join("joins", "m1", topic.name)
    classic.list("a consumer group")
    topics = [{"name": topic.name, "partitionIndexes": [0]}]
    wanted = {"groups": [{"groupId": group.id, "memberId": "m1", "memberEpoch": 2, "topics": topics}]}
    story.ask("the offsets are there", "OffsetFetch", 9, wanted, to=group.to)
    group.beat("leaves", "m1", -1)
    other = Group(story, "h")
    member = Classic(story, other).alone(topic)
    Classic(story, other).leave("alone", (member, None))
    other.join("joins a group that was stable", "m2", topic.name)
    other.describe("that group")


@scenario("group migration/upgrade and downgrade")
def online(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    old = classic.alone(topic)
    classic.list("classic")
    group.beat("not joining", "m1", 3)
    group.join("joins the classic group", "m1", topic.name)
    classic.list("upgraded")
    group.describe("upgraded")
    classic.describe("as a classic group")
    classic.beat("the classic member is told", old, 1)
    classic.beat("a generation ahead", old, 2)
    classic.beat("unknown member", "who", 1)
    classic.beat("an instance that is not there", old, 1, "i")
    classic.beat("the other protocol's member", "m1", 2)
    group.beat("m1 waits", "m1", 2)
    classic.sync("before it joined", old, 1)
    classic.join("with both", old, subscription(topic.name, owned=(topic, [0, 1])))
    classic.sync("one generation on", old, 2)
    classic.beat("it has to give", old, 1)
    classic.sync("in the old generation", old, 1)
    classic.join("with one", old, subscription(topic.name, owned=(topic, [0])))
    group.describe("it has given")
    classic.sync("another type", old, 2, protocolType="connect")
    classic.sync("another protocol", old, 2, protocolName="roundrobin")
    classic.sync("no protocol", old, 2, protocolType=None, protocolName=None)
    classic.sync("the other protocol's member", "m1", 2)
    classic.sync("gets its part", old, 2)
    classic.beat("in the new generation", old, 2)
    group.beat("m1 gets the other", "m1", 2)
    group.describe("both protocols")
    second = classic.join_new("another classic member", subscription(topic.name))
    group.describe("three members")
    classic.join("of another protocol type", "", subscription(topic.name), protocolType="connect")
    classic.join("without protocols", "", b"", protocols=[])
    classic.join("of other protocols", "", b"", protocols=[{"name": "sticky", "metadata": subscription(topic.name)}])
    classic.join("with metadata of nothing", second, b"")
    classic.leave("it and one that is not there", (second, None), ("who", None), ("", "i"))
    group.describe("without it")
    group.beat("m1 leaves", "m1", -1)
    classic.list("downgraded")
    group.describe("downgraded")
    classic.beat("told to join", old, 2)


@scenario("group migration/downgrade by time-out")
def downgrade_by_timeout(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    old = classic.alone(topic)
    group.join("joins", "m1", topic.name)
    classic.beat("told", old, 1)
    story.wait(6000)
    classic.list("m1 is gone")
    classic.beat("told to join the classic group", old, 2)


@scenario("group migration/static members")
def static(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    given = classic.join("a static classic member", "", subscription(topic.name), groupInstanceId="one")
    old = given["memberId"]
    classic.sync("a static classic member", old, 1, assignment(topic, 0, 1), groupInstanceId="one")
    group.join("it upgrades", "m1", topic.name, instanceId="one")
    group.describe("upgraded")
    classic.beat("under its old id", old, 1, "one")
    classic.list("upgraded")
    group.join("another", "m2", topic.name, instanceId="two")
    group.owns("gives", "m1", 2, (topic, [0]), instanceId="one")
    group.beat("gets", "m2", 3, instanceId="two")
    group.describe("two")
    given = classic.join("the first goes back", "", subscription(topic.name), groupInstanceId="one")
    group.describe("one of each")
    classic.sync("the first", given["memberId"], given["generationId"], groupInstanceId="one")
    given = classic.join("the second goes back", "", subscription(topic.name), groupInstanceId="two")
    classic.list("downgraded")
    classic.describe("downgraded")


@scenario("group migration/refused")
def refused(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    wanted = {"protocolType": "connect", "protocols": [{"name": "range", "metadata": b"x"}]}
    member = classic.join_new("of Connect", b"x", **wanted)
    classic.sync("of Connect", member, 1, b"y", protocolType="connect")
    group.join("joins", "m1", topic.name)
    classic.list("as before")
    other = Group(story, "h")
    Classic(story, other).alone(topic, user_data=b"mine")
    other.join("joins one with user data", "m1", topic.name)
    third = Group(story, "i")
    odd = Classic(story, third)
    member = odd.join_new("metadata of nothing", b"\0")
    odd.sync("metadata of nothing", member, 1, b"")
    third.join("joins one that cannot be read", "m1", topic.name)
