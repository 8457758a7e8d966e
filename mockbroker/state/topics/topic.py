"""Topics and their partitions: who leads, who has a replica, who is in sync."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.state.errors import ApiError
from mockbroker.state.logs.producers import PartitionProducers, recover
from mockbroker.state.settings import Settings, typed
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.image.topics import PartitionRegistration, TopicImage
    from mockbroker.state.logs.store import LogStore, PartitionLog
    from mockbroker.state.replicas.replication import ReplicaStates

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
    """One partition as it runs: what the image says of it, and its log, which is opened when first asked for.

    ``replicas`` keep their order, the preferred leader first; ``isr`` keeps the same order. A diskless partition has no
    replicas and no leader of its own: any broker serves it, and its leader epoch stays 0.
    """

    topic: Topic
    index: int
    registration: PartitionRegistration
    replica_states: ReplicaStates | None = None  # volatile: where followers are slowed down or cut off
    _log: PartitionLog | None = None
    _producers: PartitionProducers | None = None

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.registration.replicas

    @property
    def isr(self) -> tuple[int, ...]:
        return self.registration.isr

    @property
    def leader(self) -> int:
        return self.registration.leader

    @property
    def leader_epoch(self) -> int:
        return self.registration.leader_epoch

    @property
    def partition_epoch(self) -> int:
        return self.registration.partition_epoch

    @property
    def log(self) -> PartitionLog:
        """The partition's records, from the log store."""
        if self._log is None:
            self._log = self.topic.log_store.open(self.topic.id, self.index)
            self.leader_epoch_began()
        return self._log

    @property
    def high_watermark(self) -> int:
        """The offset up to which consumers read: every in-sync replica has what is below."""
        return self.log.end_offset if self.replica_states is None else self.replica_states.high_watermark

    def truncate(self, offset: int) -> None:
        """Cut off what stands at ``offset`` and behind it; what is known of producers is worked out anew."""
        self.log.truncate(offset)
        self._producers = None

    @property
    def producers(self) -> PartitionProducers:
        """What is known of those who wrote to the partition, worked out from its log when first asked for."""
        if self._producers is None:
            self._producers = recover(self.log)
        return self._producers

    def effective_min_isr(self) -> int:
        """How many replicas have to be in sync for acks=all: never more than there are replicas.

        Source: Partition.effectiveMinIsr, Apache Kafka 4.4.
        """
        return min(int(self.topic.config("min.insync.replicas")), len(self.replicas))

    def leader_epoch_began(self) -> None:
        """A leader was elected: its epoch begins where the log ends."""
        if self._log is not None:
            self._log.leader_epochs.assign(self.leader_epoch, self._log.end_offset)


@dataclass(slots=True, eq=False)
class Topic:
    """A topic as it runs: its name and id (16 bytes), the settings given to it, and its partitions in order."""

    image: TopicImage
    configs: dict[str, Any]
    settings: Settings
    log_store: LogStore
    name: str = field(init=False)
    id: bytes = field(init=False)
    diskless: bool = field(init=False)
    partitions: list[Partition] = field(default_factory=list)
    _values: dict[str, Any] = field(default_factory=dict)  # settings that were worked out; nothing changes them yet

    def __post_init__(self) -> None:
        self.name, self.id = self.image.name, self.image.id
        self.add_partitions()
        self.diskless = not any(partition.replicas for partition in self.partitions[:1])

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0

    def config(self, name: str) -> Any:
        """The value in force: the topic's own, else the broker's, else Kafka's default."""
        value = self._values.get(name)
        if value is None:
            value = self._values[name] = topic_config(name, self.configs, self.settings)
        return value

    def add_partitions(self) -> None:
        """Run the partitions that have come to the image."""
        first = len(self.partitions)
        for index, registration in enumerate(self.image.partitions[first:], first):
            self.partitions.append(Partition(self, index, registration))


def topic_config(name: str, configs: Mapping[str, Any], settings: Settings) -> Any:
    """A topic setting's value in force: the topic's own, else the broker's, else Kafka's default."""
    if name in configs:
        return configs[name]
    broker_setting, default = TOPIC_SETTINGS[name]
    return settings[broker_setting] if broker_setting is not None else default


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
