"""Carries out a plan: everybody starts, a storm comes and goes, all is mended, and then everybody has to get there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

from mockbroker.state.errors import ApiError
from mockbroker.state.image.share_states import SharePartitionKey
from mockbroker.state.share.partition import SharePartition
from mockbroker.state.topics.topic import Partition
from mockbroker.testing.simulation.clients.admin import Admin, AdminSettings
from mockbroker.testing.simulation.clients.client import Client, TopicPartition
from mockbroker.testing.simulation.clients.consumer import Consumer, ConsumerSettings
from mockbroker.testing.simulation.clients.fetcher import Isolation
from mockbroker.testing.simulation.clients.pipeline import Pipeline, PipelineSettings
from mockbroker.testing.simulation.clients.producer import Producer, ProducerSettings
from mockbroker.testing.simulation.clients.reader import LogReader
from mockbroker.testing.simulation.clients.share_consumer import ShareConsumer, ShareConsumerSettings
from mockbroker.testing.simulation.faults import FAULTS, Undo
from mockbroker.testing.simulation.invariants import Invariants
from mockbroker.testing.simulation.judgement import (
    Violation,
    commits_by_former_owners,
    fenced_commits,
    history_problems,
    pipeline_problems,
    sharing_problems,
    unexpected_answers,
)
from mockbroker.testing.simulation.plan import ClientPlan, SimulationPlan
from mockbroker.testing.simulation.world import START_MS, World

LOOK_EVERY_MS = 250
CALM_MS = 180_000  # after the storm, until everybody has to have got there
READ_MS = 60_000
ZOMBIE_MS = 3_000  # what a thawed client has left to do harm

ISOLATION_LEVELS: tuple[Isolation, ...] = ("read_committed", "read_uncommitted")

Work = Producer | Consumer | Pipeline | Admin | ShareConsumer


class LiveClient(NamedTuple):
    """A client at work."""

    plan: ClientPlan
    client: Client
    work: Work
    life: int


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run: ``problems`` is empty if all was right."""

    plan: SimulationPlan
    problems: tuple[Violation, ...]
    story: tuple[tuple[int, str], ...]
    calls: int
    sends: int
    polls: int
    ended_at_ms: int
    digest: str = ""

    @property
    def is_right(self) -> bool:
        return not self.problems


