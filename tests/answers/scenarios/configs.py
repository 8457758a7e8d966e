"""DescribeConfigs, and AlterConfigs and IncrementalAlterConfigs of topics; ListConfigResources."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.answers.config_requests import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    CONFIG_SETTINGS,
    DELETE,
    GROUP,
    LOGGER,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    change,
    describe,
    resource,
)
from tests.answers.scenarios import scenario
from tests.answers.story import Story, mine

SETTINGS = CONFIG_SETTINGS
NAMED_TOPIC_CONFIGS = ["retention.ms", "cleanup.policy", "max.message.bytes", "min.insync.replicas", "preallocate"]
OF_THE_PLACE = frozenset(
    {
        "advertised.listeners",
        "controller.listener.names",
        "controller.quorum.voters",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "num.io.threads",
        "num.network.threads",
        "process.roles",
    }
)
"""What the recorded brokers were started with to run where they ran."""


def without_place(answer: Any) -> Any:
    """A broker's configs without those that say where it runs."""
    results = [
        {**one, "configs": [config for config in one["configs"] if config["name"] not in OF_THE_PLACE]}
        for one in answer["results"]
    ]
    return {**answer, "results": results}


@scenario("describe configs/resources v{version}", versions="DescribeConfigs")
def describe_configs(story: Story, version: int) -> None:
    topic = story.topic("t", configs={"retention.ms": "86400000", "cleanup.policy": "compact,delete"})

    def ask(step: str, request: dict[str, Any], only: Callable[[Any], Any] | None = None) -> None:
        story.ask(step, "DescribeConfigs", version, request, only=only)

    ask("a topic, all", describe(resource(TOPIC, topic.name)))
    ask("a topic, no keys", describe(resource(TOPIC, topic.name, [])))
    ask("a topic, named", describe(resource(TOPIC, topic.name, NAMED_TOPIC_CONFIGS)))
    ask("a topic, with synonyms", describe(resource(TOPIC, topic.name), synonyms=True))
    ask("a topic, with documentation", describe(resource(TOPIC, topic.name), documentation=True))
    ask("a topic, unknown keys", describe(resource(TOPIC, topic.name, ["no.such", "retention.ms"])))
    ask("a topic twice", describe(*[resource(TOPIC, topic.name, ["retention.ms"])] * 2))
    ask("an unknown topic", describe(resource(TOPIC, story.named("none"))))
    ask("no topic name", describe(resource(TOPIC, "")))
    ask("a bad topic name", describe(resource(TOPIC, "a b")))
    ask("a long topic name", describe(resource(TOPIC, "x" * 250)))
    ask("nothing", describe())
    ask("a type that there is not", describe(resource(77, "x")))
    ask("a type of 0", describe(resource(0, "x")))
    ask("a good and an unknown type", describe(resource(TOPIC, topic.name, ["retention.ms"]), resource(77, "x")))
    ask(
        "good and bad",
        describe(resource(TOPIC, topic.name, ["retention.ms"]), resource(TOPIC, story.named("none")), resource(4, "9")),
    )
    ask("another broker", describe(resource(BROKER, "1")))
    ask("an unknown broker", describe(resource(BROKER, "99")))
    ask("a broker of no number", describe(resource(BROKER, "x")))
    ask("a negative broker", describe(resource(BROKER, "-1")))
    ask("all brokers", describe(resource(BROKER, "")))
    ask("all brokers, with synonyms", describe(resource(BROKER, ""), synonyms=True))
    ask("a broker, all", describe(resource(BROKER, "0")), without_place)
    ask("a broker, with synonyms", describe(resource(BROKER, "0"), synonyms=True), without_place)
    ask("a broker, with documentation", describe(resource(BROKER, "0"), documentation=True), without_place)
    ask("a broker, named", describe(resource(BROKER, "0", ["log.retention.ms", "log.retention.hours", "node.id"])))
    ask("loggers of another broker", describe(resource(LOGGER, "1")))
    ask("loggers of no broker", describe(resource(LOGGER, "")))
    ask("loggers of no number", describe(resource(LOGGER, "x")))
    ask("a group, all", describe(resource(GROUP, story.named("g"))))
    ask("a group, with synonyms", describe(resource(GROUP, story.named("g")), synonyms=True))
    ask("a group, with documentation", describe(resource(GROUP, story.named("g")), documentation=True))
    ask("no group", describe(resource(GROUP, "")))
    ask("client metrics", describe(resource(CLIENT_METRICS, story.named("m")), synonyms=True, documentation=True))
    ask("no client metrics", describe(resource(CLIENT_METRICS, "")))


