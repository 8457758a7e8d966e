"""Streams groups: StreamsGroupHeartbeat, StreamsGroupDescribe, and what older APIs say of them."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story, mine

SETTINGS = {
    "group.streams.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.min.session.timeout.ms": "1000",
    "group.streams.session.timeout.ms": "60000",
    "group.streams.min.heartbeat.interval.ms": "500",
    "group.streams.heartbeat.interval.ms": "1000",
    "group.streams.max.size": "3",
}
NO_TASKS: list[Any] = []


def topic_info(name: str, partitions: int = 0, replication: int = 0, **configs: str) -> dict[str, Any]:
    return {
        "name": name,
        "partitions": partitions,
        "replicationFactor": replication,
        "topicConfigs": [{"key": key.replace("_", "."), "value": value} for key, value in configs.items()],
    }


def subtopology(number: int, *sources: str, **fields: Any) -> dict[str, Any]:
    return {
        "subtopologyId": str(number),
        "sourceTopics": list(sources),
        "sourceTopicRegex": [],
        "stateChangelogTopics": [],
        "repartitionSinkTopics": [],
        "repartitionSourceTopics": [],
        "copartitionGroups": [],
        **fields,
    }


def topology(*subtopologies: dict[str, Any], epoch: int = 0) -> dict[str, Any]:
    return {"epoch": epoch, "subtopologies": list(subtopologies)}


def word_count(source: str) -> dict[str, Any]:
    """Lines are split into words, which are counted by another subtopology."""
    words, counts = f"{source}-repartition", f"{source}-changelog"
    return topology(
        subtopology(0, source, repartitionSinkTopics=[words]),
        subtopology(
            1,
            repartitionSourceTopics=[topic_info(words, cleanup_policy="delete")],
            stateChangelogTopics=[topic_info(counts, cleanup_policy="compact")],
        ),
    )


class Joined:
    """A member of a streams group, as it heartbeats."""

    def __init__(
        self, story: Story, told: dict[str, Any], name: str = "one", group: str = "g", version: int = 1
    ) -> None:
        self.story, self.topology, self.name, self.version = story, told, name, version
        self.group = story.named(group)
        self.right = story.coordinator(self.group)
        self.epoch = 0
        self.tasks: dict[str, Any] = {"activeTasks": [], "standbyTasks": [], "warmupTasks": []}

    def beat(self, step: str | None, *, to: int | None = None, **fields: Any) -> dict[str, Any]:
        joins = fields.get("memberEpoch", self.epoch) == 0
        body = {
            "groupId": self.group,
            "memberId": self.name,
            "memberEpoch": self.epoch,
            "endpointInformationEpoch": 0,
            "instanceId": None,
            "rackId": None,
            "rebalanceTimeoutMs": 60_000 if joins else -1,
            "topology": self.topology if joins else None,
            "activeTasks": NO_TASKS if joins else None,
            "standbyTasks": NO_TASKS if joins else None,
            "warmupTasks": NO_TASKS if joins else None,
            "processId": f"process-{self.name}" if joins else None,
            "userEndpoint": None,
            "clientTags": [] if joins else None,
            "taskOffsets": None,
            "taskEndOffsets": None,
            "shutdownApplication": False,
            **fields,
        }
        answer = self.story.ask(step, "StreamsGroupHeartbeat", self.version, body, to=self.right if to is None else to)
        if answer.get("errorCode") == 0 and fields.get("memberEpoch", 0) >= 0:
            self.epoch = answer["memberEpoch"]
            for role in self.tasks:
                if answer[role] is not None:
                    self.tasks[role] = answer[role]
        return answer

    def owning(self, step: str | None, **fields: Any) -> dict[str, Any]:
        """Heartbeat with the tasks that it was given."""
        return self.beat(step, **self.tasks, **fields)

    def ready(self) -> None:
        """Heartbeat, unkept, until nothing is missing any more."""
        self.story.until(lambda: not self.beat(None)["status"], "the topology's topics")

    def describe(self, step: str, *groups: str, **fields: Any) -> dict[str, Any]:
        body = {
            "groupIds": list(groups) or [self.group],
            "includeAuthorizedOperations": False,
            "includeTopologyDescription": False,
            **fields,
        }
        return self.story.ask(step, "StreamsGroupDescribe", self.version, body, to=self.right)


@scenario("streams groups/join and leave v{version}", versions="StreamsGroupHeartbeat")
def join_and_leave(story: Story, version: int) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)), version=version)
    one.describe("before")
    one.beat("joins")
    one.describe("with a member")
    one.describe("with what one may do", includeAuthorizedOperations=True)
    one.describe("with a description", includeTopologyDescription=True)
    one.owning("stays")
    one.beat("stays without words")
    one.owning("in another rack", rackId="b")
    one.describe("in another rack")
    two = Joined(story, one.topology, "two", version=version)
    two.beat("another joins")
    one.describe("with two, one of whom has yet to give up")
    one.beat("learns what to give up")
    one.describe("giving up")
    one.beat("has not given up")
    one.owning("has given up")
    two.owning("gets what was given up")
    one.describe("with two")
    two.beat("leaves", memberEpoch=-1)
    one.owning("after another has left")
    one.describe("with one again")
    one.beat("joins again without leaving", memberEpoch=0)
    story.ask("listed", "ListGroups", 5, {"typesFilter": ["Streams"]}, to=one.right, only=mine(story, "groups"))
    delete = {"groupsNames": [one.group]}
    story.ask("deleted with a member", "DeleteGroups", 2, delete, to=one.right)
    one.beat("leaves as the last", memberEpoch=-1)
    one.describe("empty")
    one.beat("after leaving", memberEpoch=1)
    one.beat("leaves twice", memberEpoch=-1)
    story.ask("deleted", "DeleteGroups", 2, delete, to=one.right)
    one.describe("deleted")


@scenario("streams groups/heartbeats that are refused")
def refused(story: Story) -> None:
    topic = story.topic("t")
    story.settle()
    plain = subtopology(0, topic.name)
    one = Joined(story, topology(plain))
    for step, fields in {
        "no group": {"groupId": ""},
        "no member": {"memberId": ""},
        "an empty rack": {"rackId": ""},
        "an empty instance": {"instanceId": ""},
        "a blank member": {"memberId": " "},
        "no time to rebalance": {"rebalanceTimeoutMs": -1},
        "no topology": {"topology": None},
        "tasks": {"activeTasks": [{"subtopologyId": "0", "partitions": [0]}]},
        "standbys": {"standbyTasks": [{"subtopologyId": "0", "partitions": [0]}]},
        "warm-ups": {"warmupTasks": [{"subtopologyId": "0", "partitions": [0]}]},
        "one kind of tasks": {"standbyTasks": None},
        "an expression": {"topology": topology(subtopology(0, sourceTopicRegex=["t.*"]))},
        "a changelog of so many partitions": {
            "topology": topology(subtopology(0, topic.name, stateChangelogTopics=[topic_info("c", 3)]))
        },
        "a topic of Kafka's": {"topology": topology(subtopology(0, "__consumer_offsets"))},
        "a topic with a bad name": {"topology": topology(subtopology(0, "a b"))},
        "a sink that is a loop": {
            "topology": topology(subtopology(0, repartitionSourceTopics=[topic_info("r")], repartitionSinkTopics=["r"]))
        },
        "a repartition topic that nobody writes": {
            "topology": topology(subtopology(0, topic.name, repartitionSourceTopics=[topic_info("r")]))
        },
        "no input": {"topology": topology(subtopology(0))},
        "an epoch below leaving": {"memberEpoch": -3},
        "a static leave without an instance": {"memberEpoch": -2},
        "a group that is not there": {"memberEpoch": 1},
        "leaving a group that is not there": {"memberEpoch": -1},
    }.items():
        one.beat(step, **fields)
    one.beat("not the coordinator", to=(one.right + 1) % 3)
    one.beat("joins")
    one.beat("an epoch ahead", memberEpoch=9)
    one.beat("an epoch behind", memberEpoch=1)
    one.beat("a topology while staying", topology=one.topology)
    one.beat("a member that is not there", memberId="two", memberEpoch=1)
    one.beat("a member that is not there leaves", memberId="two", memberEpoch=-1)
    one.beat("an instance that is not there", instanceId="i")
    one.beat("a subtopology that is not there", **owned(("7", [0])))
    one.beat("a task that is not there", **owned(("0", [0, 5])))
    one.beat("offsets told twice", taskOffsets=[{"subtopologyId": "0", "partition": 0, "offset": 1}] * 2)
    one.beat("joins with another topology", memberEpoch=0, topology=topology(plain, subtopology(1, topic.name)))
    one.beat("joins with a later topology", memberEpoch=0, topology=topology(plain, epoch=3))
    for name in ("two", "three"):
        Joined(story, one.topology, name).beat(None)
    Joined(story, one.topology, "four").beat("one too many")
    classic = {"groupId": one.group, "sessionTimeoutMs": 10_000, "rebalanceTimeoutMs": 10_000, "memberId": ""}
    classic |= {"protocolType": "consumer", "protocols": [{"name": "range", "metadata": ""}]}
    story.ask("a classic member", "JoinGroup", 3, classic, to=one.right)
    story.ask(
        "described as another kind",
        "ConsumerGroupDescribe",
        1,
        {"groupIds": [one.group], "includeAuthorizedOperations": False},
        to=one.right,
    )
    one.describe("several", one.group, "", "streams-groups-not-there")


def owned(*active: tuple[str, list[int]]) -> dict[str, Any]:
    tasks = [{"subtopologyId": name, "partitions": partitions} for name, partitions in active]
    return {"activeTasks": tasks, "standbyTasks": [], "warmupTasks": []}


@scenario("streams groups/topics that are missing")
def missing(story: Story) -> None:
    topic = story.topic("t", partitions=3)
    story.settle()
    nowhere = f"{topic.name}-nowhere"
    lost = Joined(story, topology(subtopology(0, nowhere, topic.name)), group="lost")
    lost.beat("without its source")
    lost.describe("without its source")
    lost.beat("still without its source")
    counter = Joined(story, word_count(topic.name), group="counter")
    counter.beat("without its own topics")
    counter.ready()
    counter.describe("with its own topics")
    story.settle()
    story.ask(
        "its own topics",
        "DescribeConfigs",
        4,
        {
            "resources": [
                {"resourceType": 2, "resourceName": f"{topic.name}-{one}", "configurationKeys": ["cleanup.policy"]}
                for one in ("repartition", "changelog")
            ],
            "includeSynonyms": False,
            "includeDocumentation": False,
        },
        to=counter.right,
    )
    wide, narrow = story.topic("wide", partitions=4), story.topic("narrow", partitions=2)
    story.settle()
    group = {"sourceTopics": [0, 1], "sourceTopicRegex": [], "repartitionSourceTopics": []}
    unequal = Joined(
        story, topology(subtopology(0, wide.name, narrow.name, copartitionGroups=[group])), group="unequal"
    )
    unequal.beat("topics that are not alike")
    unequal.describe("topics that are not alike")
    fixed = subtopology(
        1,
        wide.name,
        repartitionSourceTopics=[topic_info(f"{topic.name}-fixed", 3)],
        copartitionGroups=[{"sourceTopics": [0], "sourceTopicRegex": [], "repartitionSourceTopics": [0]}],
    )
    told = topology(subtopology(0, narrow.name, repartitionSinkTopics=[f"{topic.name}-fixed"]), fixed)
    Joined(story, told, group="fixed").beat("a repartition topic with its own number")
    changelog = topic_info(narrow.name)
    told = topology(subtopology(0, wide.name, stateChangelogTopics=[changelog]))
    Joined(story, told, group="other").beat("a changelog that has another number")


@scenario("streams groups/standbys")
def standbys(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, word_count(topic.name))
    change = {
        "resources": [
            {
                "resourceType": 32,
                "resourceName": one.group,
                "configs": [{"name": "streams.num.standby.replicas", "configOperation": 0, "value": "1"}],
            }
        ],
        "validateOnly": False,
    }
    one.beat(None)
    one.ready()
    one.owning("before")
    story.quiet("IncrementalAlterConfigs", 1, change, to=0)
    story.settle()
    story.until(
        lambda: (
            story.quiet(
                "DescribeConfigs",
                4,
                {"resources": [{"resourceType": 32, "resourceName": one.group, "configurationKeys": None}]},
                to=one.right,
            )["results"][0]["configs"]
            != []
        ),
        "the group's config",
    )
    one.owning("with standbys, alone")
    two = Joined(story, one.topology, "two")
    two.beat("another process", taskOffsets=[{"subtopologyId": "1", "partition": 0, "offset": 4}])
    one.owning("is to give up")
    one.owning("has given up")
    two.owning("gets tasks")
    one.owning("settled, the first")
    two.owning("settled, the second")
    one.describe("settled")
    three = Joined(story, one.topology, "three")
    three.beat("another thread of the second", processId="process-two")
    for member in (one, two, one, two, three):
        member.owning(None)
    one.describe("with three")


@scenario("streams groups/static members")
def static(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    one.beat("joins", instanceId="i")
    one.owning("stays", instanceId="i")
    other = Joined(story, one.topology, "other")
    other.beat("in its place while it is there", instanceId="i")
    other.beat("stays in its place", instanceId="i", memberEpoch=1)
    other.beat("leaves in its place", instanceId="i", memberEpoch=-1)
    one.beat("goes away", instanceId="i", memberEpoch=-2)
    one.describe("away")
    one.beat("stays, though away", instanceId="i")
    other.beat("takes its place", instanceId="i", processId="process-one")
    other.owning("stays there", instanceId="i")
    one.describe("replaced")
    other.beat("leaves", instanceId="i", memberEpoch=-1)
    one.describe("gone")


@scenario("streams groups/endpoints and shutdown")
def endpoints(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    at = {"host": "one.example", "port": 7001}
    one.beat("joins with an endpoint", userEndpoint=at, clientTags=[{"key": "zone", "value": "a"}])
    one.owning("says it again", userEndpoint=at)
    one.owning("moves", userEndpoint={"host": "one.example", "port": 7002})
    one.owning("knows of it", endpointInformationEpoch=1)
    one.describe("with an endpoint")
    one.owning(
        "with offsets",
        taskOffsets=[{"subtopologyId": "0", "partition": 1, "offset": 9}],
        taskEndOffsets=[{"subtopologyId": "0", "partition": 1, "offset": 11}],
    )
    one.describe("with offsets")
    one.owning("asks all to end", shutdownApplication=True)
    two = Joined(story, one.topology, "two")
    two.beat("joins nevertheless")
    lost = Joined(story, topology(subtopology(0, f"{topic.name}-nowhere")), group="lost")
    lost.beat("an endpoint without sources", userEndpoint=at)


@scenario("streams groups/offsets")
def offsets(story: Story) -> None:
    topic, other = story.topic("t", partitions=2), story.topic("other")
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    one.beat(None)
    first = one.epoch
    two = Joined(story, one.topology, "two")
    two.beat(None)
    for _ in range(2):
        one.owning(None)
    two.owning(None)

    def commit(step: str, name: str, partition: int, version: int = 9, **fields: Any) -> None:
        body = {
            "groupId": one.group,
            "generationIdOrMemberEpoch": one.epoch,
            "memberId": one.name,
            "groupInstanceId": None,
            "retentionTimeMs": -1,
            "topics": [{"name": name, "partitions": [{"partitionIndex": partition, "committedOffset": 5}]}],
            **fields,
        }
        story.ask(step, "OffsetCommit", version, body, to=one.right)

    commit("in its epoch", topic.name, 0)
    commit("of another topic", other.name, 0)
    commit("in an older version", topic.name, 0, 8)
    commit("in a later epoch", topic.name, 0, generationIdOrMemberEpoch=99)
    for partition in range(2):
        commit(f"in an earlier epoch, {partition}", topic.name, partition, generationIdOrMemberEpoch=first)
    commit("of another topic in an earlier epoch", other.name, 0, generationIdOrMemberEpoch=first)
    commit("by nobody", topic.name, 0, generationIdOrMemberEpoch=-1, memberId="")
    fetch = {"groupId": one.group, "topics": None}
    for step, who in {
        "by nobody": {"memberId": None, "memberEpoch": -1},
        "by a member": {"memberId": one.name, "memberEpoch": one.epoch},
        "in an earlier epoch": {"memberId": one.name, "memberEpoch": first},
        "by somebody else": {"memberId": "three", "memberEpoch": 1},
    }.items():
        story.ask(f"read {step}", "OffsetFetch", 9, {"groups": [fetch | who], "requireStable": False}, to=one.right)
    delete = {"groupId": one.group, "topics": [{"name": topic.name, "partitions": [{"partitionIndex": 0}]}]}
    story.ask("delete what is read", "OffsetDelete", 0, delete, to=one.right)


@scenario("streams groups/topology descriptions")
def descriptions(story: Story) -> None:
    body = {
        "groupId": story.named("g"),
        "memberId": "one",
        "topologyEpoch": 0,
        "topologyDescription": {"subtopologies": [], "globalStores": []},
    }
    right = story.coordinator(story.named("g"))
    story.ask("told", "StreamsGroupTopologyDescriptionUpdate", 0, body, to=right)