@dataclass(eq=False)
class SimulationRun:
    """One plan being carried out."""

    plan: SimulationPlan
    world: World = field(init=False)
    live: dict[int, LiveClient] = field(init=False, default_factory=dict)
    invariants: Invariants = field(init=False, default_factory=Invariants)
    _undo: dict[int, Undo] = field(init=False, default_factory=dict)
    _problems: list[Violation] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        plan = self.plan
        self.world = World.create(plan.racks, seed=plan.seed, settings=plan.settings, release=plan.release)

    @property
    def cluster(self) -> Any:
        return self.world.cluster

    def carry_out(self, *, with_digest: bool = False) -> Result:
        """Do all of it; ``with_digest`` also sums up the journal."""
        plan, world = self.plan, self.world
        for topic in plan.topics:
            world.cluster.create_topic(topic.name, topic.partitions, 3, configs=topic.configs)
        for group in self.share_groups():
            world.cluster.state.configs.write("group", group, {"share.auto.offset.reset": "earliest"})
        for one in plan.clients:
            self._start(one, 1)
        for fault in plan.faults:
            world.scheduler.call_at(START_MS + fault.at_ms, lambda fault=fault: self._begin(fault))  # type: ignore[misc]
        try:
            self._pass_time(plan.storm_ms, lambda: False)
            self._mend()
            if self._pass_time(CALM_MS, self._is_over):
                self._read_all()
            else:
                self._problems += [Violation("no-progress", text) for text in self._stuck()]
            self._problems += history_problems(world.history, plan)
            self._problems += self._sharing_problems()
        except Exception as error:  # noqa: BLE001 - a run that breaks off is a finding too
            self._problems.append(Violation("exception", f"{type(error).__name__}: {error}"))
        self._problems += unexpected_answers(world.history, plan)
        self._problems += fenced_commits(world.history)
        self._problems += commits_by_former_owners(world.history)
        self._problems += [Violation("invariant", text) for text in self.invariants.broken]
        failures = [*world.scheduler.failures, *world.cluster.failures]
        self._problems += [Violation("exception", f"{type(one).__name__}: {one}") for one in failures]
        kinds = [type(operation).__name__ for operation in world.history.operations]
        return Result(
            plan,
            tuple(dict.fromkeys(self._problems)),
            tuple(world.story),
            sum(len(journal) + journal.dropped for journal in world.cluster.journals),
            kinds.count("Send"),
            kinds.count("Poll"),
            world.now_ms,
            self.digest() if with_digest else "",
        )

    def digest(self) -> str:
        """A checksum over all calls, as the journals of all lives tell them in JSON, and over what clients saw."""
        found = hashlib.sha256()
        for journal in self.world.cluster.journals:
            for entry in journal:
                found.update(json.dumps(entry.to_json(), sort_keys=True).encode())
        for operation in self.world.history.operations:
            found.update(repr(operation).encode())
        return found.hexdigest()

    # clients

    def _start(self, plan: ClientPlan, life: int) -> None:
        name = plan.name if life == 1 else f"{plan.name}#{life}"
        client = Client(self.world, name, plan.rack, Random(f"{self.plan.seed} {name}"))
        work = work_of(client, plan.settings)
        self.live[plan.number] = LiveClient(plan, client, work, life)
        client.spawn(work.run())

    def live_clients(self) -> list[LiveClient]:
        return list(self.live.values())

    def may_restart(self, one: LiveClient) -> bool:
        """Whether a client can be ended and go on in another life."""
        return not isinstance(one.work, Admin)

    def replace(self, one: LiveClient, *, is_frozen: bool = False) -> None:
        """Have another life of a client take over, from one that ends now, or soon after it has thawed."""
        plan = one.plan
        if isinstance(one.work, Producer):
            assert isinstance(plan.settings, ProducerSettings)
            plan = replace(plan, settings=replace(plan.settings, records=plan.settings.records - one.work.written))
            one.work.written = one.work.settings.records  # a successor writes the rest
        if isinstance(one.work, Pipeline):
            one.work.is_replaced = True
        if is_frozen:
            thaws_ms = self.world.network.frozen[one.client.name]
            self.world.scheduler.call_at(thaws_ms + ZOMBIE_MS, lambda: end(one))
        else:
            end(one)
        self._start(plan, one.life + 1)

    def share_groups(self) -> list[str]:
        """The share groups of the plan."""
        groups = (one.settings.group for one in self.plan.clients if isinstance(one.settings, ShareConsumerSettings))
        return list(dict.fromkeys(groups))

    def coordinated_keys(self) -> list[str]:
        """The groups and transactional ids of the plan."""
        keys: dict[str, None] = {}
        for one in self.plan.clients:
            if isinstance(one.settings, ConsumerSettings | PipelineSettings | ShareConsumerSettings):
                keys[one.settings.group] = None
            if isinstance(one.settings, PipelineSettings):
                keys[one.settings.transactional_id] = None
        return list(keys) or ["nobody"]

    # the storm

    def _begin(self, fault: Any) -> None:
        undo = FAULTS[fault.kind](self, Random(f"{self.plan.seed} fault {fault.number}"))
        self._undo[fault.number] = undo
        self.invariants.look(self.cluster.state)
        self.world.scheduler.call_at(self.world.scheduler.now_ms + fault.for_ms, lambda: self._end_fault(fault.number))

    def _end_fault(self, number: int) -> None:
        undo = self._undo.pop(number, None)
        if undo is not None:
            undo()

    def _mend(self) -> None:
        """Take everything back that is wrong."""
        world, cluster = self.world, self.world.cluster
        for number in list(self._undo):
            self._end_fault(number)
        world.tell("all is mended")
        cluster.clear_faults()
        world.network.silent.clear()
        for broker in range(len(self.plan.racks)):
            cluster.start_broker(broker)
            cluster.rejoin_broker(broker)
            cluster.set_follower_lag(broker, 0)
            if cluster.state.support.is_kraft:
                cluster.unfence_broker(broker)
                cluster.empty_disk(broker)
        for topic in self.plan.topics:
            for partition in cluster.state.topics[topic.name].partitions:
                with suppress(ApiError):  # a fault's own end let nobody in who was down then
                    cluster.grow_isr(topic.name, partition.index, partition.replicas)
        cluster.settle()

    def _pass_time(self, ms: int, is_over: Any) -> bool:
        """Let time pass, at most so long; whether it is over."""
        until_ms = self.world.now_ms + ms
        while self.world.now_ms < until_ms:
            if is_over():
                return True
            step_ms = min(self.world.now_ms + LOOK_EVERY_MS, until_ms)
            self.world.scheduler.run_until(START_MS + step_ms)
            self.invariants.look(self.cluster.state)
            for failures in (self.world.scheduler.failures, self.world.cluster.failures):
                if failures:
                    raise failures.pop(0)
        return bool(is_over())

    # the end

    def _is_over(self) -> bool:
        now_ms = self.world.scheduler.now_ms
        if any(thaws_ms + ZOMBIE_MS >= now_ms for thaws_ms in self.world.network.frozen.values()):
            return False
        return all(one.work.is_done for one in self.live.values()) and not any(self._late())

    def _late(self) -> Iterator[str]:
        """What groups have not done yet."""
        yield from self._unread()
        yield from self._unshared()

    def _shared(self) -> Iterator[tuple[str, Partition]]:
        """The partitions that share groups have, where there are such groups."""
        for group in self.share_groups():
            works = [one.work for one in self.live.values() if isinstance(one.work, ShareConsumer)]
            if any(work.is_served for work in works):
                for name in works[0].settings.topics:
                    for partition in self.cluster.state.topics[name].partitions:
                        yield group, partition

    def _unshared(self) -> Iterator[str]:
        """Partitions of which a share group is not done with all records."""
        for group, partition in self._shared():
            name, end = f"{partition.topic.name}-{partition.index}", partition.high_watermark
            key = SharePartitionKey(group, partition.topic.id, partition.index)
            running = self.cluster.state.share.get(key)
            if running is None:
                yield f"share group {group} reads nothing from {name}"
            elif (done := done_up_to(running)) < end:
                yield f"share group {group} is done with {name} up to {done} of {end}"

    def _sharing_problems(self) -> list[Violation]:
        for one in self.live.values():
            if isinstance(one.work, ShareConsumer):
                one.work.forsake()
        is_over = not self._problems
        expected = {
            (group, partition.topic.name, partition.index): range(partition.high_watermark)
            for group, partition in self._shared()
            if is_over
        }
        return sharing_problems(self.world.history, self.plan, expected)

    def _unread(self) -> Iterator[str]:
        """Partitions that a group has not read to the end, or that not just one of its members has."""
        state = self.cluster.state
        groups: dict[str, list[LiveClient]] = {}
        for one in self.live.values():
            if isinstance(one.work, Consumer | Pipeline):
                groups.setdefault(one.work.membership.group, []).append(one)
        for group, members in groups.items():
            works: list[Any] = [one.work for one in members]
            for name in works[0].membership.topics:
                for partition in state.topics[name].partitions:
                    place = (name, partition.index)
                    owners = [work.fetcher.positions[place] for work in works if place in work.fetcher.positions]
                    end = partition.high_watermark
                    if works[0].fetcher.isolation_level == "read_committed":
                        end = partition.last_stable_offset(end)
                    if len(owners) != 1:
                        yield f"{len(owners)} members of group {group} have {name}-{partition.index}, expected 1"
                    elif partition.log.end_offset != end:
                        yield f"{name}-{partition.index} ends at {partition.log.end_offset}, readers see up to {end}"
                    elif owners[0].offset < end:
                        yield f"group {group} is at offset {owners[0].offset} of {end} in {name}-{partition.index}"

    def _stuck(self) -> list[str]:
        """Who has not got there."""
        waiting = [
            f"{one.client.name} is not done {CALM_MS // 1000} s after all was mended: {one.work.progress()}"
            for one in self.live.values()
            if not one.work.is_done
        ]
        return [*waiting, *self._late()]

    def _read_all(self) -> None:
        """Read all topics from start to end, and compare what went into pipelines with what came out."""
        state = self.cluster.state
        partitions = [partition for topic in self.plan.topics for partition in state.topics[topic.name].partitions]
        readers = []
        for rack, level in zip(sorted(set(self.plan.racks)), ISOLATION_LEVELS, strict=False):
            ends: dict[TopicPartition, int] = {(one.topic.name, one.index): one.high_watermark for one in partitions}
            client = Client(self.world, f"final-{level}", rack, Random(f"{self.plan.seed} final {level}"))
            readers.append(LogReader(client, level, ends))
            client.spawn(readers[-1].run())
        if not self._pass_time(READ_MS, lambda: all(reader.is_done for reader in readers)):
            self._problems += [
                Violation("no-progress", f"{one.client.name}: {one.progress()}") for one in readers if not one.is_done
            ]
            return
        self._problems += pipeline_problems(self.plan, readers[0].values)
        self._problems += self._admin_problems()

    def _admin_problems(self) -> list[Violation]:
        """What an admin was told is done and is not so."""
        found = []
        topics = self.cluster.state.topics
        for one in self.live.values():
            if not isinstance(one.work, Admin):
                continue
            for name, partitions in one.work.made.items():
                there = len(topics[name].partitions) if name in topics else 0
                if there != partitions:
                    found.append(f"topic {name} was made with {partitions} partitions, and has {there}")
            found += [f"topic {name} was deleted, and is there" for name in one.work.deleted if name in topics]
            for name, count in one.work.partition_counts.items():
                if len(topics[name].partitions) < count:
                    found.append(f"topic {name} was widened to {count} partitions, and has fewer")
        return [Violation("undone", text) for text in found]


def done_up_to(partition: SharePartition) -> int:
    """The first offset that a share group is not done with. The start of a share partition may lie before it: behind a
    new leader's gaps it moves with the next new record only.
    """
    done = partition.start_offset
    for batch in partition.batches:
        for first, last, state in batch.states():
            if first > done or not state.state.is_terminal:
                return done
            done = max(done, last + 1)
    return done


def work_of(client: Client, settings: Any) -> Work:
    """What a client with these settings does."""
    match settings:
        case ProducerSettings():
            return Producer(client, settings)
        case ConsumerSettings():
            return Consumer(client, settings)
        case PipelineSettings():
            return Pipeline(client, settings)
        case AdminSettings():
            return Admin(client, settings)
        case ShareConsumerSettings():
            return ShareConsumer(client, settings)
    raise TypeError(f"expected the settings of a client, got {type(settings).__name__}")


def end(one: LiveClient) -> None:
    """End a client where it is."""
    if isinstance(one.work, Producer | Pipeline | ShareConsumer):
        one.work.forsake()
    one.client.close()


def simulate(plan: SimulationPlan, *, with_digest: bool = False) -> Result:
    """Carry out a plan."""
    return SimulationRun(plan).carry_out(with_digest=with_digest)