BAD_TOPIC_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("no.such", "1"),
    ("retention.ms", "soon"),
    ("retention.ms", "-2"),
    ("retention.ms", ""),
    ("retention.ms", " 5 "),
    ("retention.ms", "+5"),
    ("retention.ms", "1.5"),
    ("retention.ms", "9223372036854775808"),
    ("retention.bytes", "-7"),
    ("cleanup.policy", "shred"),
    ("cleanup.policy", "Compact"),
    ("cleanup.policy", ""),
    ("cleanup.policy", "compact,"),
    ("cleanup.policy", "compact,compact"),
    ("cleanup.policy", " compact , delete "),
    ("compression.type", "none"),
    ("compression.type", "GZIP"),
    ("compression.gzip.level", "0"),
    ("compression.gzip.level", "-1"),
    ("compression.lz4.level", "18"),
    ("compression.zstd.level", "22"),
    ("compression.zstd.level", "23"),
    ("preallocate", "yes"),
    ("preallocate", "TRUE"),
    ("min.insync.replicas", "0"),
    ("min.insync.replicas", "2147483648"),
    ("min.cleanable.dirty.ratio", "1.5"),
    ("min.cleanable.dirty.ratio", "0"),
    ("min.cleanable.dirty.ratio", "1e-1"),
    ("min.cleanable.dirty.ratio", "half"),
    ("segment.bytes", "1048575"),
    ("segment.bytes", "1048576"),
    ("internal.segment.bytes", "100"),
    ("segment.ms", "0"),
    ("segment.index.bytes", "3"),
    ("message.timestamp.type", "logappendtime"),
    ("message.timestamp.before.max.ms", "-1"),
    ("message.timestamp.difference.max.ms", "5"),
    ("message.format.version", "3.0"),
    ("message.downconversion.enable", "false"),
    ("max.message.bytes", "-1"),
    ("max.decompressed.message.bytes", "0"),
    ("max.compaction.lag.ms", "0"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "0:1,1:2"),
    ("leader.replication.throttled.replicas", "0-1"),
    ("follower.replication.throttled.replicas", "none"),
    ("follower.replication.throttled.replicas", ""),
    ("remote.storage.enable", "true"),
    ("remote.storage.enable", "false"),
    ("remote.log.copy.disable", "true"),
    ("remote.log.delete.on.disable", "true"),
    ("local.retention.ms", "-3"),
    ("local.retention.ms", "99999999999"),
    ("local.retention.bytes", "5"),
    ("remote.copy.lag.ms", "5"),
    ("errors.deadletterqueue.group.enable", "true"),
    ("Retention.ms", "5"),
    ("retention.ms", None),
    ("", "5"),
)


@scenario("alter configs/values v{version}", versions="AlterConfigs")
def alter_values(story: Story, version: int) -> None:
    topic = story.topic("t")
    for name, value in BAD_TOPIC_CONFIGS:
        story.ask(f"{name}={value!r}", "AlterConfigs", version, alter(TOPIC, topic.name, (name, value), validate=True))


@scenario("incremental alter configs/values v{version}", versions="IncrementalAlterConfigs")
def incremental_values(story: Story, version: int) -> None:
    topic = story.topic("t")
    for name, value in BAD_TOPIC_CONFIGS:
        request = change(TOPIC, topic.name, (name, SET, value), validate=True)
        story.ask(f"{name}={value!r}", "IncrementalAlterConfigs", version, request)


def show(story: Story, topic: str, step: str, *names: str) -> None:
    """What a topic's configs are now, and where they come from."""
    story.settle()
    story.ask(step, "DescribeConfigs", 4, describe(resource(TOPIC, topic, list(names)), synonyms=True))


