"""Configs that contradict each other or are for one listener, and what was changed and is shown afterwards."""

from __future__ import annotations

from tests.answers.config_requests import (
    BROKER,
    CONFIG_SETTINGS,
    DELETE,
    GROUP,
    LOGGER,
    SET,
    TOPIC,
    change,
    describe,
    resource,
)
from tests.answers.scenarios import scenario, streams_groups
from tests.answers.scenarios.quotas import DEFAULT, EXACT, SPECIFIED, entry
from tests.answers.scenarios.quotas import alter as alter_quota
from tests.answers.scenarios.quotas import describe as describe_quota
from tests.answers.scenarios.streams_groups import Joined, subtopology, topology
from tests.answers.story import Story

SETTINGS = CONFIG_SETTINGS | streams_groups.SETTINGS
CHANGE = "IncrementalAlterConfigs"
TIERED: tuple[dict[str, str], ...] = (
    {"remote.storage.enable": "true"},
    {"remote.storage.enable": "false"},
    {"remote.storage.enable": "true", "cleanup.policy": "compact"},
    {"remote.storage.enable": "true", "cleanup.policy": "compact,delete"},
    {"remote.storage.enable": "maybe"},
    {"local.retention.ms": "10", "retention.ms": "5"},
    {"local.retention.ms": "10", "retention.ms": "5", "remote.storage.enable": "true"},
    {"local.retention.ms": "-1", "retention.ms": "5"},
    {"local.retention.ms": "-2", "retention.ms": "5"},
    {"local.retention.ms": "-3"},
    {"local.retention.bytes": "10", "retention.bytes": "5"},
    {"local.retention.bytes": "-1", "retention.bytes": "5"},
    {"local.retention.bytes": "-3"},
    {"remote.log.copy.disable": "true"},
    {"remote.log.copy.disable": "true", "remote.storage.enable": "true"},
    {"remote.log.copy.disable": "true", "local.retention.ms": "5", "retention.ms": "9"},
    {"remote.log.delete.on.disable": "true"},
    {"remote.log.delete.on.disable": "true", "remote.storage.enable": "false"},
    {"remote.copy.lag.ms": "-1"},
    {"remote.copy.lag.ms": "-2"},
    {"remote.copy.lag.ms": "10", "local.retention.ms": "5", "retention.ms": "20"},
    {"remote.copy.lag.ms": "10", "retention.ms": "5"},
    {"remote.copy.lag.bytes": "-2"},
    {"remote.copy.lag.bytes": "10", "local.retention.bytes": "5", "retention.bytes": "20"},
)
THROTTLED = ("*", "none", "", "0:1", "0:1,1:2", "0:1, 1:2", " 0:1 ", "0-1", "0:1,", "a:b", "0:1:2", "0:", "9:9", "-1:0")


@scenario("config corners/topics")
def topics(story: Story) -> None:
    topic = story.topic("t")

    def ask(step: str, configs: dict[str, str]) -> None:
        new = {
            "name": story.named("new"),
            "numPartitions": 1,
            "replicationFactor": 1,
            "assignments": [],
            "configs": [{"name": name, "value": value} for name, value in configs.items()],
        }
        only = {"topics": [new], "timeoutMs": 10_000, "validateOnly": True}
        story.ask(step, "CreateTopics", 7, only, only=lambda answer: answer["topics"][0]["errorCode"])
        changes = [(name, SET, value) for name, value in configs.items()]
        story.ask(step, CHANGE, 1, change(TOPIC, topic.name, *changes, validate=True))

    for configs in TIERED:
        ask(", ".join(f"{name}={value}" for name, value in configs.items()), configs)
    for side in ("leader", "follower"):
        for value in THROTTLED:
            ask(f"throttled {side} {value!r}", {f"{side}.replication.throttled.replicas": value})
    names = ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"]
    request = change(TOPIC, topic.name, (names[0], SET, "0:1, 1:2"), (names[1], SET, "*"))
    story.ask("set throttles", CHANGE, 1, request)
    story.settle()
    story.ask("throttles", "DescribeConfigs", 4, describe(resource(TOPIC, topic.name, names), synonyms=True))
    rates = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"]
    story.ask("set rates", CHANGE, 1, change(BROKER, "1", *((name, SET, "1000") for name in rates)), to=1)
    story.settle()
    story.ask("rates", "DescribeConfigs", 4, describe(resource(BROKER, "1", rates), synonyms=True), to=1)
    story.ask("rates away", CHANGE, 1, change(BROKER, "1", *((name, DELETE, None) for name in rates)), to=1)
    story.settle()
    story.ask("no rates", "DescribeConfigs", 4, describe(resource(BROKER, "1", rates), synonyms=True), to=1)


