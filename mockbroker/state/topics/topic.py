"""Topics and partitions: leaders, replicas, ISRs and logs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from mockbroker.state.configs.definitions import TOPIC
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.producers import PartitionProducers, recover
from mockbroker.state.replicas.overrides import NO_OVERRIDES, PartitionOverrides
from mockbroker.state.topics.coordinator_keys import COORDINATOR_TOPICS
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.configs.effective import ClusterConfigs
    from mockbroker.state.image import PartitionRegistration, TopicImage
    from mockbroker.state.logs.log import Log
    from mockbroker.state.logs.store import LogStore
    from mockbroker.state.replicas.replication import ReplicaStates

NO_LEADER = -1
MAX_NAME_LENGTH = 249
LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
INTERNAL_TOPICS = frozenset(COORDINATOR_TOPICS)


@dataclass(slots=True, eq=False)
class Partition:
    """A partition: its registration in the image, and its log, opened on first use.

    ``replicas`` are ordered, the preferred leader first; ``isr`` has the same order. A diskless partition has no
    replicas and no leader: any broker serves it, and its leader epoch is 0.
    """

    topic: Topic
    index: int
    registration: PartitionRegistration
    replica_states: ReplicaStates | None = None  # lost on restart: lagging or disconnected followers
    overrides: PartitionOverrides = NO_OVERRIDES  # lost on restart: overrides by commands
    _log: Log | None = None
    _producers: PartitionProducers | None = None

    @property
    def replicas(self) -> tuple[int, ...]:
        return self.registration.replicas

    @property
    def isr(self) -> tuple[int, ...]:
        return self.registration.isr

    @property
    def eligible_leader_replicas(self) -> tuple[int, ...]:
        return self.registration.eligible_leader_replicas

    @property
    def last_known_elr(self) -> tuple[int, ...]:
        return self.registration.last_known_elr

    @property
    def leader(self) -> int:
        return self.registration.leader

    @property
    def leader_epoch(self) -> int:
        return self.registration.leader_epoch

    @property
    def log(self) -> Log:
        """The partition's log, from the log store."""
        if self._log is None:
            self._log = self.topic.log_store.open(self.topic.id, self.index)
            self.leader_epoch_began()
        return self._log

    @property
    def has_log(self) -> bool:
        """True if the log was opened; from then on it takes memory, empty or not."""
        return self._log is not None or self.topic.log_store.has(self.topic.id, self.index)

    @property
    def high_watermark(self) -> int:
        """The end of readable records: every in-sync replica has all records below it."""
        return self.log.end_offset if self.replica_states is None else self.replica_states.high_watermark

    def truncate(self, offset: int) -> None:
        """Delete everything from ``offset`` on; the state of producers is recovered from the rest."""
        self.log.truncate(offset)
        self._producers = None

    def advance_start(self, offset: int) -> bool:
        """Move the log's start offset; returns True if it changed."""
        log = self.log
        if offset <= log.start_offset:
            return False
        log.advance_start(offset)
        return True

    @property
    def producers(self) -> PartitionProducers:
        """The state of the partition's producers, recovered from its log on first use."""
        if self._producers is None:
            self._producers = recover(self.log)
        return self._producers

    def last_stable_offset(self, end_offset: int) -> int:
        """The last stable offset, for a replica with high watermark ``end_offset``."""
        transactions = self.producers.transactions
        if not (transactions.open or transactions.ended):
            return end_offset
        return max(min(self.log.start_offset, end_offset), transactions.last_stable_offset(end_offset))

    def effective_min_isr(self) -> int:
        """The number of in-sync replicas that acks=all requires, never more than there are replicas.

        Source: Partition.effectiveMinIsr, Apache Kafka 4.4.
        """
        return min(int(self.topic.config("min.insync.replicas")), len(self.replicas))

    def leader_epoch_began(self) -> None:
        """Begin the epoch of a new leader at the log's end."""
        if self._log is not None:
            self._log.leader_epochs.assign(self.leader_epoch, self._log.end_offset)


@dataclass(slots=True, eq=False)
class Topic:
    """A topic: its name and id (16 bytes), its own configs, and its partitions in order."""

    image: TopicImage
    cluster_configs: ClusterConfigs
    log_store: LogStore
    name: str = field(init=False)
    id: bytes = field(init=False)
    diskless: bool = field(init=False)
    is_internal: bool = field(init=False)
    partitions: list[Partition] = field(default_factory=list)
    _values: dict[str, Any] = field(default_factory=dict)  # cache, cleared when configs change

    def __post_init__(self) -> None:
        self.name, self.id = self.image.name, self.image.id
        self.is_internal = self.name in INTERNAL_TOPICS
        self.add_partitions()
        self.diskless = not any(partition.replicas for partition in self.partitions[:1])

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0

    def config(self, name: str) -> Any:
        """The effective value: the topic's own, else the brokers', else Kafka's default. Raises KeyError."""
        value = self._values.get(name)
        if value is None:
            value = self._values[name] = self.cluster_configs.value(TOPIC, self.name, name)
        return value

    @property
    def configs(self) -> dict[str, Any]:
        """The topic's own configs."""
        return {name: self.config(name) for name in self.cluster_configs.own(TOPIC, self.name)}

    def configs_changed(self) -> None:
        """Clear the cache after changes of configs, the topic's own or the brokers'."""
        self._values.clear()

    def add_partitions(self) -> None:
        """Load the partitions that were added to the image."""
        first = len(self.partitions)
        for index, registration in enumerate(self.image.partitions[first:], first):
            self.partitions.append(Partition(self, index, registration))


def check_topic_name(name: str | None) -> str:
    """The name if it is legal. Raises ApiError: INVALID_TOPIC_EXCEPTION with the reason."""
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


def random_uuid(rng: Random) -> bytes:
    """A version 4 UUID as Kafka generates it: its text does not start with a dash."""
    while True:
        raw = bytearray(rng.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        if raw[0] >> 2 != 62:
            return bytes(raw)