@scenario("alter configs/resources v{version}", versions="AlterConfigs")
def alter_configs(story: Story, version: int) -> None:
    topic = story.topic("t", configs={"retention.ms": "5000"})
    api = "AlterConfigs"

    def ask(step: str, request: dict[str, Any], to: int = 0) -> None:
        story.ask(step, api, version, request, to=to)

    look = partial(show, story, topic.name)

    ask("validate only", alter(TOPIC, topic.name, ("max.message.bytes", "3000"), validate=True))
    look("after validating", "retention.ms", "max.message.bytes")
    ask("one in place of another", alter(TOPIC, topic.name, ("max.message.bytes", "3000")))
    look("after", "retention.ms", "max.message.bytes")
    ask("the same again, at another broker", alter(TOPIC, topic.name, ("max.message.bytes", "3000")), to=1)
    ask("none", alter(TOPIC, topic.name))
    look("after none", "retention.ms", "max.message.bytes")
    ask("a config twice", alter(TOPIC, topic.name, ("retention.ms", "1"), ("retention.ms", "2")))
    ask("conflict", alter(TOPIC, topic.name, ("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")))
    # A resource that comes twice is met with silence: AlterConfigsRequest fails where nothing answers any more.
    mixed = alter(TOPIC, topic.name, ("retention.ms", "7000"))
    mixed["resources"] += alter(TOPIC, story.named("none"), ("retention.ms", "1"))["resources"]
    mixed["resources"] += alter(77, "x")["resources"]
    mixed["resources"] += alter(BROKER, "1")["resources"]
    ask("good and bad", mixed)
    look("after good and bad", "retention.ms")
    ask("unknown topic", alter(TOPIC, story.named("none"), ("retention.ms", "1")))
    ask("unknown topic, bad value", alter(TOPIC, story.named("none"), ("retention.ms", "soon")))
    ask("empty name", alter(TOPIC, "", ("retention.ms", "1")))
    ask("bad name", alter(TOPIC, "a b", ("retention.ms", "1")))
    ask("nothing", {"resources": [], "validateOnly": False})
    ask("type 77", alter(77, "x"))
    ask("type 0", alter(0, "x"))
    ask("loggers", alter(LOGGER, "0", ("root", "INFO")))
    ask("unknown broker", alter(BROKER, "99", ("background.threads", "11"), validate=True))
    ask("another broker", alter(BROKER, "1", ("background.threads", "11"), validate=True))
    ask("a broker of no number", alter(BROKER, "x", ("background.threads", "11"), validate=True))
    ask("its own broker", alter(BROKER, "0", ("background.threads", "11"), validate=True))
    ask("its own broker, as +0", alter(BROKER, "+0", ("background.threads", "11"), validate=True))
    ask("needs a restart", alter(BROKER, "0", ("node.id", "5"), validate=True))
    ask("all brokers, without min.insync.replicas", alter(BROKER, "", ("background.threads", "11"), validate=True))
    kept = (("background.threads", "11"), ("min.insync.replicas", "1"))
    ask("all brokers", alter(BROKER, "", *kept, validate=True))
    group = story.named("g")
    ask("a group", alter(GROUP, group, ("consumer.session.timeout.ms", "50000")))
    story.settle()
    story.ask("the group after", "DescribeConfigs", 4, describe(resource(GROUP, group), synonyms=True))
    ask("a group, unknown config", alter(GROUP, group, ("session.timeout.ms", "50000")))
    ask("a group, out of range", alter(GROUP, group, ("consumer.session.timeout.ms", "500")))
    ask("no group", alter(GROUP, "", ("consumer.session.timeout.ms", "50000")))
    ask("a group, none", alter(GROUP, group))
    metrics = story.named("m")
    ask("client metrics", alter(CLIENT_METRICS, metrics, ("interval.ms", "1000"), ("metrics", "a,b")))
    story.settle()
    story.ask("client metrics after", "DescribeConfigs", 4, describe(resource(CLIENT_METRICS, metrics), synonyms=True))
    ask("client metrics, unknown config", alter(CLIENT_METRICS, metrics, ("interval", "1000")))
    ask("client metrics, none", alter(CLIENT_METRICS, metrics))


