"""Streams groups: who is given which task, the first members that are waited for, topics that change under a group."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.streams_groups import Joined, subtopology, topic_info, topology, word_count
from tests.answers.story import Story, mine

SETTINGS = {
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "60000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "1000",
}


def configured(story: Story, group: str, **configs: str) -> None:
    """Set configs of a group, and wait until its coordinator knows them."""
    entries = [
        {"name": name.replace("_", "."), "configOperation": 0, "value": value} for name, value in configs.items()
    ]
    resource = {"resourceType": 32, "resourceName": group}
    change = {"resources": [{**resource, "configs": entries}], "validateOnly": False}
    story.quiet("IncrementalAlterConfigs", 1, change, to=0)
    ask = {"resources": [{**resource, "configurationKeys": [entry["name"] for entry in entries]}]}

    def known() -> bool:
        found = story.quiet("DescribeConfigs", 4, ask, to=story.coordinator(group))["results"][0]["configs"]
        return {one["name"]: one["value"] for one in found} == {one["name"]: one["value"] for one in entries}

    story.until(known, "the group's configs")


def round_of(*members: Joined) -> None:
    """Everybody gives up and takes, unkept, until nothing changes any more."""
    for _ in range(4):
        for member in members:
            member.owning(None)


@scenario("streams assignments/members come and go with {version} standbys", versions=("StreamsGroupHeartbeat", 0, 1))
def come_and_go(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=7)
    story.settle()
    told = word_count(topic.name)
    told["subtopologies"].append(
        subtopology(10, topic.name, stateChangelogTopics=[topic_info(f"{topic.name}-other", cleanup_policy="compact")])
    )
    first = Joined(story, told, "member-a")
    configured(story, first.group, streams_num_standby_replicas=str(version))
    members = [first]
    first.beat(None)
    first.ready()
    for name, process in (("b", "p"), ("c", "p"), ("d", "q"), ("e", "r"), ("f", "q"), ("g", "s")):
        member = Joined(story, told, f"member-{name}")
        member.beat(None, processId=f"process-{process}")
        members.append(member)
        round_of(*members)
        first.describe(f"with {len(members)} members")
    for name in ("c", "f", "e"):
        gone = next(member for member in members if member.name == f"member-{name}")
        members.remove(gone)
        gone.beat(None, memberEpoch=-1)
        round_of(*members)
        first.describe(f"with {len(members)} members, {name} being gone")
    two = Joined(story, told, "member-z")
    two.beat("at last another", processId="process-z")


@scenario("streams assignments/the first members are waited for")
def waited(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    configured(story, one.group, streams_initial_rebalance_delay_ms="2000")
    one.beat("joins")
    two = Joined(story, one.topology, "two")
    two.beat("another joins")
    one.owning("meanwhile")
    one.describe("meanwhile")
    story.until(lambda: not one.owning(None)["status"], "the end of the delay")
    two.owning("afterwards")
    one.describe("afterwards")


@scenario("streams assignments/topics change")
def change(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, word_count(topic.name))
    one.beat(None)
    one.ready()
    one.owning("with all topics")
    wider = {
        "topics": [{"name": topic.name, "count": 3, "assignments": None}],
        "timeoutMs": 5000,
        "validateOnly": False,
    }
    story.quiet("CreatePartitions", 3, wider, to=0)
    story.settle()
    story.until(lambda: one.owning(None)["status"], "the new partitions")
    one.owning("its input is wider")
    one.describe("its input is wider")


@scenario("streams assignments/groups of other kinds")
def kinds(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    commit = {
        "groupId": one.group,
        "generationIdOrMemberEpoch": -1,
        "memberId": "",
        "groupInstanceId": None,
        "retentionTimeMs": -1,
        "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}],
    }
    story.quiet("OffsetCommit", 8, commit, to=one.right)
    one.describe("a classic group")
    one.beat("in place of a classic group")
    story.ask("listed", "ListGroups", 5, {"statesFilter": ["Stable"]}, to=one.right, only=mine(story, "groups"))
    for api, version, body in (
        ("ConsumerGroupHeartbeat", 1, consumer(one.group, topic.name)),
        ("ShareGroupHeartbeat", 1, share(one.group, topic.name)),
    ):
        story.ask(f"a member of {api}", api, version, body, to=one.right)
    one.beat(None, memberEpoch=-1)
    story.ask("listed, empty", "ListGroups", 5, {"statesFilter": ["empty"]}, to=one.right, only=mine(story, "groups"))
    story.ask("a consumer in its place", "ConsumerGroupHeartbeat", 1, consumer(one.group, topic.name), to=one.right)
    fetch = {"groupId": one.group, "memberId": None, "memberEpoch": -1, "topics": None}
    story.ask("its offsets", "OffsetFetch", 9, {"groups": [fetch], "requireStable": False}, to=one.right)
    lost = Joined(story, topology(subtopology(0, f"{topic.name}-nowhere")), group="lost")
    lost.beat(None)
    for state in ("NotReady", "not_ready"):
        body = {"statesFilter": [state]}
        story.ask(f"listed as {state}", "ListGroups", 5, body, to=lost.right, only=mine(story, "groups"))
    taken = story.named("taken")
    right = story.coordinator(taken)
    story.quiet("ConsumerGroupHeartbeat", 1, consumer(taken, topic.name), to=right)
    Joined(story, one.topology, group="taken").beat("in place of a consumer group")


def consumer(group: str, topic: str) -> dict[str, Any]:
    return {
        "groupId": group,
        "memberId": "consumer",
        "memberEpoch": 0,
        "rebalanceTimeoutMs": 60_000,
        "subscribedTopicNames": [topic],
        "topicPartitions": [],
    }


def share(group: str, topic: str) -> dict[str, Any]:
    return {"groupId": group, "memberId": "share", "memberEpoch": 0, "subscribedTopicNames": [topic]}
