"""The values that fields of random requests have, by the field's name in Kafka's JSON: mostly right ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from tests.answers.scenarios.fetch import UNKNOWN_ID

NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
METADATA_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
TOPICS: Final = ("t0", "t1", "t2", "t3")
MORE_TOPICS: Final = (*TOPICS, "x.y", "x_y", "new", "new2", "other")
PLACED_BY_CHANCE: Final = "z-placed-by-chance"
WRONG_NAMES: Final = ("", "a b", "..", ".", "x" * 250, "ü", "__cluster_metadata", "$name nowhere")
INTEGERS: Final = (0, 0, 1, 1, 2, 3, -1, -2, 5, 7, 99, 1000, 2**31 - 1, -(2**31))

TOPIC_CONFIGS: Final = (
    *(
        "cleanup.policy",
        "compression.type",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
    ),
    *("delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms", "index.interval.bytes"),
    *("follower.replication.throttled.replicas", "leader.replication.throttled.replicas", "internal.segment.bytes"),
    *("local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.message.bytes"),
    *("message.timestamp.after.max.ms", "message.timestamp.before.max.ms", "message.timestamp.type"),
    *("min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate", "retention.bytes"),
    *("remote.copy.lag.bytes", "remote.copy.lag.ms", "remote.log.copy.disable", "remote.log.delete.on.disable"),
    *("remote.storage.enable", "retention.ms", "segment.bytes", "segment.index.bytes", "segment.jitter.ms"),
    *("segment.ms", "unclean.leader.election.enable", "no.such", ""),
)
BROKER_CONFIGS: Final = (
    *("advertised.listeners", "auto.create.topics.enable", "background.threads", "broker.id", "compression.type"),
    *("cordoned.log.dirs", "default.replication.factor", "follower.replication.throttled.rate", "group.max.size"),
    *("group.consumer.session.timeout.ms", "leader.replication.throttled.rate", "listeners", "log.cleaner.threads"),
    *("listener.name.plaintext.max.connections", "listener.name.x.ssl.keystore.location", "log.cleanup.policy"),
    *("log.cleaner.dedupe.buffer.size", "log.cleaner.io.max.bytes.per.second", "log.dirs", "log.roll.hours"),
    *("log.flush.interval.messages", "log.flush.interval.ms", "log.index.interval.bytes", "log.local.retention.ms"),
    *("log.message.timestamp.type", "log.preallocate", "log.retention.bytes", "log.retention.hours", "log.roll.ms"),
    *("log.retention.minutes", "log.retention.ms", "log.segment.bytes", "max.connection.creation.rate"),
    *("max.connections", "max.connections.per.ip", "max.connections.per.ip.overrides", "message.max.bytes"),
    *("metric.reporters", "node.id", "num.io.threads", "num.network.threads"),
    *("num.recovery.threads.per.data.dir", "num.replica.fetchers", "principal.builder.class"),
    *("producer.id.expiration.ms", "remote.log.index.file.cache.total.size.bytes", "replica.fetch.max.bytes"),
    *("sasl.enabled.mechanisms", "ssl.keystore.type", "transaction.partition.verification.enable"),
    *("unclean.leader.election.enable", "my.own", ""),
)
GROUP_CONFIGS: Final = (
    *("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "share.session.timeout.ms", "no.such"),
    *("share.heartbeat.interval.ms", "share.record.lock.duration.ms", "share.auto.offset.reset"),
    *("share.isolation.level", "share.delivery.count.limit", "streams.session.timeout.ms"),
    *("streams.num.standby.replicas", "streams.heartbeat.interval.ms", "interval.ms"),
)
CLIENT_METRICS_CONFIGS: Final = ("interval.ms", "metrics", "match", "x")
LOGGERS: Final = ("root", "kafka.server", "org.apache.kafka", "kafka", "no.such", "org.apache.kafka.common")
CONFIG_VALUES: Final = (
    *(None, "", "0", "1", "-1", "-2", "5", "100", "1000", "60000", "604800000", "1048576", "2147483647"),
    *("2147483648", "9223372036854775807", "true", "false", "TRUE", "yes", "delete", "compact", "compact,delete"),
    *("compact, delete", "none", "gzip", "snappy", "lz4", "zstd", "producer", "uncompressed", "CreateTime"),
    *("LogAppendTime", "0.5", "1.0", "1.5", "*", "0:1", "0:1,1:2", "a", "a,b", "x=1", "INFO", "DEBUG", "info"),
    *("read_committed", "latest", "earliest", " 7 ", "3,4", "client_id=a.*"),
)
PATCHES: Final = (
    *([">h", 21, attributes] for attributes in (0x20, 8, 5, 0x10, 0x30, 0x40)),
    *([">q", 0, 5], [">i", 12, 3], [">i", 57, 0], [">i", 23, 2], [">q", 35, -1], [">q", 27, -1]),
    *([">h", 51, 7], [">q", 43, -2], [">i", 53, -1]),
)
"""Fields of a batch that say what is wrong: struct's form, place, value."""

