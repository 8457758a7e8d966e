"""Brokers with two log directories: replicas that move between them, before and while they are reassigned, and
directories that are cordoned (KIP-1066)."""

from __future__ import annotations

from typing import Any

from tests.answers.config_requests import BROKER, DELETE, SET, change, describe, resource
from tests.answers.scenarios import elections, scenario
from tests.answers.scenarios.elections import move, moving, placed, shown
from tests.answers.story import Fields, Story, Topic

SETTINGS = {"log.dirs": "{data}/one,{data}/two", **elections.SETTINGS}
"""``{data}`` is the folder of a real broker's data."""


class Directories:
    """The two directories of each broker, by the names ``<one>`` and ``<two>``."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.paths: dict[tuple[int, str], str] = {}
        for broker in range(3):
            found = story.quiet("DescribeLogDirs", 1, {"topics": None}, to=broker)["results"]
            for path in (one["logDir"] for one in found):
                name = path.rpartition("/")[2]
                self.paths[broker, name] = path
                story.names.know(path, f"<{name}>")

    def alter(self, step: str | None, broker: int, name: str, topic: str, *indexes: int) -> Fields:
        path = self.paths.get((broker, name), name)
        dirs = [{"path": path, "topics": [{"name": topic, "partitions": list(indexes)}]}]
        answer = self.story.quiet("AlterReplicaLogDirs", 2, {"dirs": dirs}, to=broker)
        if step is not None:
            self.story.keep(step, "AlterReplicaLogDirs", 2, {"to": name}, answer)
        return answer

    def of(self, broker: int, topic: Topic) -> dict[tuple[str, int], bool]:
        """Where the replicas of a topic are: directory, partition -> whether it is on its way there."""
        found = self.story.quiet("DescribeLogDirs", 1, {"topics": None}, to=broker)["results"]
        return {
            (result["logDir"], partition["partitionIndex"]): partition["isFutureKey"]
            for result in found
            for one in result["topics"]
            if one["name"] == topic.name
            for partition in one["partitions"]
        }

    def arrived(self, broker: int, name: str, topic: Topic, index: int = 0) -> None:
        path = self.paths[broker, name]
        self.story.until(
            lambda: [one for one in self.of(broker, topic).items() if one[0][1] == index] == [((path, index), False)],
            f"{topic.name}-{index} in {path}",
        )

    def show(self, step: str, broker: int, *topics: Topic, version: int = 5) -> None:
        wanted = [{"topic": topic.name, "partitions": list(range(len(topic.replicas)))} for topic in topics]

        def known(answer: Any) -> Any:
            for result in answer["results"]:
                for field in ("totalBytes", "usableBytes"):
                    if field in result:
                        result[field] = result[field] > 0
            return answer

        self.story.ask(step, "DescribeLogDirs", version, {"topics": wanted}, only=known, to=broker)


@scenario("directories/moves")
def moves(story: Story) -> None:
    topic = placed(story, "t", [0, 1], [1, 2])
    both = Directories(story)
    for name in ("one", "two", "one"):
        answer = both.alter(None, 0, name, topic.name, 0)
        story.keep(f"to {name}, then {len(story.kept)}", "AlterReplicaLogDirs", 2, {}, answer)
        both.arrived(0, name, topic)
        both.show(f"moved to {name}, {len(story.kept)}", 0, topic)
    both.alter("where it is", 0, "one", topic.name, 0)
    both.alter("to a directory that there is not", 0, "/no/such", topic.name, 0)
    both.alter("a partition of other brokers", 0, "two", topic.name, 0, 1, 9)
    both.arrived(0, "two", topic)
    both.show("others left", 0, topic)
    for version in range(1, 6):
        both.show("all versions", 0, topic, version=version)


@scenario("directories/before a replica is there")
def before(story: Story) -> None:
    """A broker remembers the directory for a replica that it does not have yet."""
    topic = placed(story, "t", [1, 2], [1, 2], [1, 2])
    both = Directories(story)
    for index, name in enumerate(("two", "one", "two")):
        both.alter(f"partition {index}", 0, name, topic.name, index)
    move(story, 1, "to broker 0", *((topic.name, index, [0, 2]) for index in range(3)))
    for index, name in enumerate(("two", "one", "two")):
        both.arrived(0, name, topic, index)
    wanted = {"timeoutMs": 5000, "topics": [{"name": topic.name, "partitionIndexes": [0, 1, 2]}]}
    story.until(lambda: not story.quiet("ListPartitionReassignments", 0, wanted)["topics"], "the reassignments")
    story.settle()
    both.show("reassigned", 0, topic)
    moving(story, "done", [(topic.name, [0, 1, 2])])
    shown(story, "done", topic)
    both.alter("called off", 0, "one", topic.name, 0)
    both.arrived(0, "one", topic)
    both.show("moved once more", 0, topic)


@scenario("directories/replication factor")
def factor(story: Story) -> None:
    topic = placed(story, "t", [0], [1], [2])
    wanted = {0: [0, 1, 2], 1: [1, 2], 2: [2, 0, 1]}
    move(story, 1, "more replicas", *((topic.name, index, replicas) for index, replicas in wanted.items()))

    def arrived(count: int) -> None:
        def all_in_sync() -> bool:
            asked = {"topics": [{"name": topic.name}], "allowAutoTopicCreation": False}
            (found,) = story.quiet("Metadata", 12, asked)["topics"]
            return all(sorted(one["isrNodes"]) == sorted(one["replicaNodes"]) for one in found["partitions"]) and (
                sum(len(one["isrNodes"]) for one in found["partitions"]) == count
            )

        story.until(all_in_sync, "the replicas")
        story.settle()

    arrived(8)
    moving(story, "more, done", None)
    shown(story, "more", topic)
    move(story, 1, "fewer, another leader", (topic.name, 0, [1, 2]), (topic.name, 2, [0]))
    arrived(5)
    shown(story, "fewer", topic)
    move(story, 1, "all at once", (topic.name, 0, [0]), (topic.name, 1, [0]), (topic.name, 2, [0]))
    arrived(3)
    shown(story, "one", topic)


def cordon(story: Story, step: str, broker: str, value: str | None, *, validate: bool = False) -> None:
    what = (DELETE, None) if value is None else (SET, value)
    request = change(BROKER, broker, ("cordoned.log.dirs", *what), validate=validate)
    answer = story.quiet("IncrementalAlterConfigs", 1, request, to=int(broker or 0))
    story.keep(step, "IncrementalAlterConfigs", 1, {"value": step}, answer)
    story.settle()
    story.wait(2500)  # the broker's next heartbeat passes it on


def create(story: Story, step: str, *, replicas: int = -1, rows: Any = (), to: int = 0) -> None:
    topic = {
        "name": story.named(step.replace(" ", "-").replace(",", "")),
        "numPartitions": -1 if rows else 2,
        "replicationFactor": -1 if rows else replicas,
        "assignments": [{"partitionIndex": index, "brokerIds": list(row)} for index, row in enumerate(rows)],
        "configs": [],
    }
    request = {"topics": [topic], "timeoutMs": 10_000, "validateOnly": False}

    def known(answer: Any) -> Any:
        for one in answer["topics"]:
            one["configs"] = None
        return answer

    story.ask(step, "CreateTopics", 7, request, only=known, to=to)


@scenario("directories/cordoned")
def cordoned(story: Story) -> None:
    both = Directories(story)
    topic = placed(story, "t", [0, 1], [1, 2], [2, 1])
    for index, name in ((0, "one"), (1, "one")):
        both.alter(None, index, name, topic.name, index)
        both.arrived(index, name, topic, index)
    keys = ["cordoned.log.dirs"]
    try:
        cordon(story, "both and a star", "0", f"*,{both.paths[0, 'one']}", validate=True)
        cordon(story, "an unknown one", "0", "/no/such", validate=True)
        cordon(story, "nothing", "0", "", validate=True)
        cordon(story, "one", "0", both.paths[0, "one"])
        story.ask("one", "DescribeConfigs", 4, describe(resource(BROKER, "0", keys), synonyms=True), only=no_values)
        both.show("one", 0, topic)
        both.show("one, v4", 0, topic, version=4)
        new = placed(story, "new", [0, 1], [0, 1], [0, 2])
        for index in range(3):
            both.arrived(0, "two", new, index)
        both.show("placed beside it", 0, new)
        both.alter("where it is", 0, "one", topic.name, 0)
        both.alter("to the cordoned one", 0, "one", new.name, 0)
        both.alter("from it", 0, "two", topic.name, 0)
        both.arrived(0, "two", topic, 0)
        both.alter("back to it", 0, "one", topic.name, 0)
        move(story, 1, "a new replica", (topic.name, 2, [0, 1]))
        both.arrived(0, "two", topic, 2)
        both.show("moved beside it", 0, topic, new)
        cordon(story, "all of broker 0", "0", "*")
        both.show("all of broker 0", 0, topic)
        create(story, "three replicas", replicas=3)
        create(story, "two replicas", replicas=2, to=1)
        create(story, "by hand", rows=[[0, 1]])
        create(story, "by hand, only there", rows=[[0]])
        create(story, "by hand, elsewhere", rows=[[1, 2]])
        more = {"topics": [{"name": topic.name, "count": 4, "assignments": [{"brokerIds": [0, 1]}]}]}
        story.ask("by hand", "CreatePartitions", 3, {**more, "timeoutMs": 10_000, "validateOnly": True})
        more["topics"][0]["assignments"] = None  # type: ignore[assignment]
        story.ask("anywhere", "CreatePartitions", 3, {**more, "timeoutMs": 10_000, "validateOnly": True})
        move(story, 1, "to the broker", (topic.name, 1, [1, 0]))
        story.settle()
        moving(story, "to the broker", [(topic.name, [1])])
        move(story, 1, "another order", (topic.name, 0, [1, 0]))
        move(story, 1, "away from it", (topic.name, 2, [2, 1]))
        story.settle()
        story.ask("brokers", "DescribeCluster", 2, {"endpointType": 1, "includeFencedBrokers": True})
        cordon(story, "all of all", "", "*")
        for replicas in (1, 2, 3):
            create(story, f"{replicas} nowhere", replicas=replicas)
        cordon(story, "broker 0 no more", "0", None)
        both.show("by default", 0, topic)
        cordon(story, "all no more", "", None)
        create(story, "everywhere", replicas=3)
        both.show("free", 0, topic)
    finally:
        for broker in ("0", ""):
            story.quiet("IncrementalAlterConfigs", 1, change(BROKER, broker, ("cordoned.log.dirs", DELETE, None)))
        story.settle()


def no_values(answer: Any) -> Any:
    """An answer of DescribeConfigs with whether there are values in their place: they are paths."""
    for result in answer["results"]:
        for config in result["configs"]:
            for one in (config, *config["synonyms"]):
                one["value"] = bool(one["value"])
    return answer