@scenario("incremental alter configs/resources v{version}", versions="IncrementalAlterConfigs")
def incremental_alter_configs(story: Story, version: int) -> None:
    topic = story.topic("t", configs={"retention.ms": "5000"})
    api = "IncrementalAlterConfigs"

    def ask(step: str, request: dict[str, Any], to: int = 0) -> None:
        story.ask(step, api, version, request, to=to)

    look = partial(show, story, topic.name)

    ask("validate only", change(TOPIC, topic.name, ("max.message.bytes", SET, "3000"), validate=True))
    look("after validating", "retention.ms", "max.message.bytes")
    ask("set", change(TOPIC, topic.name, ("max.message.bytes", SET, "3000")))
    look("after set", "retention.ms", "max.message.bytes")
    ask("set the same", change(TOPIC, topic.name, ("max.message.bytes", SET, "3000")), to=2)
    ask("delete", change(TOPIC, topic.name, ("max.message.bytes", DELETE, None)))
    ask("delete with a value", change(TOPIC, topic.name, ("max.message.bytes", DELETE, "3000")))
    ask("delete what is not set", change(TOPIC, topic.name, ("segment.ms", DELETE, None)))
    ask("delete what there is not", change(TOPIC, topic.name, ("no.such", DELETE, None)))
    look("after delete", "retention.ms", "max.message.bytes")
    ask("append", change(TOPIC, topic.name, ("cleanup.policy", APPEND, "compact")))
    look("after append", "cleanup.policy")
    ask("append what is there", change(TOPIC, topic.name, ("cleanup.policy", APPEND, "compact")))
    ask("append a bad value", change(TOPIC, topic.name, ("cleanup.policy", APPEND, "shred")))
    ask("append null", change(TOPIC, topic.name, ("cleanup.policy", APPEND, None)))
    ask("subtract", change(TOPIC, topic.name, ("cleanup.policy", SUBTRACT, "delete")))
    look("after subtract", "cleanup.policy")
    ask("subtract what is not there", change(TOPIC, topic.name, ("cleanup.policy", SUBTRACT, "delete")))
    ask("subtract the last", change(TOPIC, topic.name, ("cleanup.policy", SUBTRACT, "compact")))
    look("after subtract the last", "cleanup.policy")
    ask("append to a number", change(TOPIC, topic.name, ("retention.ms", APPEND, "5")))
    ask("subtract from a number", change(TOPIC, topic.name, ("retention.ms", SUBTRACT, "5")))
    ask("append to what there is not", change(TOPIC, topic.name, ("no.such", APPEND, "5")))
    ask("operation 9", change(TOPIC, topic.name, ("retention.ms", 9, "5")))
    ask("set null", change(TOPIC, topic.name, ("retention.ms", SET, None)))
    ask("a config twice", change(TOPIC, topic.name, ("retention.ms", SET, "1"), ("retention.ms", DELETE, None)))
    both = change(TOPIC, topic.name, ("retention.ms", SET, "7"))
    both["resources"] *= 2
    ask("a topic twice", both)
    mixed = change(TOPIC, topic.name, ("retention.ms", SET, "7000"))
    mixed["resources"] += change(TOPIC, story.named("none"), ("retention.ms", SET, "1"))["resources"]
    mixed["resources"] += change(77, "x")["resources"]
    mixed["resources"] += change(LOGGER, "7", ("root", SET, "INFO"))["resources"]
    ask("good and bad", mixed)
    look("after good and bad", "retention.ms")
    ask("conflict", change(TOPIC, topic.name, ("min.compaction.lag.ms", SET, "9"), ("max.compaction.lag.ms", SET, "8")))
    ask("unknown topic", change(TOPIC, story.named("none"), ("retention.ms", SET, "1")))
    ask("unknown topic, bad value", change(TOPIC, story.named("none"), ("retention.ms", SET, "soon")))
    ask("unknown topic, no change", change(TOPIC, story.named("none")))
    ask("empty name", change(TOPIC, "", ("retention.ms", SET, "1")))
    ask("bad name", change(TOPIC, "a b", ("retention.ms", SET, "1")))
    ask("nothing", {"resources": [], "validateOnly": False})
    ask("no change", change(TOPIC, topic.name))
    ask("type 77", change(77, "x"))
    ask("type 0", change(0, "x"))


@scenario("list config resources")
def list_config_resources(story: Story) -> None:
    story.topic("t")
    api = "ListConfigResources"
    mine_only = mine(story, "configResources")
    story.ask("v0", api, 0, {}, only=mine_only)
    story.ask("topics", api, 1, {"resourceTypes": [TOPIC]}, only=mine_only)
    story.ask("brokers", api, 1, {"resourceTypes": [BROKER]})
    story.ask("loggers", api, 1, {"resourceTypes": [LOGGER]})
    story.ask("brokers and loggers", api, 1, {"resourceTypes": [BROKER, LOGGER]})
    story.ask("groups", api, 1, {"resourceTypes": [GROUP]}, only=mine_only)
    story.ask("all", api, 1, {"resourceTypes": []}, only=mine_only)
    story.ask("a type that there is not", api, 1, {"resourceTypes": [77]})
    story.ask("one that there is not among others", api, 1, {"resourceTypes": [TOPIC, 0]})
