"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.answers.scenarios import scenario
from tests.answers.story import Story, mine

SETTINGS = {
    "group.share.assignment.interval.ms": "0",
    "group.streams.assignment.interval.ms": "0",
    "leader.imbalance.check.interval.seconds": "300",
    "log.cleaner.dedupe.buffer.size": "2097152",
}
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OPERATIONS = {SET: "set", DELETE: "delete", APPEND: "append", SUBTRACT: "subtract"}
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


def resource(kind: int, name: str, keys: list[str] | None = None) -> dict[str, Any]:
    return {"resourceType": kind, "resourceName": name, "configurationKeys": keys}


def describe(*resources: dict[str, Any], synonyms: bool = False, documentation: bool = False) -> dict[str, Any]:
    return {"resources": list(resources), "includeSynonyms": synonyms, "includeDocumentation": documentation}


def without_place(answer: Any) -> Any:
    """A broker's configs without those that say where it runs."""
    results = [
        {**one, "configs": [config for config in one["configs"] if config["name"] not in OF_THE_PLACE]}
        for one in answer["results"]
    ]
    return {**answer, "results": results}


def alter(kind: int, name: str, *configs: tuple[str, str | None], validate: bool = False) -> dict[str, Any]:
    values = [{"name": config, "value": value} for config, value in configs]
    return {
        "resources": [{"resourceType": kind, "resourceName": name, "configs": values}],
        "validateOnly": validate,
    }


def change(kind: int, name: str, *configs: tuple[str, int, str | None], validate: bool = False) -> dict[str, Any]:
    values = [{"name": config, "configOperation": what, "value": value} for config, what, value in configs]
    return {
        "resources": [{"resourceType": kind, "resourceName": name, "configs": values}],
        "validateOnly": validate,
    }


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


@scenario("alter configs/resources v{version}", versions="AlterConfigs")
def alter_configs(story: Story, version: int) -> None:
    topic = story.topic("t", configs={"retention.ms": "5000"})
    api = "AlterConfigs"

    def ask(step: str, request: dict[str, Any], to: int = 0) -> None:
        story.ask(step, api, version, request, to=to)

    def look(step: str, *names: str) -> None:
        story.settle()
        wanted = describe(resource(TOPIC, topic.name, list(names)), synonyms=True)
        story.ask(step, "DescribeConfigs", 4, wanted)

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

    def look(step: str, *names: str) -> None:
        story.settle()
        wanted = describe(resource(TOPIC, topic.name, list(names)), synonyms=True)
        story.ask(step, "DescribeConfigs", 4, wanted)

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


