"""AlterConfigs and IncrementalAlterConfigs of brokers, their loggers, groups and client metrics."""

from __future__ import annotations

from tests.answers.config_requests import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    CONFIG_SETTINGS,
    DELETE,
    GROUP,
    LOGGER,
    OPERATIONS,
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
