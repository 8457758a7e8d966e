"""The interface of every placer (KIP-660's ReplicaPlacer), and the checks common to all.

Source: KIP-660; the checks of Apache Kafka's AdminUtils and ReplicationControlManager.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_rack.collector import collector_paused
from kafka_rack.errors import (
    DuplicateBrokerError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    KafkaRackError,
    MissingRackError,
    PlacerSettingsError,
    ReplicaPlacementError,
)
from kafka_rack.java import JavaRandom

SEED_SETTING = "replica.placer.seed"
"""The seed of a placer's java.util.Random; default: 0, so that equal runs place equally."""
START_INDEX_SETTING = "replica.placer.start.index"
"""The first leader's index in the list of brokers or racks; drawn for each topic unless set."""
SHIFT_SETTING = "replica.placer.next.replica.shift"
"""The distance of the first follower from its leader; default: the start index if set, else drawn for each topic."""

ENFORCED = "enforced"
"""For tools: refuses clusters in which only some brokers have a rack, and names the others."""
SAFE = "safe"
"""For automatic creation: ignores racks if any broker has none."""
DISABLED = "disabled"
"""``--ignore-racks``, Kafka's ``--disable-rack-aware``: racks are ignored."""
RACK_MODES = (ENFORCED, SAFE, DISABLED)

MAX_REPLICAS = 10_000_000
"""The most partitions x replication factor in one placement: some GB of memory, and more than any cluster has."""
MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1
"""Kafka's settings are Java ints, a seed is a Java long."""


class UsableBroker(NamedTuple):
    """A broker that may hold replicas; a fenced one is registered but not up."""

    id: int
    rack: str | None = None
    fenced: bool = False


class ReplicaPlacer(ABC):
    """Decides which brokers hold the replicas of new partitions.

    A placer is created without arguments, configured once with all settings of the cluster, and then called repeatedly.
    """

    needs_all_racks = False
    """True if the placer uses racks only if every broker has one (KIP-36), so that rack modes apply."""

    def configure(self, settings: Mapping[str, str]) -> None:  # noqa: B027 - most placers have nothing to set
        """Read this placer's settings from the cluster's, by Kafka's names; ignore the others.

        Raises: PlacerSettingsError: an invalid setting.
        """

    @abstractmethod
    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        """Choose brokers for partitions from ``start_partition`` on.

        Args:
            start_partition: 0 for a new topic, the current number of partitions for a growing one.
            num_partitions, num_replicas: both >= 1; ``num_replicas`` <= ``len(usable_brokers)``: callers check.
            usable_brokers: without repeated ids.

        Returns: one row per partition, ``num_replicas`` distinct broker ids wide, preferred leader first.

        Raises: ReplicaPlacementError: this placer cannot use these brokers.
        """

    def close(self) -> None:  # noqa: B027 - most placers hold nothing
        """Release the placer's resources; ``place`` is not called again."""


class RotatingPlacer(ReplicaPlacer):
    """A placer that starts at an index in a list of brokers: a configured one, or one drawn as in Java."""

    def __init__(self, start_index: int | None = None, next_replica_shift: int | None = None, seed: int = 0) -> None:
        self.start_index = start_index
        self.next_replica_shift = next_replica_shift
        self.random = JavaRandom(seed)

    def configure(self, settings: Mapping[str, str]) -> None:
        self.start_index = optional_whole_number(settings, START_INDEX_SETTING)
        self.next_replica_shift = optional_whole_number(settings, SHIFT_SETTING)
        self.random = JavaRandom(seed_setting(settings))

    def rotation(self, num_brokers: int) -> tuple[int, int]:
        """Start index and first shift for one topic, drawn in this order unless set."""
        if self.start_index is not None:
            shift = self.start_index if self.next_replica_shift is None else self.next_replica_shift
            return self.start_index, shift
        drawn = self.random.next_int(num_brokers)
        return drawn, self.random.next_int(num_brokers) if self.next_replica_shift is None else self.next_replica_shift