BROKER_CHANGES: tuple[tuple[str, str, int, str | None], ...] = (
    ("0", "background.threads", SET, "11"),
    ("0", "background.threads", SET, "21"),
    ("0", "background.threads", SET, "4"),
    ("0", "background.threads", SET, "0"),
    ("0", "background.threads", SET, "many"),
    ("", "background.threads", SET, "11"),
    ("99", "background.threads", SET, "11"),
    ("1", "background.threads", SET, "11"),
    ("x", "background.threads", SET, "11"),
    ("-1", "background.threads", SET, "11"),
    ("0", "node.id", SET, "5"),
    ("0", "node.id", DELETE, None),
    ("", "num.partitions", SET, "3"),
    ("0", "no.such", SET, "3"),
    ("", "no.such", SET, "3"),
    ("0", "no.such", APPEND, "3"),
    ("0", "no.such", 9, "3"),
    ("0", "log.retention.ms", SET, "1000"),
    ("0", "log.retention.ms", SET, "soon"),
    ("", "log.retention.ms", SET, "-1"),
    ("", "log.retention.hours", SET, "3"),
    ("", "log.cleanup.policy", APPEND, "compact"),
    ("", "log.cleanup.policy", SUBTRACT, "delete"),
    ("", "log.cleanup.policy", SET, "shred"),
    ("", "log.segment.bytes", SET, "5"),
    ("", "log.local.retention.ms", SET, "-1"),
    ("", "log.local.retention.ms", SET, "99999999999"),
    ("", "log.local.retention.ms", SET, "5"),
    ("", "compression.type", SET, "GZIP"),
    ("", "compression.type", SET, "gzip"),
    ("0", "compression.type", SET, "gzip"),
    ("", "compression.gzip.level", SET, "10"),
    ("0", "min.insync.replicas", SET, "2"),
    ("0", "min.insync.replicas", DELETE, None),
    ("", "min.insync.replicas", SET, "2"),
    ("", "min.insync.replicas", SET, "0"),
    ("", "min.insync.replicas", DELETE, None),
    ("", "unclean.leader.election.enable", SET, "true"),
    ("", "message.max.bytes", SET, "5"),
    ("", "message.max.bytes", SET, "-5"),
    ("", "producer.id.expiration.ms", SET, "5"),
    ("", "producer.id.expiration.ms", SET, "0"),
    ("", "transaction.partition.verification.enable", SET, "false"),
    ("", "leader.replication.throttled.rate", SET, "1000"),
    ("0", "leader.replication.throttled.rate", SET, "1000"),
    ("0", "leader.replication.throttled.rate", SET, "-1"),
    ("0", "follower.replication.throttled.rate", SET, "fast"),
    ("0", "replica.alter.log.dirs.io.max.bytes.per.second", SET, "5"),
    ("0", "ssl.keystore.location", SET, "/no/such"),
    ("0", "listener.name.plaintext.ssl.keystore.type", SET, "PEM"),
    ("", "listener.name.plaintext.ssl.keystore.type", SET, "PEM"),
    ("0", "listener.name.plaintext.max.connections", SET, "5"),
    ("", "listener.name.plaintext.max.connections", SET, "5"),
    ("", "max.connections", SET, "-1"),
    ("", "max.connections.per.ip", SET, "5"),
    ("0", "sasl.enabled.mechanisms", SET, "PLAIN"),
    ("", "sasl.enabled.mechanisms", SET, "PLAIN"),
    ("0", "principal.builder.class", SET, "no.such.Builder"),
    ("", "log.cleaner.threads", SET, "2"),
    ("", "log.cleaner.threads", SET, "3"),
    ("", "log.cleaner.dedupe.buffer.size", SET, "1048576"),
    ("", "log.retention.ms", SET, "0"),
    ("", "log.retention.hours", SET, "0"),
    ("", "log.roll.ms", SET, "0"),
    ("", "log.roll.jitter.ms", SET, "-1"),
    ("", "max.connections.per.ip", SET, "0"),
    ("", "log.cleaner.io.buffer.load.factor", SET, "0.5"),
    ("", "remote.log.reader.threads", SET, "0"),
    ("", "remote.log.manager.copy.max.bytes.per.second", SET, "0"),
    ("", "group.consumer.assignment.interval.ms", SET, "500"),
    ("", "group.consumer.session.timeout.ms", SET, "50000"),
    ("", "config.providers", SET, "none"),
    ("0", "cordoned.log.dirs", SET, "/no/such"),
    ("", "cordoned.log.dirs", SET, "*"),
    ("0", "background.threads", SET, None),
    ("", "log.flush.interval.ms", SET, "5"),
)


@scenario("incremental alter configs/brokers v{version}", versions="IncrementalAlterConfigs")
def broker_changes(story: Story, version: int) -> None:
    for name, config, what, value in BROKER_CHANGES:
        request = change(BROKER, name, (config, what, value), validate=True)
        step = f"broker {name!r}: {OPERATIONS.get(what, what)} {config}={value}"
        story.ask(step, "IncrementalAlterConfigs", version, request)


@scenario("alter configs/brokers v{version}", versions="AlterConfigs")
def broker_values(story: Story, version: int) -> None:
    for name, config, what, value in BROKER_CHANGES:
        if what == SET:
            wanted = [(config, value)]
            if not name and config != "min.insync.replicas":
                wanted.append(("min.insync.replicas", "1"))
            request = alter(BROKER, name, *wanted, validate=True)
            story.ask(f"broker {name!r}: {config}={value}", "AlterConfigs", version, request)


@scenario("brokers changed")
def brokers_changed(story: Story) -> None:
    topic = story.topic("t", configs={"segment.ms": "9000"})
    names = ["log.retention.ms", "log.retention.minutes", "log.retention.hours", "log.roll.ms", "message.max.bytes"]
    of_topic = ["retention.ms", "segment.ms", "max.message.bytes"]
    change_api, describe_api = "IncrementalAlterConfigs", "DescribeConfigs"

    def look(when: str) -> None:
        story.settle()
        story.ask(f"broker 0, {when}", describe_api, 4, describe(resource(BROKER, "0", names), synonyms=True))
        story.ask(f"all brokers, {when}", describe_api, 4, describe(resource(BROKER, "", names), synonyms=True))
        wanted = describe(resource(TOPIC, topic.name, of_topic), synonyms=True)
        story.ask(f"topic at 0, {when}", describe_api, 4, wanted)
        story.ask(f"topic at 1, {when}", describe_api, 4, wanted, to=1)
        made = {
            "topics": [
                {
                    "name": story.named(f"new {when}".replace(" ", "-")),
                    "numPartitions": 1,
                    "replicationFactor": 1,
                    "configs": [],
                    "assignments": [],
                }
            ],
            "timeoutMs": 10000,
            "validateOnly": True,
        }
        story.ask(f"a new topic, {when}", "CreateTopics", 7, made)

    try:
        request = change(BROKER, "", ("log.retention.ms", SET, "7000"), ("message.max.bytes", SET, "2000"))
        story.ask("for all", change_api, 1, request)
        look("for all")
        request = change(BROKER, "1", ("log.retention.ms", SET, "8000"), ("log.roll.ms", SET, "99"))
        story.ask("for 1", change_api, 1, request, to=1)
        look("for 1")
        request = change(BROKER, "0", ("log.retention.minutes", SET, "3"), ("message.max.bytes", SET, " 3000 "))
        story.ask("for 0", change_api, 1, request)
        look("for 0")
        request = change(BROKER, "", ("log.retention.ms", DELETE, None), ("message.max.bytes", DELETE, None))
        story.ask("for all no more", change_api, 1, request)
        look("for all no more")
        request = change(BROKER, "0", ("no.such.config", SET, "1"))
        story.ask("a config that Kafka does not know", change_api, 1, request)
        story.settle()
        story.ask("shown", describe_api, 4, describe(resource(BROKER, "0", ["no.such.config"]), synonyms=True))
    finally:
        for name in ("", "0", "1"):
            gone = [(one, DELETE, None) for one in (*names, "no.such.config")]
            story.quiet(change_api, 1, change(BROKER, name, *gone), to=int(name or 0))
        story.settle()
    look("none")


