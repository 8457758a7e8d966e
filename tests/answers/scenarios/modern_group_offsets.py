"""Offsets by transactions, and reads and deletions, of share groups and Streams groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.answers.scenarios import scenario, share_groups, streams_groups
from tests.answers.story import Story, Topic
from tests.answers.transactional import Producer

SETTINGS = share_groups.SETTINGS | streams_groups.SETTINGS
WAYS: Mapping[str, dict[str, Any]] = {
    "nobody": {"memberId": "", "generationIdOrMemberEpoch": -1},
    "nobody, but an instance": {"memberId": "", "generationIdOrMemberEpoch": -1, "groupInstanceId": "i"},
    "nobody in an epoch": {"memberId": "", "generationIdOrMemberEpoch": 2},
    "a stranger": {"memberId": "who", "generationIdOrMemberEpoch": 2},
    "a stranger without an epoch": {"memberId": "who", "generationIdOrMemberEpoch": -1},
    "the member": {},
    "the member in an epoch before": {"generationIdOrMemberEpoch": 1},
    "the member in a later epoch": {"generationIdOrMemberEpoch": 99},
    "the member without an epoch": {"generationIdOrMemberEpoch": -1},
    "the member left": {"generationIdOrMemberEpoch": -2},
}


def commits(story: Story, when: str, producer: Producer, group: str, topic: Topic, version: int, **member: Any) -> None:
    for way, fields in WAYS.items():
        who = {"memberId": "one", "generationIdOrMemberEpoch": 2} | member | fields
        for index in (0, 9):
            step = f"{when}, {way}" if index == 0 else f"{when}, {way}, of no partition"
            producer.commit_offset(step, group, topic, index, 5, version, **who)


def reads(story: Story, when: str, group: str, topic: Topic, **member: Any) -> None:
    to = story.coordinator(group)
    named = {"name": topic.name, "topicId": topic.id, "partitionIndexes": [0, 9]}
    for version in (1, 5, 7, 8, 9, 10):
        for topics in ([named], None):
            if version == 1 and topics is None:
                continue
            for way, who in {
                "anybody": {"memberId": None, "memberEpoch": -1},
                "the member": {"memberId": "one", "memberEpoch": 2} | member,
                "a stranger": {"memberId": "who", "memberEpoch": 2},
            }.items():
                if version < 9 and way != "anybody":
                    continue
                body = {"groupId": group, "topics": topics, "requireStable": version > 7}
                body["groups"] = [{"groupId": group, "topics": topics, **who}]
                step = f"{when}, {'one' if topics else 'all'}, {way}"
                story.ask(step, "OffsetFetch", version, body, to=to)


def deletes(story: Story, when: str, group: str, *topics: str) -> None:
    for name in topics:
        wanted = {
            "groupId": group,
            "topics": [{"name": name, "partitions": [{"partitionIndex": 0}, {"partitionIndex": 9}]}],
        }
        step = f"{when}, topic {topics.index(name)}"
        story.ask(step, "OffsetDelete", 0, wanted, to=story.coordinator(group))


def begun(story: Story, group: str) -> Producer:
    producer = Producer.of(story).begun()
    producer.add_offsets(None, group)
    return producer


@scenario("modern group offsets/share transaction v{version}", versions="TxnOffsetCommit")
def share_transaction(story: Story, version: int) -> None:
    topic = story.topic("t")
    story.settle()
    one = share_groups.Joined(story, [topic.name])
    producer = begun(story, one.group)
    one.assigned(1)
    commits(story, "with a member", producer, one.group, topic, version)
    one.beat("leaves", memberEpoch=-1)
    commits(story, "empty", producer, one.group, topic, version)
    other = story.named("none")
    producer.add_offsets(None, other)
    who = {"memberId": "one", "generationIdOrMemberEpoch": 2}
    producer.commit_offset("no group, a member", other, topic, 0, 5, version, **who)
    producer.commit_offset("no group, nobody", other, topic, 0, 5, version)


@scenario("modern group offsets/share")
def share(story: Story) -> None:
    topic, other = story.topic("t"), story.topic("u")
    story.settle()
    one = share_groups.Joined(story, [topic.name])
    one.assigned(1)
    reads(story, "with a member", one.group, topic)
    deletes(story, "with a member", one.group, topic.name, other.name, "no-such-topic")
    one.beat("leaves", memberEpoch=-1)
    reads(story, "empty", one.group, topic)
    deletes(story, "empty", one.group, topic.name, other.name)


@scenario("modern group offsets/streams transaction v{version}", versions="TxnOffsetCommit")
def streams_transaction(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = streams_groups.Joined(story, streams_groups.topology(streams_groups.subtopology(0, topic.name)))
    producer = begun(story, one.group)
    one.beat("joins")
    one.owning("has its tasks")
    commits(story, "with a member", producer, one.group, topic, version)
    two = streams_groups.Joined(story, one.topology, "two")
    two.beat("another joins")
    one.owning("is to give up")
    one.owning("gives up")
    epoch = one.epoch
    for index in range(2):
        for step, number in (("now", epoch), ("before", epoch - 1), ("long before", epoch - 2)):
            who = {"memberId": "one", "generationIdOrMemberEpoch": number}
            producer.commit_offset(f"{step}, {index}", one.group, topic, index, 7, version, **who)
    for member in (one, two):
        member.beat(f"{member.name} leaves", memberEpoch=-1)
    commits(story, "empty", producer, one.group, topic, version)
    producer.end(None)
    body = {"groupId": one.group, "topics": None}
    story.ask("what is kept", "OffsetFetch", 7, body, to=one.right)


@scenario("modern group offsets/streams")
def streams(story: Story) -> None:
    topic, other = story.topic("t"), story.topic("u")
    story.settle()
    one = streams_groups.Joined(story, streams_groups.topology(streams_groups.subtopology(0, topic.name)))
    one.beat("joins")
    one.owning("has its tasks")
    reads(story, "with a member", one.group, topic, memberEpoch=one.epoch)
    deletes(story, "with a member", one.group, topic.name, other.name, "no-such-topic")
    one.beat("leaves", memberEpoch=-1)
    reads(story, "empty", one.group, topic)
    deletes(story, "empty", one.group, topic.name, other.name)
