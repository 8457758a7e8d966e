"""Offsets of groups of the consumer protocol: by member epoch, by the epoch of a partition, in transactions."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.story import Story, Topic


class Offsets:
    """Commits and fetches of one group in one scenario."""

    def __init__(self, story: Story, group: Group, topic: Topic) -> None:
        self.story, self.group, self.topic = story, group, topic

    def commit(
        self,
        step: str,
        version: int,
        member: str,
        epoch: int,
        *indexes: int,
        instance: str | None = None,
        **partition: Any,
    ) -> None:
        wanted = {
            "groupId": self.group.id,
            "generationIdOrMemberEpoch": epoch,
            "memberId": member,
            "groupInstanceId": instance,
            "topics": [
                {
                    "name": self.topic.name,
                    "topicId": self.topic.id,
                    "partitions": [
                        {"partitionIndex": index, "committedOffset": 10 + index, "committedMetadata": "m", **partition}
                        for index in indexes or (0,)
                    ],
                }
            ],
        }
        self.story.ask(step, "OffsetCommit", version, wanted, to=self.group.to)

    def fetch(self, step: str, version: int, member: str | None, epoch: int, *, everything: bool = False) -> None:
        topics = [{"name": self.topic.name, "topicId": self.topic.id, "partitionIndexes": [0, 1]}]
        one: dict[str, Any] = {"groupId": self.group.id, "memberId": member, "memberEpoch": epoch}
        one["topics"] = None if everything else topics
        self.story.ask(step, "OffsetFetch", version, {"groups": [one], "requireStable": True}, to=self.group.to)


def one_member(story: Story) -> tuple[Group, Topic]:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join(None, "m1", topic.name)
    return group, topic


@scenario("assigned group commit v{version}", versions="OffsetCommit")
def commit(story: Story, version: int) -> None:
    group, topic = one_member(story)
    offsets = Offsets(story, group, topic)
    offsets.commit("right", version, "m1", 2)
    offsets.commit("an epoch behind", version, "m1", 1)
    offsets.commit("an epoch ahead", version, "m1", 3)
    offsets.commit("unknown member", version, "who", 2)
    offsets.commit("no member", version, "", 2)
    offsets.commit("no member, no epoch", version, "", -1)
    offsets.commit("no epoch", version, "m1", -1)
    offsets.commit("an instance that is not there", version, "m1", 2, instance="i")
    offsets.commit("both", version, "m1", 2, 0, 1)
    offsets.commit("too much metadata", version, "m1", 2, 0, 1, committedMetadata="x" * 5000)
    offsets.commit("too much metadata, an epoch behind", version, "m1", 1, 0, committedMetadata="x" * 5000)
    offsets.commit("a partition that is not there", version, "m1", 2, 7)
    group.beat("leaves", "m1", -1)
    offsets.commit("after it left", version, "m1", 2)
    offsets.commit("nobody, when all have left", version, "", -1)
    none = Group(story, "none")
    Offsets(story, none, topic).commit("no such group", version, "m1", 2)
    offsets.fetch("all that is there", 9, None, -1, everything=True)


@scenario("assigned group commit in an epoch that has gone v{version}", versions=("OffsetCommit", 9, 10))
def commit_behind(story: Story, version: int) -> None:
    group, topic = one_member(story)
    offsets = Offsets(story, group, topic)
    group.join("m2 joins", "m2", topic.name)
    offsets.commit("m1 before it knows", version, "m1", 2, 0, 1)
    group.beat("m1 has to give", "m1", 2)
    offsets.commit("m1 while it gives", version, "m1", 2, 0, 1)
    group.owns("m1 gives", "m1", 2, (topic, [0]))
    offsets.commit("m1 what it kept, in the old epoch", version, "m1", 2, 0)
    offsets.commit("m1 what it gave, in the old epoch", version, "m1", 2, 1)
    offsets.commit("m1 both, in the old epoch", version, "m1", 2, 0, 1)
    offsets.commit("m1 in an epoch before it", version, "m1", 1, 0)
    offsets.commit("m1 both, in the new epoch", version, "m1", 3, 0, 1)
    group.beat("m2 gets", "m2", 3)
    offsets.commit("m2 in its epoch", version, "m2", 3, 1)
    offsets.commit("m2 in an epoch before it", version, "m2", 2, 1)
    offsets.fetch("all that is there", 9, None, -1)


@scenario("assigned group static commit")
def static_commit(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    group = Group(story)
    group.join(None, "m1", topic.name, instanceId="one")
    offsets = Offsets(story, group, topic)
    offsets.commit("right", 9, "m1", 2, instance="one")
    offsets.commit("another instance", 9, "m1", 2, instance="two")
    offsets.commit("no instance", 9, "m1", 2)
    group.beat("away", "m1", -2, instanceId="one")
    offsets.commit("while it is away", 9, "m1", 2, instance="one")
    offsets.commit("while it is away, epoch -2", 9, "m1", -2, instance="one")
    offsets.fetch("while it is away", 9, "m1", 2)
    offsets.fetch("while it is away, epoch -2", 9, "m1", -2)


@scenario("assigned group fetch v{version}", versions=("OffsetFetch", 8, 10))
def fetch(story: Story, version: int) -> None:
    group, topic = one_member(story)
    offsets = Offsets(story, group, topic)
    offsets.commit("one", 9, "m1", 2, 0)
    offsets.fetch("right", version, "m1", 2)
    offsets.fetch("all of them", version, "m1", 2, everything=True)
    offsets.fetch("an epoch behind", version, "m1", 1)
    offsets.fetch("an epoch ahead, all of them", version, "m1", 3, everything=True)
    offsets.fetch("an epoch ahead", version, "m1", 3)
    offsets.fetch("unknown member", version, "who", 2)
    offsets.fetch("an empty member id", version, "", 2)
    offsets.fetch("an empty member id, no epoch", version, "", -1)
    offsets.fetch("no member, but an epoch", version, None, 2)
    offsets.fetch("no member", version, None, -1)
    offsets.fetch("no epoch", version, "m1", -1)
    none = Group(story, "none")
    Offsets(story, none, topic).fetch("no such group", version, "m1", 2)
    Offsets(story, none, topic).fetch("no such group, all of them", version, "m1", 2, everything=True)


@scenario("assigned group transaction v{version}", versions="TxnOffsetCommit")
def transaction(story: Story, version: int) -> None:
    group, topic = one_member(story)
    name = story.named("tx")
    to = story.coordinator(name, 1)
    producer = story.until(
        lambda: next(
            (
                one
                for one in [
                    story.quiet("InitProducerId", 4, {"transactionalId": name, "transactionTimeoutMs": 60_000}, to=to)
                ]
                if not one["errorCode"]
            ),
            None,
        ),
        "a producer id",
    )
    who = {"transactionalId": name, "producerId": producer["producerId"], "producerEpoch": producer["producerEpoch"]}
    added = story.quiet("AddOffsetsToTxn", 3, {**who, "groupId": group.id}, to=to)
    assert added["errorCode"] == 0, added

    def commit(step: str, member: str, epoch: int, *indexes: int, instance: str | None = None, **more: Any) -> None:
        wanted = {
            **who,
            "groupId": group.id,
            "generationIdOrMemberEpoch": epoch,
            "memberId": member,
            "groupInstanceId": instance,
            "topics": [
                {
                    "name": topic.name,
                    "topicId": topic.id,
                    "partitions": [
                        {"partitionIndex": index, "committedOffset": 20 + index, "committedMetadata": "", **more}
                        for index in indexes or (0,)
                    ],
                }
            ],
        }
        story.ask(step, "TxnOffsetCommit", version, wanted, to=group.to)

    commit("nobody", "", -1)
    if version >= 3:
        commit("right", "m1", 2)
        commit("an epoch behind", "m1", 1)
        commit("an epoch ahead", "m1", 3)
        commit("unknown member", "who", 2)
        commit("no epoch", "m1", -1)
        commit("an instance that is not there", "m1", 2, instance="i")
        commit("only an instance", "", -1, instance="i")
        group.join("m2 joins", "m2", topic.name)
        group.beat("m1 has to give", "m1", 2)
        group.owns("m1 gives", "m1", 2, (topic, [0]))
        commit("what it kept, in the old epoch", "m1", 2, 0)
        commit("what it gave, in the old epoch", "m1", 2, 1)
    offsets = Offsets(story, group, topic)
    offsets.fetch("while it is open", 9, None, -1)
    end = {**who, "committed": True}
    story.quiet("EndTxn", 3, end, to=to)
    story.wait(500)
    offsets.fetch("when it is over", 9, None, -1)