@scenario("loggers")
def loggers(story: Story) -> None:
    api = "IncrementalAlterConfigs"
    for step, name, logger, what, level in (
        ("unknown level", "0", "root", SET, "LOUD"),
        ("level in lower case", "0", "root", SET, "info"),
        ("delete the root's", "0", "root", DELETE, None),
        ("append", "0", "root", APPEND, "INFO"),
        ("subtract", "0", "root", SUBTRACT, "INFO"),
        ("operation 9", "0", "root", 9, "INFO"),
        ("unknown logger", "0", "no.such.logger", SET, "INFO"),
        ("delete an unknown one", "0", "no.such.logger", DELETE, None),
        ("another broker", "1", "root", SET, "INFO"),
        ("unknown broker", "99", "root", SET, "INFO"),
        ("no number", "x", "root", SET, "INFO"),
        ("no broker", "", "root", SET, "INFO"),
        ("null", "0", "root", SET, None),
        ("validate only", "0", "root", SET, "ERROR"),
    ):
        request = change(LOGGER, name, (logger, what, level), validate=True)
        story.ask(step, api, 1, request)


GROUP_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("consumer.session.timeout.ms", "50000"),
    ("consumer.session.timeout.ms", "999"),
    ("consumer.session.timeout.ms", "60001"),
    ("consumer.session.timeout.ms", "1000"),
    ("consumer.session.timeout.ms", "x"),
    ("consumer.heartbeat.interval.ms", "5000"),
    ("consumer.heartbeat.interval.ms", "4999"),
    ("consumer.heartbeat.interval.ms", "1"),
    ("consumer.assignment.interval.ms", "0"),
    ("consumer.assignment.interval.ms", "99999"),
    ("consumer.assignor.offload.enable", "true"),
    ("share.session.timeout.ms", "50000"),
    ("share.session.timeout.ms", "5"),
    ("share.heartbeat.interval.ms", "15000"),
    ("share.heartbeat.interval.ms", "15001"),
    ("share.record.lock.duration.ms", "999"),
    ("share.record.lock.duration.ms", "15000"),
    ("share.record.lock.duration.ms", "60001"),
    ("share.delivery.count.limit", "1"),
    ("share.delivery.count.limit", "10"),
    ("share.delivery.count.limit", "11"),
    ("share.partition.max.record.locks", "99"),
    ("share.partition.max.record.locks", "4000"),
    ("share.partition.max.record.locks", "10001"),
    ("share.auto.offset.reset", "earliest"),
    ("share.auto.offset.reset", "none"),
    ("share.auto.offset.reset", "EARLIEST"),
    ("share.auto.offset.reset", "by_duration:PT1H"),
    ("share.auto.offset.reset", "by_duration:-PT1H"),
    ("share.auto.offset.reset", "by_duration:P1DT2H3.5S"),
    ("share.auto.offset.reset", "by_duration:1h"),
    ("share.auto.offset.reset", "by_duration"),
    ("share.isolation.level", "read_committed"),
    ("share.isolation.level", "READ_COMMITTED"),
    ("share.renew.acknowledge.enable", "false"),
    ("streams.session.timeout.ms", "50000"),
    ("streams.num.standby.replicas", "2"),
    ("streams.num.standby.replicas", "3"),
    ("streams.initial.rebalance.delay.ms", "0"),
    ("streams.initial.rebalance.delay.ms", "-1"),
    ("streams.rack.aware.assignment.tags", "a,b"),
    ("streams.rack.aware.assignment.tags", "a,a"),
    ("streams.assignor.name", "none"),
    ("streams.task.offset.interval.ms", "1"),
    ("streams.num.warmup.replicas", "99"),
    ("errors.deadletterqueue.topic.name", "__dead"),
    ("errors.deadletterqueue.topic.name", "dead"),
    ("errors.deadletterqueue.copy.record.enable", "true"),
    ("session.timeout.ms", "5000"),
    ("consumer.session.timeout.ms", None),
)


