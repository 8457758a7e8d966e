"""ElectLeaders, reassignments, and what is shown while a broker is down: eligible leaders, ISRs, epochs."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story, Topic

SETTINGS = {"leader.imbalance.check.interval.seconds": "300"}
"""Kafka's default; ours is that leaders return at once."""

PREFERRED, UNCLEAN = 0, 1
Replicas = list[int] | None


def placed(story: Story, short: str, *rows: list[int], **configs: str) -> Topic:
    return story.topic(
        short, assignments=rows, configs={key.replace("_", "."): value for key, value in configs.items()}
    )


def elect(
    story: Story, version: int, step: str, topics: list[tuple[str, list[int]]] | None, how: int = PREFERRED, at: int = 0
) -> None:
    wanted = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]
    request = {"electionType": how, "topicPartitions": wanted, "timeoutMs": 5000}

    def own(answer: Any) -> Any:
        if wanted is None and "replicaElectionResults" in answer:
            results = answer["replicaElectionResults"]
            answer["replicaElectionResults"] = [one for one in results if story.prefix in one["topic"]]
        return answer

    story.ask(step, "ElectLeaders", version, request, only=own, to=at)
    heard(story)


def heard(story: Story) -> None:
    """Let all brokers that are up hear of a change; the one that is down never does, which ``settle`` waits for."""
    story.wait(500)


def move(
    story: Story,
    version: int,
    step: str,
    *moves: tuple[str, int, Replicas],
    at: int = 0,
    **fields: Any,
) -> None:
    topics: dict[str, list[Fields]] = {}
    for name, index, replicas in moves:
        topics.setdefault(name, []).append({"partitionIndex": index, "replicas": replicas})
    request = {"timeoutMs": 5000, "topics": [{"name": name, "partitions": one} for name, one in topics.items()]}
    story.ask(step, "AlterPartitionReassignments", version, {**request, **fields}, to=at)
    heard(story)


def moving(story: Story, step: str, topics: list[tuple[str, list[int]]] | None, at: int = 0) -> None:
    wanted = None if topics is None else [{"name": name, "partitionIndexes": indexes} for name, indexes in topics]
    request = {"timeoutMs": 5000, "topics": wanted}
    story.ask(step, "ListPartitionReassignments", 0, request, to=at)


def shown(story: Story, step: str, *topics: Topic, at: int = 0) -> None:
    """What three APIs show of topics."""
    named = [{"name": topic.name} for topic in topics]

    def own(answer: Any) -> Any:
        return {"topics": answer["topics"]}

    story.ask(step, "DescribeTopicPartitions", 0, {"topics": named, "responsePartitionLimit": 100}, only=own, to=at)
    for version in (0, 12):
        request = {"topics": named, "allowAutoTopicCreation": False}
        story.ask(step, "Metadata", version, request, only=own, to=at)


@scenario("elections v{version}", versions="ElectLeaders")
def elections(story: Story, version: int) -> None:
    topic = placed(story, "t", [0, 1], [1, 2])
    name = topic.name
    elect(story, version, "not needed", [(name, [0])])
    elect(story, version, "not needed, unclean", [(name, [0])], UNCLEAN)
    elect(story, version, "twice, and more than there are", [(name, [1, 1, 2, -1])])
    elect(story, version, "an unknown topic", [(name, [0]), (story.named("none"), [0, 1])], at=2)
    elect(story, version, "a topic twice", [(name, [0]), (name, [1])])
    elect(story, version, "no partitions", [(name, [])])
    elect(story, version, "nothing", [])
    elect(story, version, "an empty name", [("", [0])])
    elect(story, version, "all", None)
    elect(story, version, "all, unclean", None, UNCLEAN)
    if version:
        for how in (2, -1, 100):
            elect(story, version, f"election type {how}", [(name, [0])], how)
            elect(story, version, f"election type {how}, all", None, how)