@scenario("config corners/loggers")
def loggers(story: Story) -> None:
    name = "root"
    wanted = describe(resource(LOGGER, "0", [name]), synonyms=True)
    for level in ("DEBUG", "FATAL", "ERROR", "WARN", "INFO", "TRACE"):
        story.ask(f"set {level}", CHANGE, 1, change(LOGGER, "0", (name, SET, level)))
        story.ask(f"at {level}", "DescribeConfigs", 4, wanted)
    story.ask("at another broker", "DescribeConfigs", 4, wanted, to=1)
    story.ask("of another broker", "DescribeConfigs", 4, describe(resource(LOGGER, "1", [name])))
    story.ask("of no broker", "DescribeConfigs", 4, describe(resource(LOGGER, "", [name])))
    story.ask("of an unknown broker", "DescribeConfigs", 4, describe(resource(LOGGER, "77", [name])))
    story.ask("of no number", "DescribeConfigs", 4, describe(resource(LOGGER, "x", [name])))
    story.ask("an unknown one", "DescribeConfigs", 4, describe(resource(LOGGER, "0", [name, "no.such.logger"])))
    documented = describe(resource(LOGGER, "0", [name]), documentation=True)
    for version in (1, 3, 4):
        story.ask("documented", "DescribeConfigs", version, documented)
    story.ask("good and bad", CHANGE, 1, change(LOGGER, "0", (name, SET, "WARN"), ("no.such.logger", SET, "WARN")))
    story.ask("after good and bad", "DescribeConfigs", 4, wanted)
    story.ask("twice", CHANGE, 1, change(LOGGER, "0", (name, SET, "WARN"), (name, SET, "INFO")))
    story.ask("set back", CHANGE, 1, change(LOGGER, "0", (name, DELETE, None)))
    for version in (0, 1, 2):
        body = {
            "resources": [{"resourceType": LOGGER, "resourceName": "0", "configs": [{"name": name, "value": "INFO"}]}]
        }
        story.ask("all at once", "AlterConfigs", version, {**body, "validateOnly": False})


LISTENER_CHANGES: tuple[tuple[str, str, int, str | None], ...] = (
    ("0", "listener.name.plaintext.max.connections", SET, "50"),
    ("0", "listener.name.plaintext.max.connections", SET, "-1"),
    ("0", "listener.name.plaintext.max.connections", SET, "many"),
    ("0", "listener.name.plaintext.max.connections", DELETE, None),
    ("0", "listener.name.PLAINTEXT.max.connections", SET, "50"),
    ("0", "listener.name.nosuch.max.connections", SET, "50"),
    ("0", "listener.name.plaintext.max.connection.creation.rate", SET, "100"),
    ("0", "listener.name.plaintext.max.connection.creation.rate", SET, "-1"),
    ("0", "listener.name.plaintext.num.network.threads", SET, "2"),
    ("0", "listener.name.plaintext.num.network.threads", SET, "0"),
    ("0", "listener.name.plaintext.num.network.threads", SET, "9"),
    ("0", "listener.name.plaintext.no.such", SET, "1"),
    ("0", "listener.name.plaintext.log.retention.ms", SET, "1000"),
    ("0", "listener.name.plaintext.ssl.keystore.location", SET, "/no/such"),
    ("0", "listener.name.plaintext.sasl.jaas.config", SET, "x"),
    ("0", "listener.name.plaintext.plain.sasl.jaas.config", SET, "x"),
    ("", "listener.name.plaintext.max.connection.creation.rate", SET, "100"),
    ("", "listener.name.plaintext.num.network.threads", SET, "2"),
    ("", "listeners", SET, "PLAINTEXT://127.0.0.1:1"),
    ("0", "advertised.listeners", SET, "OTHER://127.0.0.1:1"),
    ("0", "inter.broker.listener.name", SET, "OTHER"),
    ("0", "num.network.threads", SET, "2"),
    ("", "num.io.threads", SET, "0"),
    ("", "num.io.threads", SET, "99"),
    ("", "num.replica.fetchers", SET, "2"),
    ("", "num.recovery.threads.per.data.dir", SET, "1"),
    ("0", "metric.reporters", SET, "no.such.Reporter"),
    ("", "log.message.timestamp.type", SET, "Sometimes"),
    ("", "log.message.timestamp.type", SET, "LogAppendTime"),
    ("", "message.max.bytes", SET, "many"),
    ("", "max.connections.per.ip.overrides", SET, "127.0.0.1:5"),
    ("", "max.connections.per.ip.overrides", SET, "127.0.0.1:x"),
    ("", "max.connections.per.ip.overrides", SET, "127.0.0.1"),
)


@scenario("config corners/listeners")
def listeners(story: Story) -> None:
    for name, config, what, value in LISTENER_CHANGES:
        request = change(BROKER, name, (config, what, value), validate=True)
        story.ask(f"broker {name!r}: {config}={value}", CHANGE, 1, request)
    config = "listener.name.plaintext.max.connections"
    wanted = describe(resource(BROKER, "0", [config, "max.connections"]), synonyms=True)
    try:
        story.ask("set", CHANGE, 1, change(BROKER, "0", (config, SET, "500")))
        story.settle()
        story.ask("set", "DescribeConfigs", 4, wanted)
        story.ask("elsewhere", "DescribeConfigs", 4, describe(resource(BROKER, "1", [config])), to=1)
        story.ask("append", CHANGE, 1, change(BROKER, "0", (config, 2, "500")))
        story.ask("set for all", CHANGE, 1, change(BROKER, "", ("max.connections", SET, "900")))
        story.settle()
        story.ask("set for all", "DescribeConfigs", 4, wanted)
    finally:
        story.ask("set back", CHANGE, 1, change(BROKER, "0", (config, DELETE, None)))
        story.ask("set back for all", CHANGE, 1, change(BROKER, "", ("max.connections", DELETE, None)))
        story.settle()
    story.ask("as before", "DescribeConfigs", 4, wanted)


