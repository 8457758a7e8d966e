"""CreateTopics and CreatePartitions: numbers, names, replicas by hand, configs, and what is told of the new topic."""

from __future__ import annotations

from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.scenarios.configs import BAD_TOPIC_CONFIGS
from tests.answers.story import Story

Config = tuple[str, str | None]


def wanted(
    name: str, partitions: int = 1, factor: int = 1, *configs: Config, by_hand: dict[int, list[int]] | None = None
) -> dict[str, Any]:
    return {
        "name": name,
        "numPartitions": partitions,
        "replicationFactor": factor,
        "configs": [{"name": config, "value": value} for config, value in configs],
        "assignments": [{"partitionIndex": index, "brokerIds": ids} for index, ids in (by_hand or {}).items()],
    }


def create(*topics: dict[str, Any], timeout_ms: int = 10000, validate: bool = False) -> dict[str, Any]:
    return {"topics": list(topics), "timeoutMs": timeout_ms, "validateOnly": validate}


@scenario("create topics/numbers and names v{version}", versions="CreateTopics")
def create_topics(story: Story, version: int) -> None:
    name = story.named

    def ask(step: str, request: dict[str, Any], to: int = 0) -> None:
        story.ask(step, "CreateTopics", version, request, to=to)

    ask("new", create(wanted(name("t"), 2, 2)))
    ask("again", create(wanted(name("t"), 2, 2)))
    ask("again, elsewhere", create(wanted(name("t"), 2, 2)), to=2)
    ask("defaults", create(wanted(name("defaults"), -1, -1)))
    ask("validate", create(wanted(name("validated"), 3, 3), validate=True))
    ask("validate again", create(wanted(name("validated"), 3, 3), validate=True))
    ask("validate what there is", create(wanted(name("t")), validate=True))
    ask("validate too wide", create(wanted(name("validated"), 1, 9), validate=True))
    for factor in (4, 0, -2, 32767):
        ask(f"replication factor {factor}", create(wanted(name("x"), 1, factor)))
    for partitions in (0, -2):
        ask(f"{partitions} partitions", create(wanted(name("x"), partitions, 1)))
    ask("0 partitions with replication factor 0", create(wanted(name("x"), 0, 0)))
    ask("10001 partitions", create(wanted(name("x"), 10001, 1)))
    ask("10001 partitions in two topics", create(wanted(name("x"), 10000, 1), wanted(name("y"), 1, 1)))
    ask("2147483647 partitions", create(wanted(name("x"), 2147483647, 1)))
    for bad in ("", ".", "..", "a b", "a/b", "x" * 249 + "yz", "\u00fc", "a\u0000b"):
        ask(f"name {bad[:9]!r}", create(wanted(bad)))
    ask("the longest name", create(wanted((name("l") + "x" * 249)[:249]), validate=True))
    ask("__cluster_metadata", create(wanted("__cluster_metadata")))
    ask("twice", create(wanted(name("twice")), wanted(name("twice"))))
    ask("twice and another", create(wanted(name("twice")), wanted(name("alone")), wanted(name("twice"), 2)))
    ask("three times", create(*[wanted(name("thrice"))] * 3))
    ask("with a dot", create(wanted(name("a.b"))))
    ask("with an underscore in its place", create(wanted(name("a_b"))))
    ask("with both", create(wanted(name("a_b.c")), wanted(name("a.b_c"))))
    ask("the same once more", create(wanted(name("a.b"))))
    ask("nothing", create())
    ask("good and bad", create(wanted(name("good")), wanted(name("t")), wanted("a b"), wanted(name("u"), 0)))


@scenario("create topics/by hand v{version}", versions="CreateTopics")
def by_hand(story: Story, version: int) -> None:
    name = story.named

    def ask(step: str, rows: dict[int, list[int]], partitions: int = -1, factor: int = -1, *configs: Config) -> None:
        topic = wanted(name("h"), partitions, factor, *configs, by_hand=rows)
        story.ask(step, "CreateTopics", version, create(topic))

    made = wanted(name("hand"), -1, -1, by_hand={0: [2, 0], 1: [1, 2]})
    story.ask("two partitions", "CreateTopics", version, create(made))
    ask("with both numbers", {0: [2, 0], 1: [1, 2]}, 2, 2)
    ask("with a number of partitions", {0: [2, 0], 1: [1, 2]}, 2)
    ask("with a replication factor", {0: [2, 0], 1: [1, 2]}, -1, 2)
    ask("a broker twice", {0: [1, 1]})
    ask("an unknown broker", {0: [0, 7]})
    ask("an unknown broker twice", {0: [7, 7]})
    ask("a negative broker", {0: [-1]})
    ask("another factor", {0: [0, 1], 1: [2]})
    ask("none", {0: [0], 1: []})
    ask("none at all", {0: []})
    ask("from 1 on", {1: [0], 2: [1]})
    ask("a gap", {0: [0], 2: [1]})
    ask("a gap, and an unknown broker", {0: [0], 2: [9]})
    ask("a bad config", {0: [9]}, 5, 5, ("no.such", "1"))
    twice = wanted(name("h"), -1, -1, by_hand={0: [0]})
    twice["assignments"] *= 2
    story.ask("a partition twice", "CreateTopics", version, create(twice))