@scenario("incremental alter configs/groups")
def group_values(story: Story) -> None:
    group = story.named("g")
    for name, value in GROUP_CONFIGS:
        request = change(GROUP, group, (name, SET, value), validate=True)
        story.ask(f"{name}={value}", "IncrementalAlterConfigs", 1, request)
    story.ask("delete", "IncrementalAlterConfigs", 1, change(GROUP, group, ("share.isolation.level", DELETE, None)))
    story.ask("no name", "IncrementalAlterConfigs", 1, change(GROUP, "", ("share.isolation.level", DELETE, None)))
    one, two = ("consumer.session.timeout.ms", SET, "6000"), ("consumer.heartbeat.interval.ms", SET, "6000")
    story.ask("as long as a heartbeat", "IncrementalAlterConfigs", 1, change(GROUP, group, one, two))
    request = change(GROUP, group, ("share.session.timeout.ms", SET, "47000"), ("share.isolation.level", SET, "x"))
    story.ask("good and bad", "IncrementalAlterConfigs", 1, request)
    two = ("streams.num.warmup.replicas", SET, "3")
    request = change(GROUP, group, ("share.session.timeout.ms", SET, "47000"), two)
    story.ask("set", "IncrementalAlterConfigs", 1, request)
    story.settle()
    story.ask("shown", "DescribeConfigs", 4, describe(resource(GROUP, group), synonyms=True))
    story.ask("listed", "ListConfigResources", 1, {"resourceTypes": [GROUP]}, only=mine(story, "configResources"))
    request = change(GROUP, group, ("streams.rack.aware.assignment.tags", APPEND, "zone"))
    story.ask("append", "IncrementalAlterConfigs", 1, request)
    story.settle()
    keys = ["streams.rack.aware.assignment.tags"]
    story.ask("appended", "DescribeConfigs", 4, describe(resource(GROUP, group, keys), synonyms=True))


CLIENT_METRICS_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("interval.ms", "99"),
    ("interval.ms", "100"),
    ("interval.ms", "3600000"),
    ("interval.ms", "3600001"),
    ("interval.ms", "often"),
    ("metrics", ""),
    ("metrics", "*"),
    ("metrics", "a,a"),
    ("metrics", "a,,b"),
    ("match", ""),
    ("match", "client_id"),
    ("match", "client_id="),
    ("match", "client_id=a=b"),
    ("match", "client_name=a"),
    ("match", "client_id=["),
    ("match", "client_id=a.*, client_software_name = java"),
    ("match", "client_source_port=1,client_source_address=.*,client_software_version=3"),
    ("interval", "1000"),
    ("interval.ms", None),
)


@scenario("incremental alter configs/client metrics")
def client_metrics_values(story: Story) -> None:
    name = story.named("m")
    api = "IncrementalAlterConfigs"
    for config, value in CLIENT_METRICS_CONFIGS:
        story.ask(f"{config}={value}", api, 1, change(CLIENT_METRICS, name, (config, SET, value), validate=True))
    story.ask("no name", api, 1, change(CLIENT_METRICS, "", ("interval.ms", SET, "1000"), validate=True))
    story.ask("set", api, 1, change(CLIENT_METRICS, name, ("interval.ms", SET, "1000"), ("metrics", SET, "a,b")))
    story.ask("append", api, 1, change(CLIENT_METRICS, name, ("metrics", APPEND, "c")))
    story.ask("append to a number", api, 1, change(CLIENT_METRICS, name, ("interval.ms", APPEND, "1")))
    story.settle()
    story.ask("shown", "DescribeConfigs", 4, describe(resource(CLIENT_METRICS, name), synonyms=True))
    for version in (0, 1):
        wanted = {"resourceTypes": [CLIENT_METRICS]}
        story.ask("listed", "ListConfigResources", version, wanted, only=mine(story, "configResources"))
    gone = [(config, DELETE, None) for config in ("interval.ms", "metrics")]
    story.ask("delete", api, 1, change(CLIENT_METRICS, name, *gone))
    story.settle()
    story.ask("gone", "ListConfigResources", 0, {}, only=mine(story, "configResources"))
    story.ask("shown when gone", "DescribeConfigs", 4, describe(resource(CLIENT_METRICS, name), synonyms=True))


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