STREAMS_CONFIGS: list[dict[str, str]] = [
    {f"streams.{name}": value}
    for name, values in {
        "session.timeout.ms": ("999", "1000", "60000", "60001", "x", ""),
        "heartbeat.interval.ms": ("499", "500", "15000", "15001"),
        "num.standby.replicas": ("-1", "0", "2", "3"),
        "assignment.interval.ms": ("-1", "0", "15000", "15001", "99999999"),
        "initial.rebalance.delay.ms": ("3000", "99999999"),
        "task.offset.interval.ms": ("0", "60000", "99999999"),
        "num.warmup.replicas": ("-1", "0", "1"),
        "assignor.name": ("", "sticky", "other"),
        "acceptable.recovery.lag": ("-1", "0", "10000"),
        "no.such": ("1",),
    }.items()
    for value in values
]
STREAMS_CONFIGS += [
    {"streams.session.timeout.ms": "2000", "streams.heartbeat.interval.ms": "2000"},
    {"streams.session.timeout.ms": "2000", "streams.heartbeat.interval.ms": "1999"},
    {"streams.session.timeout.ms": "2000", "consumer.heartbeat.interval.ms": "5000"},
]


@scenario("config corners/Streams groups")
def of_streams(story: Story) -> None:
    topic = story.topic("t", partitions=2)
    story.settle()
    one = Joined(story, topology(subtopology(0, topic.name)))
    for configs in STREAMS_CONFIGS:
        changes = [(name, SET, value) for name, value in configs.items()]
        step = ", ".join(f"{name}={value}" for name, value in configs.items())
        story.ask(step, CHANGE, 1, change(GROUP, one.group, *changes, validate=True))
    one.beat("joins")
    changes = [("streams.heartbeat.interval.ms", SET, "700"), ("streams.num.standby.replicas", SET, "1")]
    changes += [("streams.task.offset.interval.ms", SET, "70000"), ("streams.session.timeout.ms", SET, "9000")]
    story.ask("set", CHANGE, 1, change(GROUP, one.group, *changes))
    story.settle()
    wanted = describe(resource(GROUP, one.group, [name for name, _, _ in changes]), synonyms=True)
    story.ask("set", "DescribeConfigs", 4, wanted, to=one.right)
    story.wait(500)
    one.owning("with its own configs")
    story.ask("set back", CHANGE, 1, change(GROUP, one.group, *((name, DELETE, None) for name, _, _ in changes)))
    story.settle()
    story.ask("set back", "DescribeConfigs", 4, wanted, to=one.right)
    story.wait(500)
    one.owning("with the brokers' configs")


@scenario("config corners/quotas v{version}", versions="AlterClientQuotas")
def quotas(story: Story, version: int) -> None:
    for address in (
        "10.1.2.3.4",
        "256.1.1.1",
        "10.1.2.0/24",
        "::1",
        "1::2::3",
        "10.1.2",
        "10.1.2.3:80",
        " 10.1.2.3",
        "*",
    ):
        for limit in (5.0, None):
            step = f"address {address!r}{', away' if limit is None else ''}"
            alter_quota(story, version, step, entry({"ip": address}, connection_creation_rate=limit))
        describe_quota(story, version, f"address {address!r}", ("ip", EXACT, address))
    user, client = story.named("user"), story.named("client")
    for step, entity in {
        "default address and user": [("ip", None), ("user", user)],
        "default address and any user": [("ip", None), ("user", None)],
        "all three": [("ip", "10.1.2.3"), ("user", user), ("client-id", client)],
        "a user and an unknown kind": [("user", user), ("no-such", "x")],
        "a user twice": [("user", user), ("user", None)],
        "kinds in capitals": [("USER", user)],
    }.items():
        alter_quota(story, version, step, entry(entity, producer_byte_rate=1.0))  # type: ignore[arg-type]
        alter_quota(story, version, f"{step}, away", entry(entity, producer_byte_rate=None))  # type: ignore[arg-type]
    for step, components in {
        "default address and user": (("ip", DEFAULT, None), ("user", EXACT, user)),
        "any of all three": (("ip", SPECIFIED, None), ("user", SPECIFIED, None), ("client-id", SPECIFIED, None)),
        "user and an unknown kind": (("user", EXACT, user), ("no-such", DEFAULT, None)),
        "kinds in capitals": (("USER", EXACT, user),),
    }.items():
        for strict in (False, True):
            describe_quota(story, version, f"{step}{', strict' * strict}", *components, strict=strict)