@scenario("create topics/configs v{version}", versions="CreateTopics")
def configs(story: Story, version: int) -> None:
    for config in BAD_TOPIC_CONFIGS:
        request = create(wanted(story.named("t"), 1, 1, config), validate=True)
        story.ask(f"{config[0]}={config[1]!r}", "CreateTopics", version, request, only=told_of_topic)

    def ask(step: str, *configs: Config, partitions: int = 1) -> None:
        request = create(wanted(story.named("t"), partitions, 1, *configs), validate=True)
        story.ask(step, "CreateTopics", version, request)

    ask("none")
    ask("two", ("retention.ms", "55"), ("max.message.bytes", " 77 "))
    ask("a list with blanks", ("cleanup.policy", " compact , delete "))
    ask("one twice", ("retention.ms", "1"), ("retention.ms", "2"))
    ask("one twice, the last bad", ("retention.ms", "1"), ("retention.ms", "soon"))
    ask("one twice, the first bad", ("retention.ms", "soon"), ("retention.ms", "1"))
    ask("one twice, once null", ("retention.ms", None), ("retention.ms", "1"))
    ask("conflict", ("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8"))
    ask("null and unknown", ("retention.ms", None), ("no.such", "1"))
    ask("a bad config and a bad number", ("no.such", "1"), partitions=0)
    ask("an internal one", ("internal.segment.bytes", "1000"))
    topic = story.topic("kept", configs={"retention.ms": "55", "cleanup.policy": " compact , delete"})
    described = {"resources": [{"resourceType": 2, "resourceName": topic.name, "configurationKeys": None}]}
    story.ask("shown", "DescribeConfigs", 4, described | {"includeSynonyms": True, "includeDocumentation": False})


def told_of_topic(answer: Any) -> Any:
    """Whether there is an error, and the config that was asked for where it was taken."""
    topics = [
        {**topic, "configs": [one for one in topic.get("configs") or [] if one["configSource"] == 1]}
        for topic in answer["topics"]
    ]
    return {**answer, "topics": topics}


@scenario("create topics/without time v{version}", versions="CreateTopics")
def in_no_time(story: Story, version: int) -> None:
    for timeout_ms in (0, -1):
        request = create(wanted(story.named("t"), 1, 1), timeout_ms=timeout_ms)
        story.ask(f"timeout {timeout_ms}", "CreateTopics", version, request)
    story.ask("with time", "CreateTopics", version, create(wanted(story.named("t"), 1, 1)))


@scenario("create partitions/counts and rows v{version}", versions="CreatePartitions")
def create_partitions(story: Story, version: int) -> None:
    one, two = story.topic("one", partitions=1), story.topic("two", assignments=((0, 1, 2), (1, 2, 0)))

    def row(name: str, count: int, by_hand: list[list[int]] | None = None) -> dict[str, Any]:
        assignments = None if by_hand is None else [{"brokerIds": ids} for ids in by_hand]
        return {"name": name, "count": count, "assignments": assignments}

    def ask(step: str, *topics: dict[str, Any], validate: bool = False, timeout_ms: int = 10000) -> None:
        request = {"topics": list(topics), "timeoutMs": timeout_ms, "validateOnly": validate}
        story.ask(step, "CreatePartitions", version, request)

    ask("to 3", row(one.name, 3))
    for count in (3, 2, 0, -1):
        ask(f"to {count} then", row(one.name, count))
    ask("unknown topic", row(story.named("none"), 3))
    ask("empty name", row("", 3))
    ask("bad name", row("a b", 3))
    ask("by hand", row(two.name, 3, [[2, 1, 0]]))
    ask("by hand, too few", row(two.name, 5, [[2, 1, 0]]))
    ask("by hand, too many", row(two.name, 4, [[2, 1, 0], [0, 1, 2]]))
    ask("by hand, no rows", row(two.name, 4, []))
    ask("by hand, no brokers", row(two.name, 4, [[]]))
    ask("by hand, unknown broker", row(two.name, 4, [[2, 1, 7]]))
    ask("by hand, a broker twice", row(two.name, 4, [[2, 1, 1]]))
    ask("by hand, another factor", row(two.name, 4, [[2]]))
    ask("by hand, another factor and unknown", row(two.name, 4, [[7]]))
    ask("by hand, fewer than there are", row(two.name, 2, [[7]]))
    ask("validate", row(two.name, 9), validate=True)
    ask("validate again", row(two.name, 9), validate=True)
    ask("validate what cannot be", row(two.name, 1), validate=True)
    ask("twice", row(two.name, 9), row(two.name, 10))
    ask("twice and another", row(two.name, 9), row(one.name, 4), row(two.name, 10))
    ask("good and bad", row(one.name, 5), row(story.named("none"), 2), row(two.name, 1))
    ask("10001 more", row(one.name, 10006))
    ask("10001 more in two", row(one.name, 5006), row(two.name, 5004))
    ask("nothing")
    ask("in no time", row(one.name, 6), timeout_ms=0)
    ask("in less", row(one.name, 6), timeout_ms=-1)
    ask("in time", row(one.name, 6))
