"""DescribeLogDirs and AlterReplicaLogDirs: what is in the one directory that brokers have, and moves that cannot be."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Fields, Story, Topic

NOWHERE = "/no/such/directory"


def describe(
    story: Story, version: int, step: str, topics: list[tuple[str, list[int]]] | None, at: int = 0, names: int = 1
) -> None:
    wanted = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics]

    def own(answer: Any) -> Any:
        for result in answer["results"]:
            result["topics"] = [one for one in result["topics"] if story.prefix in one["name"]]
            for field in ("totalBytes", "usableBytes"):
                if field in result:
                    result[field] = result[field] > 0
        return answer

    story.ask(step, "DescribeLogDirs", version, {"topics": wanted}, only=own, to=at)


def alter(story: Story, version: int, step: str, *moves: tuple[str, str, list[int]], at: int = 0) -> None:
    dirs: list[Fields] = [
        {"path": path, "topics": [{"name": name, "partitions": indexes}]} for path, name, indexes in moves
    ]
    story.ask(step, "AlterReplicaLogDirs", version, {"dirs": dirs}, to=at)


def directory(story: Story, topic: Topic) -> str:
    """The path of the one directory of broker 0."""
    found = story.quiet("DescribeLogDirs", 1, {"topics": None})
    return str(found["results"][0]["logDir"])


@scenario("log dirs v{version}", versions="DescribeLogDirs")
def log_dirs(story: Story, version: int) -> None:
    topic = story.topic("t", assignments=[[0, 1], [1, 0], [2, 1]])
    other = story.topic("u", assignments=[[0]])
    story.produced(topic, b"a record of some bytes")
    story.produced(topic, b"another", index=1)
    none = story.named("none")
    for at in (0, 2):
        describe(story, version, f"all, at {at}", None, at)
        describe(story, version, f"nothing, at {at}", [], at)
        describe(story, version, f"one topic, at {at}", [(topic.name, [0, 1, 2])], at)
        describe(story, version, f"one partition, at {at}", [(topic.name, [2])], at)
    describe(story, version, "two topics", [(topic.name, [0]), (other.name, [0])])
    describe(story, version, "unknown ones", [(none, [0]), (topic.name, [9, -1])])
    describe(story, version, "right and wrong", [(none, [0]), (topic.name, [1, 9])])
    describe(story, version, "a topic twice", [(topic.name, [0]), (topic.name, [1])])
    describe(story, version, "a partition twice", [(topic.name, [0, 0])])
    describe(story, version, "no partitions", [(topic.name, [])])
    describe(story, version, "an empty name", [("", [0])])


@scenario("log dirs/moves v{version}", versions="AlterReplicaLogDirs")
def moved(story: Story, version: int) -> None:
    topic = story.topic("t", assignments=[[0, 1], [1, 2]])
    none = story.named("none")
    alter(story, version, "unknown directory", (NOWHERE, topic.name, [0, 1]))
    alter(story, version, "unknown directory and topic", (NOWHERE, none, [0]))
    alter(story, version, "unknown directory and partition", (NOWHERE, topic.name, [9, -1]))
    alter(story, version, "a relative path", ("data", topic.name, [0]))
    alter(story, version, "an empty path", ("", topic.name, [0]))
    alter(story, version, "nothing")
    alter(story, version, "no partitions", (NOWHERE, topic.name, []))
    alter(story, version, "a partition twice", (NOWHERE, topic.name, [0, 0]))
    alter(story, version, "for two directories", (NOWHERE, topic.name, [0]), ("/other", topic.name, [0, 1]))
    path = directory(story, topic)
    story.names.know(path, "<directory>")

    def same(step: str, name: str, *indexes: int) -> None:
        dirs = [{"path": path, "topics": [{"name": name, "partitions": list(indexes)}]}]
        answer = story.quiet("AlterReplicaLogDirs", version, {"dirs": dirs})
        story.keep(step, "AlterReplicaLogDirs", version, {"to": "its own directory"}, answer)

    same("where it is", topic.name, 0)
    same("of another broker", topic.name, 1)
    same("unknown", none, 0)
    same("an unknown partition", topic.name, 9)
    same("right and wrong", topic.name, 0, 1, 9)