@scenario("moves v{version}", versions="AlterPartitionReassignments")
def moves(story: Story, version: int) -> None:
    topic = placed(story, "t", [0, 1], [1, 2])
    name, none = topic.name, story.named("none")
    moving(story, "none", None)
    moving(story, "of a topic", [(name, [0, 1])])
    moving(story, "of nothing", [])
    moving(story, "of unknown ones", [(none, [0]), (name, [9, -1])], at=1)
    move(story, version, "nothing to call off", (name, 0, None))
    move(story, version, "an unknown topic", (none, 0, [0]))
    move(story, version, "an unknown topic to call off", (none, 0, None), at=2)
    move(story, version, "an empty name", ("", 0, [0]))
    move(story, version, "an unknown partition", (name, 9, [0]), (name, -1, [0]))
    move(story, version, "to nobody", (name, 0, []))
    move(story, version, "to an unknown broker", (name, 0, [0, 9]))
    move(story, version, "to a negative broker", (name, 0, [-1]))
    move(story, version, "twice to the same", (name, 0, [0, 0]))
    move(story, version, "right and wrong", (name, 0, [0, 1]), (name, 1, [7]), (none, 0, [0]))
    move(story, version, "nothing")
    move(story, version, "as it is", (name, 1, [1, 2]))
    move(story, version, "another order", (name, 0, [1, 0]))
    shown(story, "another order", topic)
    move(story, version, "one fewer", (name, 1, [2]))
    story.settle()
    shown(story, "one fewer", topic)
    if version:
        move(story, version, "not one fewer", (name, 0, [0]), allowReplicationFactorChange=False)
        move(story, version, "not one more", (name, 0, [0, 1, 2]), allowReplicationFactorChange=False)
        move(story, version, "as many", (name, 0, [0, 1]), allowReplicationFactorChange=False)
        move(story, version, "unknown and fewer", (name, 0, [9]), allowReplicationFactorChange=False)


@scenario("a broker down")
def down(story: Story) -> None:
    alone = placed(story, "alone", [2])
    two = placed(story, "two", [2, 1], [1, 2])
    wide = placed(story, "wide", [0, 1, 2], [1, 2, 0], [2, 0, 1])
    safe = placed(story, "safe", [0, 2], [2, 0], min_insync_replicas="2")
    strict = placed(story, "strict", [2, 1, 0], min_insync_replicas="3")
    unclean = placed(story, "unclean", [2, 0], unclean_leader_election_enable="true")
    every = (alone, two, wide, safe, strict, unclean)
    shown(story, "before", *every)
    story.stop(2)
    shown(story, "down", *every)
    shown(story, "down, elsewhere", *every, at=1)
    for version in (0, 2):
        elect(story, version, "preferred, down", [(alone.name, [0]), (two.name, [0, 1]), (wide.name, [0, 1, 2])])
    elect(story, 2, "all, down", None)
    elect(story, 2, "unclean, down", [(alone.name, [0]), (two.name, [0]), (safe.name, [0, 1])], UNCLEAN)
    move(story, 1, "to the one that is down", (two.name, 1, [2, 0]), (wide.name, 0, [1, 2]))
    move(story, 1, "from it", (alone.name, 0, [0]))
    moving(story, "under way", [(alone.name, [0]), (two.name, [0, 1])])
    move(story, 1, "called off", (alone.name, 0, None))
    move(story, 1, "called off again", (alone.name, 0, None))
    moving(story, "called off", [(alone.name, [0])])
    shown(story, "called off", alone, safe)
    story.start(2)
    story.until(lambda: all_in_sync(story, *every), "all in sync")
    story.settle()
    moving(story, "none any more", [(one.name, [0, 1, 2]) for one in every])
    shown(story, "back", *every)
    for version in (0, 2):
        topic = wide.name if version else two.name
        elect(story, version, "preferred, back", [(topic, [0, 1, 2])])
    elect(story, 2, "all, back", None)
    shown(story, "elected", *every)


def all_in_sync(story: Story, *topics: Topic) -> bool:
    named = [{"name": topic.name} for topic in topics]
    answer = story.quiet("Metadata", 12, {"topics": named, "allowAutoTopicCreation": False})
    partitions = [one for topic in answer["topics"] for one in topic["partitions"]]
    return all(one["leaderId"] >= 0 and sorted(one["isrNodes"]) == sorted(one["replicaNodes"]) for one in partitions)
