"""Corners of groups that random requests have found: what is judged before the coordinator is asked, and ties."""

from __future__ import annotations

from tests.answers.scenarios import scenario
from tests.answers.story import Story


@scenario("group corners/wrong broker v{version}", versions="JoinGroup")
def wrong_broker(story: Story, version: int) -> None:
    """What a broker refuses although it does not coordinate the group."""
    group = story.named("g")
    right = story.coordinator(group)
    for to, where in ((right, "right"), ((right + 1) % 3, "next"), ((right + 2) % 3, "other")):
        join = {
            "groupId": group,
            "sessionTimeoutMs": 10_000,
            "rebalanceTimeoutMs": 10_000,
            "memberId": "nobody",
            "protocolType": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        }
        story.ask(f"plain, {where}", "JoinGroup", version, join, to=to)
        story.ask(f"no group, {where}", "JoinGroup", version, join | {"groupId": ""}, to=to)
        story.ask(f"too short, {where}", "JoinGroup", version, join | {"sessionTimeoutMs": 999}, to=to)
        nothing = join | {"groupId": "", "sessionTimeoutMs": 0, "protocols": []}
        story.ask(f"nothing right, {where}", "JoinGroup", version, nothing, to=to)
        sync = {"groupId": group, "generationId": 1, "memberId": "nobody", "assignments": []}
        for name in (group, ""):
            kind = f"{'a' if name else 'no'} group, {where}"
            of = min(version, 5)
            story.ask(f"{kind}, no protocol", "SyncGroup", of, sync | {"groupId": name}, to=to)
            named = sync | {"groupId": name, "protocolType": "consumer", "protocolName": "range"}
            story.ask(kind, "SyncGroup", of, named, to=to)
            beat = {"groupId": name, "generationId": 1, "memberId": "nobody"}
            story.ask(kind, "Heartbeat", min(version, 4), beat, to=to)
            leave = {"groupId": name, "memberId": "nobody", "members": [{"memberId": "nobody"}]}
            story.ask(kind, "LeaveGroup", of, leave, to=to)


@scenario("group corners/offset delete")
def offset_delete(story: Story) -> None:
    topic, group = story.topic("t", partitions=3), story.named("g")
    to = story.coordinator(group)
    partition = {"partitionIndex": 0, "committedOffset": 5, "committedMetadata": ""}
    commit = {"groupId": group, "topics": [{"name": topic.name, "partitions": [partition]}]}
    story.quiet("OffsetCommit", 7, commit, to=to)

    def wanted(*topics: tuple[str, list[int]], group: str = group) -> dict[str, object]:
        return {
            "groupId": group,
            "topics": [
                {"name": name, "partitions": [{"partitionIndex": index} for index in indexes]}
                for name, indexes in topics
            ],
        }

    twice = wanted((topic.name, [9]), (topic.name, [0, 1]), ("no-such-topic", [0]), (topic.name, [2, 2]))
    story.ask("a topic several times", "OffsetDelete", 0, twice, to=to)
    for broker in range(3):
        request = wanted((topic.name, [0]), group="")
        story.ask(f"no group, {(broker - to) % 3}", "OffsetDelete", 0, request, to=broker)


@scenario("group corners/tie of assignors")
def tie(story: Story) -> None:
    """Two assignors with a vote each: who asks for the one that Kafka does not prefer grows the epoch each time."""
    topic, group = story.topic("t", partitions=3), story.named("g")
    to = story.coordinator(group)
    story.settle()
    story.wait(500)
    epochs = {"u": 0, "r": 0}
    votes = {"u": "uniform", "r": "range"}

    def beat(step: str, member: str, **fields: object) -> None:
        wanted = {"groupId": group, "memberId": member, "memberEpoch": epochs[member], "rebalanceTimeoutMs": -1}
        given = story.ask(step, "ConsumerGroupHeartbeat", 1, wanted | fields, to=to)
        epochs[member] = given["memberEpoch"]

    for member in ("u", "r"):
        join = {
            "rebalanceTimeoutMs": 60_000,
            "subscribedTopicNames": [topic.name],
            "serverAssignor": votes[member],
            "topicPartitions": [],
        }
        beat(f"{member} joins", member, **join)
    for number in range(3):
        for member in ("r", "u"):
            beat(f"{member} again, {number}", member)
    story.ask("both", "ConsumerGroupDescribe", 1, {"groupIds": [group]}, to=to)