EASY: Final[dict[str, Sequence[Any]]] = {
    "configOperation": (0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, -1),
    "acks": (*([-1] * 6), 1, 1, 1, 0, 2, -2),
    "maxWaitMs": (0, 0, 0, 200),
    "minBytes": (0, 0, 1, 1, -1, 100),
    "maxBytes": (*([1 << 20] * 8), 0, 1, -1, 80, 100, 150, 200),
    "fetchOffset": (0, 0, 0, 1, 1, 2, 3, 4, 5, 6, -1, -2, 99),
    "currentLeaderEpoch": (*([-1] * 6), 0, 0, 0, 1, 2, 7, -2),
    "timestamp": (-1, -1, -2, -2, -3, -4, -5, -6, -7, 0, "$time 0", "$time 1000", "$time 5000"),
    "isolationLevel": (0, 0, 0, 1, 1, 2, -1),
    "replicaId": (*([-1] * 12), -2, -3),
    "logStartOffset": (-1, -1, -1, 0, 5),
    "rackId": ("", "", "", "a", "b", "z"),
    "clusterId": (None,),
    "transactionalId": (None,),
    "numPartitions": (-1, 1, 1, 2, 3, 0, -2),
    "replicationFactor": (-1, 1, 1, 2, 3, 0, 4),
    "count": (1, 2, 2, 3, 3, 4, 5, 0, -1),
    "electionType": (0, 0, 0, 1, 1, 2, -1),
    "path": ("/nowhere", "", "rel"),
    "principal": ("User:a", "User:b", "User:a", "Group:a", "a", "", "User:*"),
    "host": ("*", "*", "10.0.0.1", "", "h"),
    "resourceTypeFilter": (*([1] * 4), *([2] * 8), 3, 3, 4, 4, 5, 6, 7, 0, 9),
    "resourceNameFilter": ("$name t0", "$name t1", "$name t0", "*", "", "kafka-cluster"),
    "patternTypeFilter": (*([3] * 9), 4, 4, 4, 1, 1, 2, 2, 0, 9),
    "operation": (1, *range(1, 17), 1, 2, 2, 3, 3, 4, 4, 5, 8, 0, 20),
    "permissionType": (*([3] * 9), *([2] * 5), *([1] * 5), 0, 9),
    "entityType": ("user", "user", "client-id", "client-id", "ip", "x", ""),
    "matchType": (0, 0, 1, 2, 3, -1),
    "key": (
        *("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"),
        *("connection_creation_rate", "x", ""),
    ),
    "iterations": (4096, 8192, 4095, 16384, 16385, 0, -1),
    "mechanism": (1, 1, 2, 2, 0, 3, -1),
    "feature": ("group.version", "metadata.version", "x", "share.version"),
    "maxVersionLevel": (0, 1, 2, -1, 99),
    "brokerId": (77, -1, 99),
    "controllerId": (77, -1),
    "maxLifetimeMs": (-1,),
    "nodeId": (-1,),
    "endpointType": (1, 1, 2, 0),
    "responsePartitionLimit": (2000, 2000, 1, 2, 3, 0),
    "partition": (*([0] * 5), 1, 1, 1, 2, 3, 9, -1),
    "replicas": (0, 0, 0, 1, 1, 1, 2, 2, 2, 0, 1, 2, 0, 1, 2, 9, -1),
    "timeoutMs": (*([10_000] * 8), 0, -1),
}
SAME: Final = {
    "partitionMaxBytes": "maxBytes",
    "offset": "fetchOffset",
    "leaderEpoch": "currentLeaderEpoch",
    "lastFetchedEpoch": "currentLeaderEpoch",
    "principalFilter": "principal",
    "hostFilter": "host",
    "resourcePatternType": "patternTypeFilter",
    "partitionIndex": "partition",
    "partitionIndexes": "partition",
    "partitions": "partition",
    "index": "partition",
    "brokerIds": "replicas",
}
"""Fields that have the values of another."""


def topic_name(random: Random) -> str:
    roll = random.random()
    if roll < 0.75:
        return f"$name {random.choice(TOPICS)}"
    return f"$name {random.choice(MORE_TOPICS)}" if roll < 0.87 else random.choice(WRONG_NAMES)


def topic_id(random: Random) -> str:
    if random.random() < 0.7:
        return f"$id {random.choice(TOPICS)}"
    return random.choice([NO_ID, UNKNOWN_ID, METADATA_ID])


def records(random: Random) -> str | None:
    """What records are to be, as a word for `RandomWorld` (world.py)."""
    if random.random() < 0.05:
        return "$batch empty"  # to null Kafka gives no answer
    recipe: dict[str, Any] = {
        "count": random.choice([1, 1, 1, 2, 3]),
        "codec": random.choice([0, 0, 0, 1, 2, 3, 4]),
        "at": random.choice([0, 1, 5, 1000, 2000, 9000]),
        "keyed": random.random() < 0.4,
        "magic": random.choice([2] * 12 + [0, 1]),
    }
    if random.random() < 0.5:
        recipe |= {
            "producer": random.choice([0, 0, 0, 1]),
            "epoch": random.choice([0, 0, 0, 0, 1, 2]),
            "sequence": random.choice([0, 1, 2, 3, 3, 4, 5, -1, 6, 2**31 - 1]),
            "transactional": random.random() < 0.1,
        }
    if random.random() < 0.15:
        recipe["patch"] = random.choice(PATCHES)
    if random.random() < 0.05:
        recipe["cut"] = random.choice([1, 5, 30, 60])
    if random.random() < 0.05:
        recipe["twice"] = True
    return f"$batch {json.dumps(recipe)}"


NAMED: Final[dict[str, Callable[[Random], Any]]] = {"records": records, "topicId": topic_id}
