"""Corners of groups that go from the classic to the consumer protocol, which random requests have found."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.scenarios.consumer_group_migration import Classic, assignment, subscription
from tests.answers.scenarios.consumer_groups import Group
from tests.answers.story import Story


@scenario("migration corners/a member without topics")
def without_topics(story: Story) -> None:
    """Who joins without topics while a new assignment is due is not counted: all are taken for alike."""
    for assignor in ("range", "uniform"):
        topic = story.topic(f"t-{assignor}", partitions=3)
        group = Group(story, f"g-{assignor}")
        classic = Classic(story, group)
        join = {"rebalanceTimeoutMs": 60_000, "topicPartitions": [], "serverAssignor": assignor}
        beat = {"groupId": group.id, "memberId": "x", "memberEpoch": 0, "subscribedTopicNames": [topic.name]}
        story.ask(f"{assignor}, x joins", "ConsumerGroupHeartbeat", 1, beat | join, to=group.to)
        member = classic.join_new(f"{assignor}, a classic one joins", subscription(topic.name), groupInstanceId="i")
        classic.leave(f"{assignor}, and leaves", (member, "i"))
        empty = beat | join | {"memberId": "y", "subscribedTopicNames": []}
        story.ask(f"{assignor}, y joins", "ConsumerGroupHeartbeat", 1, empty, to=group.to)
        described = {"groupIds": [group.id]}
        story.ask(f"{assignor}, both", "ConsumerGroupDescribe", 1, described, to=group.to)
        owned = [{"topicId": topic.id, "partitions": [0, 1, 2]}]
        stays = {"groupId": group.id, "rebalanceTimeoutMs": -1}
        for number in range(2):
            x = stays | {"memberId": "x", "memberEpoch": 2 + 2 * number, "topicPartitions": owned}
            story.ask(f"{assignor}, x stays, {number}", "ConsumerGroupHeartbeat", 1, x, to=group.to)
            y = stays | {"memberId": "y", "memberEpoch": 4, "topicPartitions": []}
            story.ask(f"{assignor}, y stays, {number}", "ConsumerGroupHeartbeat", 1, y, to=group.to)
            owned = [{"topicId": topic.id, "partitions": [0, 1]}]
        story.ask(f"{assignor}, in the end", "ConsumerGroupDescribe", 1, described, to=group.to)


@scenario("migration corners/other protocols v{version}", versions=("JoinGroup", 5, 9))
def other_protocols(story: Story, version: int) -> None:
    """While a member joins with protocols other than the generation's, the group cannot be upgraded."""
    topic = story.topic("t", partitions=2)
    group = Group(story)
    classic = Classic(story, group)
    metadata = subscription(topic.name)
    both = [{"name": name, "metadata": metadata} for name in ("rr", "range")]
    one = classic.join("one", "", metadata, version, groupInstanceId="i", protocols=both)["memberId"]
    if version % 2:
        classic.sync("one", one, 1, assignment(topic, 0, 1), protocolName="rr")
    request = {
        "groupId": group.id,
        "sessionTimeoutMs": 10_000,
        "rebalanceTimeoutMs": 20_000,
        "memberId": "",
        "groupInstanceId": "j",
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": metadata}],
    }
    pending = story.begin("another, waiting", "JoinGroup", version, request, to=group.to, on="other")
    story.wait(300)
    beat = {
        "groupId": group.id,
        "memberId": "y",
        "memberEpoch": 0,
        "rebalanceTimeoutMs": 60_000,
        "subscribedTopicNames": [topic.name],
        "topicPartitions": [],
    }
    story.ask("upgrade", "ConsumerGroupHeartbeat", 1, beat, to=group.to)
    pending.answer()
    classic.list("after that")
