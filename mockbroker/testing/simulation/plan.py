"""A run as a value: which topics, clients and faults there are and for how long, all drawn from one seed.

Clients and faults have numbers, and each draws what it does from the seed and its own number, so a plan from which some
are taken away leaves the others as they were.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from mockbroker.state.releases import DISKLESS, RELEASE, Version, check_known
from mockbroker.testing.simulation.faults import FAULTS
from mockbroker.testing.simulation.judgement import SHARE_DELIVERIES, SHARE_LOCK
from mockbroker.testing.simulation.workloads import SECOND_PIPELINE, WORKLOADS, ClientSettings

RACKS = ("a", "b", "c", "a")
STORM_MS = 20_000
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
OLDEST_RELEASE, SHARING_PIPELINES = "2.4", "2.5"
"""The oldest release that clients speak to, as they begin with ApiVersions 3; and the one since which a transaction's
offsets are fenced by the group (KIP-447): before, pipelines that share a group are not exactly once.
"""
SHARE_LOCK_MS, SHARE_DELIVERY_LIMIT = 2_000, 4


class PlanError(ValueError):
    """A plan that cannot be; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic. ``is_unclean``: with unclean leader election; ``deletes_records``: an admin deletes records of it."""

    name: str
    partitions: int
    min_insync_replicas: int
    is_unclean: bool = False
    deletes_records: bool = False

    @property
    def configs(self) -> dict[str, str]:
        return {
            "min.insync.replicas": str(self.min_insync_replicas),
            "unclean.leader.election.enable": str(self.is_unclean).lower(),
        }


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """A client, with the number by which it is kept or dropped."""

    number: int
    name: str
    rack: str
    settings: ClientSettings


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Something that goes wrong at a time, for so long; what it meets follows from the seed and its number."""

    number: int
    kind: str
    at_ms: int
    for_ms: int


@dataclass(frozen=True, slots=True)
class SimulationPlan:
    """One run."""

    seed: int
    racks: tuple[str, ...]
    storm_ms: int
    topics: tuple[TopicPlan, ...]
    clients: tuple[ClientPlan, ...]
    faults: tuple[FaultPlan, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    release: str | None = None

    def keeping(
        self,
        *,
        clients: Collection[int] | None = None,
        faults: Collection[int] | None = None,
        storm_ms: int | None = None,
    ) -> SimulationPlan:
        """The same with these clients and faults alone, and a storm that ends then."""
        end = self.storm_ms if storm_ms is None else min(storm_ms, self.storm_ms)
        return replace(
            self,
            storm_ms=end,
            clients=tuple(one for one in self.clients if clients is None or one.number in clients),
            faults=tuple(one for one in self.faults if (faults is None or one.number in faults) and one.at_ms < end),
        )


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What a user says of all runs.

    Args:
        workloads, faults: names of ``WORKLOADS`` and of ``faults.FAULTS``; all of them.
        storm_ms: for how long things go wrong.
        racks: of brokers 0, 1, ...
        settings: of brokers, beside those that the simulation needs.
        release: the Kafka that brokers emulate.
    """

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    faults: tuple[str, ...] = tuple(FAULTS)
    storm_ms: int = STORM_MS
    racks: tuple[str, ...] = RACKS
    settings: Mapping[str, Any] = field(default_factory=dict)
    release: str | None = None

    def __post_init__(self) -> None:
        for what, given, known in (
            ("workload", self.workloads, tuple(WORKLOADS)),
            ("fault", self.faults, tuple(FAULTS)),
        ):
            for name in given:
                if name not in known:
                    raise PlanError(f"{what}: expected one of {', '.join(known)}, got {name!r}")
        if len(self.racks) < 3:
            raise PlanError(f"racks: expected those of at least 3 brokers, got {len(self.racks)}")
        if self.storm_ms < 0:
            raise PlanError(f"storm: expected 0 ms or more, got {self.storm_ms}")
        if self.is_before(OLDEST_RELEASE):
            raise PlanError(f"release: expected {OLDEST_RELEASE} or a later one, got {self.release}")

    def is_before(self, release: str) -> bool:
        """Whether brokers emulate an older release. Raises PlanError: there is no such release."""
        if self.release is None or self.release == DISKLESS:
            return False
        try:
            check_known(RELEASE, self.release)
        except ValueError as error:
            raise PlanError(str(error)) from None
        return Version(self.release) < Version(release)


DEFAULTS = PlanOptions()


def plan_of(seed: int, options: PlanOptions = DEFAULTS) -> SimulationPlan:
    """What a seed does.

    >>> plan_of(7) == plan_of(7), plan_of(7) == plan_of(8)
    (True, False)
    """
    rng = Random(f"{seed} topics")
    topics = (
        TopicPlan("orders", rng.randint(2, 3), 2),
        TopicPlan("events", rng.randint(1, 2), 1, is_unclean=rng.random() < 0.3),
        TopicPlan("results", rng.randint(1, 3), 2),
        TopicPlan("visits", 1, rng.choice([1, 2]), deletes_records=True),
    )
    rng = Random(f"{seed} settings")
    broker_settings = {
        "replica.selector.class": RACK_AWARE,
        "group.initial.rebalance.delay.ms": 200,
        "group.consumer.min.session.timeout.ms": 6_000,
        "group.consumer.session.timeout.ms": 6_000,
        "group.consumer.min.heartbeat.interval.ms": 1_000,
        "group.consumer.heartbeat.interval.ms": 1_000,
        "group.share.min.record.lock.duration.ms": 1_000,
        SHARE_LOCK: SHARE_LOCK_MS,
        SHARE_DELIVERIES: SHARE_DELIVERY_LIMIT,
        "group.share.min.session.timeout.ms": 6_000,
        "group.share.session.timeout.ms": 6_000,
        "group.share.min.heartbeat.interval.ms": 1_000,
        "group.share.heartbeat.interval.ms": 1_000,
        "replica.lag.time.max.ms": rng.choice([4_000, 10_000, 30_000]),
        "broker.session.timeout.ms": rng.choice([2_000, 9_000]),
        **options.settings,
    }
    clients, faults = drawn_clients(seed, options), drawn_faults(seed, options)
    return SimulationPlan(
        seed, options.racks, options.storm_ms, topics, clients, faults, broker_settings, options.release
    )


def drawn_clients(seed: int, options: PlanOptions) -> tuple[ClientPlan, ...]:
    """Who takes part; numbers and draws are those of all workloads, whichever are left out."""
    racks = sorted(set(options.racks))
    found: list[ClientPlan] = []
    number = 0
    for workload, draw in WORKLOADS.items():
        rng = Random(f"{seed} {workload}")
        for name, settings in draw(rng):
            rack = rng.choice(racks)
            is_exact = name != SECOND_PIPELINE or not options.is_before(SHARING_PIPELINES)
            if workload in options.workloads and is_exact:
                found.append(ClientPlan(number, name, rack, settings))
            number += 1
    return tuple(found)


def drawn_faults(seed: int, options: PlanOptions) -> tuple[FaultPlan, ...]:
    """What goes wrong, and when."""
    rng = Random(f"{seed} faults")
    found = []
    for number in range(rng.randint(5, 13) if options.faults else 0):
        kind = rng.choice(options.faults)
        at_ms = rng.randint(500, max(500, options.storm_ms - 1))
        found.append(FaultPlan(number, kind, at_ms, rng.choice([300, 1_500, 4_000, 11_000])))
    return tuple(found)