def check_request(num_partitions: int, num_replicas: int, brokers: Sequence[UsableBroker]) -> None:
    """Check a request before any placer.

    Raises:
        InvalidPartitionsError: fewer than one partition, or more replicas than MAX_REPLICAS in all.
        InvalidReplicationFactorError: fewer than one replica, more than brokers, or no broker that is up.
        DuplicateBrokerError: a repeated broker id.
    """
    if num_partitions < 1:
        raise InvalidPartitionsError(f"{num_partitions} partitions, but there must be at least 1")
    if num_replicas < 1:
        raise InvalidReplicationFactorError(f"replication factor {num_replicas}, but it must be at least 1")
    seen: set[int] = set()
    for broker in brokers:
        if broker.id in seen:
            raise DuplicateBrokerError(f"broker {broker.id} is given twice")
        seen.add(broker.id)
    if num_replicas > len(brokers):
        available = "1 broker is" if len(brokers) == 1 else f"{len(brokers)} brokers are"
        raise InvalidReplicationFactorError(f"replication factor {num_replicas}, but {available} available")
    if num_partitions * num_replicas > MAX_REPLICAS:
        raise InvalidPartitionsError(
            f"{count_text(num_partitions)} partitions x {num_replicas} replicas, "
            f"but at most {MAX_REPLICAS} replicas in all can be placed at once"
        )
    if all(broker.fenced for broker in brokers):
        raise InvalidReplicationFactorError(f"replication factor {num_replicas}, but all brokers are fenced")


def count_text(count: int) -> str:
    """A number as text, also with more digits than str() accepts.

    >>> count_text(12), count_text(10**5000)
    ('12', 'over 10^18')
    """
    return str(count) if count <= 10**18 else "over 10^18"


def without_racks(brokers: Iterable[UsableBroker]) -> list[UsableBroker]:
    """The brokers without their racks."""
    return [UsableBroker(broker.id, None, broker.fenced) for broker in brokers]


def missing_racks(brokers: Iterable[UsableBroker]) -> tuple[int, ...]:
    """The sorted ids of brokers without a rack, if others have one; empty if all or none have a rack."""
    brokers = list(brokers)
    bare = tuple(sorted(broker.id for broker in brokers if broker.rack is None))
    return bare if len(bare) < len(brokers) else ()


def apply_rack_mode(brokers: Iterable[UsableBroker], mode: str) -> list[UsableBroker]:
    """Brokers for a placer if racks may be missing (KIP-36): sorted by id, with all racks or none.

    Raises: MissingRackError: mode ``enforced``, and only some brokers have a rack.

    >>> apply_rack_mode([UsableBroker(1, "a"), UsableBroker(0)], SAFE)
    [UsableBroker(id=0, rack=None, fenced=False), UsableBroker(id=1, rack=None, fenced=False)]
    """
    if mode not in RACK_MODES:
        raise ValueError(f"rack mode {mode!r}, but it must be one of {', '.join(RACK_MODES)}")
    ordered = sorted(brokers, key=lambda broker: broker.id)
    bare = missing_racks(ordered)
    if bare and mode == ENFORCED:
        raise MissingRackError(bare)
    return without_racks(ordered) if bare or mode == DISABLED else ordered


