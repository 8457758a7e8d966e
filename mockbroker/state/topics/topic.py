"""Topics and their partitions: who leads, who has a replica, who is in sync."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.log import Log
from mockbroker.state.logs.producers import PartitionProducers
from mockbroker.state.settings import Settings, typed
from protocol.error_codes import ErrorCode

NO_LEADER = -1
MAX_NAME_LENGTH = 249
LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})

# Topic settings by name: the broker setting that gives the default where there is one, and the default otherwise.
# Source: TopicConfig and LogConfig, Apache Kafka.
TOPIC_SETTINGS: dict[str, tuple[str | None, Any]] = {
    "cleanup.policy": ("log.cleanup.policy", "delete"),
    "compression.type": ("compression.type", "producer"),
    "delete.retention.ms": (None, 86400000),
    "diskless.enable": ("diskless.enable", False),
    "file.delete.delay.ms": (None, 60000),
    "flush.messages": (None, 9223372036854775807),
    "flush.ms": (None, 9223372036854775807),
    "index.interval.bytes": (None, 4096),
    "max.compaction.lag.ms": (None, 9223372036854775807),
    "max.message.bytes": ("message.max.bytes", 1048588),
    "message.timestamp.after.max.ms": (None, 3600000),
    "message.timestamp.before.max.ms": (None, 9223372036854775807),
    "message.timestamp.type": ("log.message.timestamp.type", "CreateTime"),
    "min.cleanable.dirty.ratio": (None, "0.5"),
    "min.compaction.lag.ms": (None, 0),
    "min.insync.replicas": ("min.insync.replicas", 1),
    "preallocate": (None, False),
    "retention.bytes": ("log.retention.bytes", -1),
    "retention.ms": ("log.retention.ms", 604800000),
    "segment.bytes": ("log.segment.bytes", 1073741824),
    "segment.index.bytes": (None, 10485760),
    "segment.jitter.ms": (None, 0),
    "segment.ms": (None, 604800000),
    "unclean.leader.election.enable": ("unclean.leader.election.enable", False),
}
TOPIC_DEFAULTS: dict[str, Any] = {name: default for name, (_, default) in TOPIC_SETTINGS.items()}


@dataclass(slots=True, eq=False)
class Partition:
    """One partition. ``replicas`` keep their order, the preferred leader first; ``isr`` keeps the same order.

    A diskless partition has no replicas and no leader of its own: any broker serves it, and its leader epoch stays 0.
    """

    topic: Topic
    index: int
    replicas: tuple[int, ...]
    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    partition_epoch: int = 0
    log: Log = field(default_factory=Log)
    producers: PartitionProducers = field(default_factory=PartitionProducers)

    def elect(self, online: Container[int], *, unclean: bool = False) -> bool:
        """Bring leader and ISR in line with the brokers that are online; whether anything changed.

        Every replica that is online catches up at once and is in the ISR. The preferred leader, the first replica,
        leads again as soon as it is back; until then whoever leads stays, and a new leader is the first of the ISR.
        While no replica of the ISR is online there is no leader and the ISR stays as it was, unless ``unclean``
        election takes any replica. The leader epoch counts changes of the leader, as since Kafka 3.6.
        """
        online_replicas = tuple(replica for replica in self.replicas if replica in online)
        if any(replica in online for replica in self.isr) or (unclean and online_replicas):
            isr = online_replicas
            if self.replicas[0] in online or self.leader not in online:
                leader = online_replicas[0]
            else:
                leader = self.leader
        else:
            isr, leader = self.isr, NO_LEADER
        if (isr, leader) == (self.isr, self.leader):
            return False
        if leader != self.leader:
            self.leader_epoch += 1
        self.partition_epoch += 1
        self.isr, self.leader = isr, leader
        return True

    def move(self, replicas: tuple[int, ...], online: Container[int]) -> None:
        """Have these replicas from now on; those online are in sync, and the preferred leader leads if it is up."""
        self.replicas = replicas
        self.partition_epoch += 1
        if self.leader not in replicas:
            self.leader = NO_LEADER
        self.isr = tuple(replica for replica in replicas if replica in online) or replicas
        self.elect(online)


@dataclass(slots=True, eq=False)
class Topic:
    """A topic: its id (16 bytes), whether it is diskless, the settings given to it, and its partitions in order."""

    name: str
    id: bytes
    diskless: bool
    configs: dict[str, Any]
    settings: Settings
    partitions: list[Partition] = field(default_factory=list)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0

    def config(self, name: str) -> Any:
        """The value in force: the topic's own, else the broker's, else Kafka's default."""
        if name in self.configs:
            return self.configs[name]
        broker_setting, default = TOPIC_SETTINGS[name]
        return self.settings[broker_setting] if broker_setting is not None else default

    def add_partitions(self, rows: Iterable[tuple[int, ...]], online: Container[int]) -> None:
        """Append partitions with these replicas: those online are in sync, and the first of them leads."""
        for replicas in rows:
            isr = tuple(replica for replica in replicas if replica in online)
            leader = isr[0] if isr else NO_LEADER
            self.partitions.append(Partition(self, len(self.partitions), replicas, leader, isr or replicas))


def check_topic_name(name: str | None) -> str:
    """The name, if it is a legal one. Raises ApiError: INVALID_TOPIC_EXCEPTION with what is wrong."""
    if not name:
        problem = "the topic's name is empty"
    elif name in (".", ".."):
        problem = f"{name} cannot be a topic's name"
    elif len(name) > MAX_NAME_LENGTH:
        problem = f"a topic's name has at most {MAX_NAME_LENGTH} characters, this one {len(name)}"
    elif LEGAL_NAME.fullmatch(name) is None:
        problem = f"topic name {name!r} has characters other than letters, digits, '.', '_' and '-'"
    else:
        return name
    raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)


def typed_configs(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Topic settings with values of their types. Raises ApiError: INVALID_CONFIG for an unknown name or a bad value."""
    result: dict[str, Any] = {}
    for name in sorted(configs):
        if name not in TOPIC_DEFAULTS:
            raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        if configs[name] is None:
            continue
        try:
            result[name] = typed(name, configs[name], TOPIC_DEFAULTS)
        except ValueError as error:
            raise ApiError(ErrorCode.INVALID_CONFIG, str(error)) from None
    return result


def random_uuid(rng: Random) -> bytes:
    """A version 4 UUID that Kafka would give out: its text does not start with a dash."""
    while True:
        raw = bytearray(rng.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != 62:
            return bytes(raw)
