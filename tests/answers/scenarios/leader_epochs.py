"""OffsetForLeaderEpoch: where epochs end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story, Topic


def of(topic: Topic, *partitions: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    wanted = [{"partition": 0, "currentLeaderEpoch": -1, "leaderEpoch": 0, **one} for one in partitions]
    return {"replicaId": -1, "topics": [{"topic": topic.name, "partitions": wanted}], **more}


@scenario("leader epochs v{version}", versions="OffsetForLeaderEpoch")
def plain(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    story.produced(topic, b"a", b"b")

    def ask(step: str, request: Mapping[str, Any], **more: Any) -> None:
        story.ask(step, "OffsetForLeaderEpoch", version, request, **more)

    for epoch in (0, 1, 7, -1, -2):
        ask(f"epoch {epoch}", of(topic, {"leaderEpoch": epoch}))
        ask(f"epoch {epoch}, at a follower", of(topic, {"leaderEpoch": epoch}), to=1)
        ask(f"epoch {epoch}, empty", of(topic, {"leaderEpoch": epoch, "partition": 1}), to=1)
        ask(f"current epoch {epoch}", of(topic, {"currentLeaderEpoch": epoch}))
        ask(f"current epoch {epoch}, at a follower", of(topic, {"currentLeaderEpoch": epoch}), to=1)
    ask("unknown partition", of(topic, {"partition": 9}))
    ask("unknown topic", of(Topic("no-such-topic-here", "", ()), {}))
    ask("nothing", {"replicaId": -1, "topics": []})
    ask("no partitions", of(topic))
    ask("several", of(topic, {}, {"partition": 9}, {"partition": 1}))
    ask("twice", of(topic, {}, {"leaderEpoch": 5}))
    ask("as a replica", of(topic, {}, replicaId=1))


@scenario("leader epochs/elections v{version}", versions="OffsetForLeaderEpoch")
def elections(story: Story, version: int) -> None:
    topic = story.topic("t", assignments=[[0, 1, 2]])
    story.produced(topic, b"a", b"b")
    known = {"topics": [{"topic": topic.name, "partitions": [0]}], "timeoutMs": 30_000}

    def move(replicas: list[int]) -> None:
        """Have the first of these brokers lead."""
        wanted = {
            "timeoutMs": 30_000,
            "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0, "replicas": replicas}]}],
        }
        story.until(
            lambda: (
                story.quiet("AlterPartitionReassignments", 0, wanted)["responses"][0]["partitions"][0]["errorCode"] == 0
            ),
            "a reassignment",
        )
        story.settle()
        story.until(
            lambda: (
                story.quiet("ElectLeaders", 2, {**known, "electionType": 0, "topicPartitions": known["topics"]})[
                    "replicaElectionResults"
                ][0]["partitionResult"][0]["errorCode"]
                in (0, 84)
            ),
            "an election",
        )
        story.settle()

    move([1, 2, 0])
    for epoch in range(-1, 6):
        request = of(topic, {"leaderEpoch": epoch})
        story.ask(f"epoch {epoch} after an election", "OffsetForLeaderEpoch", version, request, to=1)
    story.ask("the leader before", "OffsetForLeaderEpoch", version, of(topic, {}), to=0)