def place_checked(
    placer: ReplicaPlacer,
    start_partition: int,
    num_partitions: int,
    num_replicas: int,
    usable_brokers: Iterable[UsableBroker],
    *,
    rack_mode: str = SAFE,
) -> list[list[int]]:
    """Place with any placer, with the common checks of the request before and of the result after.

    Topic creation calls it, in the cluster and in the tools.

    Raises:
        InvalidReplicationFactorError, InvalidPartitionsError: see ``check_request``.
        MissingRackError: see ``apply_rack_mode``.
        ReplicaPlacementError: the placer failed, with its own message, or its result has the wrong shape.
    """
    name = type(placer).__name__
    brokers = sorted(usable_brokers, key=lambda broker: broker.id)
    check_request(num_partitions, num_replicas, brokers)
    if getattr(placer, "needs_all_racks", False):  # a class with only ``place`` lacks the attribute
        brokers = apply_rack_mode(brokers, rack_mode)
    elif rack_mode == DISABLED:
        brokers = without_racks(brokers)
    try:
        with collector_paused(num_partitions):
            placed = placer.place(start_partition, num_partitions, num_replicas, brokers)
            rows = [row if type(row) is list else list(row) for row in placed]
    except (InvalidReplicationFactorError, ReplicaPlacementError):
        raise
    except KafkaRackError as error:
        raise ReplicaPlacementError(str(error)) from error
    except Exception as error:  # a placer may be third-party code, and topic creation must always answer
        raise ReplicaPlacementError(f"{name} failed: {type(error).__name__}: {error}") from error
    check_placement(name, rows, num_partitions, num_replicas, brokers)
    return rows


def check_placement(
    name: str,
    rows: list[list[int]],
    num_partitions: int,
    num_replicas: int,
    brokers: Sequence[UsableBroker],
) -> None:
    """Refuse rows of the wrong shape, with repeated or with unknown brokers; ``name`` is the placer's."""
    if len(rows) != num_partitions:
        raise ReplicaPlacementError(f"{name}: expected {num_partitions} partitions, got {len(rows)}")
    only_numbers = {type(broker) for row in rows for broker in row} <= {int}
    known = {broker.id for broker in brokers}
    for number, row in enumerate(rows):
        if not only_numbers or not known.issuperset(row):
            unknown = [broker for broker in row if type(broker) is not int or broker not in known]
            if unknown:
                raise ReplicaPlacementError(f"{name}: expected brokers of the cluster, got {unknown} in row {number}")
        if len(row) != num_replicas or len(set(row)) != num_replicas:
            raise ReplicaPlacementError(f"{name}: expected {num_replicas} distinct brokers, got {row} in row {number}")


def unfenced_where_possible(brokers: Sequence[UsableBroker], num_replicas: int) -> list[UsableBroker]:
    """The brokers that are up, or all of them if too few are up for the replication factor."""
    up = [broker for broker in brokers if not broker.fenced]
    return up if len(up) >= num_replicas else list(brokers)


def fenced_last(rows: list[list[int]], brokers: Sequence[UsableBroker]) -> list[list[int]]:
    """Rows with fenced brokers moved to the end, so that none is the preferred leader without need."""
    fenced = {broker.id for broker in brokers if broker.fenced}
    if not fenced:
        return rows
    return [sorted(row, key=fenced.__contains__) for row in rows]


def optional_whole_number(settings: Mapping[str, str], name: str, least: int = 0, most: int = MAX_INT) -> int | None:
    """A setting that is a whole number of at least ``least``; None if absent or empty."""
    text = str(settings.get(name, "")).strip()
    if not text:
        return None
    try:
        value = int(text)
    except ValueError:
        raise PlacerSettingsError(f"{name}: expected a whole number of at most {most}, got {text[:40]}") from None
    if value < least:
        raise PlacerSettingsError(f"{name}: expected at least {least}, got {text[:40]}")
    if value > most:
        raise PlacerSettingsError(f"{name}: expected at most {most}, got {text[:40]}")
    return value


def seed_setting(settings: Mapping[str, str]) -> int:
    """The seed in the settings; default: 0."""
    return optional_whole_number(settings, SEED_SETTING, least=-MAX_LONG - 1, most=MAX_LONG) or 0


def yes_or_no(settings: Mapping[str, str], name: str) -> bool:
    """A setting that is ``true`` or ``false``, in any case; default: false."""
    text = str(settings.get(name, "false")).strip().lower()
    if text not in ("true", "false"):
        raise PlacerSettingsError(f"{name}: expected true or false, got {text}")
    return text == "true"
