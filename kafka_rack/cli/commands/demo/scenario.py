"""The demo's course: a cluster here, the clients as processes, and a rack that goes down and comes back."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

from kafka_rack.cli import CommandError
from kafka_rack.cli.commands.demo.plan import CLASSIC, DISKLESS, METADATA_MAX_AGE_MS, PARTITIONS, TOPICS, WorkerPlan
from kafka_rack.cli.output.progress import until
from mockbroker import MockCluster
from mockbroker.core.journal import Journal, JournalEntry

ALL_JOIN_WITHIN_MS = 1000  # each member that joins a new group extends it; so all get their partitions at once
FINISHED_WITHIN_S = 60.0
RETURN_S = 2 * METADATA_MAX_AGE_MS / 1000  # in which clients learn that their rack is back, if nothing holds them up
METADATA, REFRESHES = 3, 2  # whoever asks a second time has taken in the first answer
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Moments:
    """When what happened, in ms since 1970."""

    go: int
    stopping: int
    stopped: int
    started: int
    returned: int
    end: int


@dataclass(slots=True)
class DemoOutcome:
    """All that the verdict and the report are made of.

    ``results`` has what each worker left: names of acknowledged records, how often each was seen, failures.
    """

    racks: list[str]
    stopped_rack: str
    plans: list[WorkerPlan]
    moments: Moments
    journal: list[JournalEntry]
    results: list[dict[str, Any]]
    unfinished: list[str] = field(default_factory=list)


class Worker:
    """A worker's process: orders in, progress out."""

    def __init__(self, plan: WorkerPlan) -> None:
        self.plan = plan
        self.progress: dict[str, Any] = {"assigned": False, "drained": False, "acknowledged": 0, "failed": 0, "seen": 0}
        self.process: asyncio.subprocess.Process
        self._reader: asyncio.Task[None]

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "kafka_rack.cli.commands.demo.worker",
            json.dumps(asdict(self.plan)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        await self._reader

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.progress = json.loads(line)

    async def order(self, what: str) -> None:
        """Give an order: ``go``, ``drain`` or ``finish``."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{what}\n".encode())
        await self.process.stdin.drain()

    async def failure(self) -> str:
        """What a process that ended by itself had to say."""
        assert self.process.stderr is not None
        said = (await self.process.stderr.read()).decode(errors="replace").strip().splitlines()
        return said[-1] if said else f"exit code {self.process.returncode}"


async def play(
    libraries: Sequence[str], racks: list[str], brokers: int, stopped_rack: str, phase_s: float, say: Say
) -> DemoOutcome:
    """Run the demo; ``say`` gets a line for each step.

    Raises: CommandError: a client could not start, got no partitions, or has ended by itself.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-rack-demo-")))
        cluster = await stack.enter_async_context(
            MockCluster(
                brokers,
                racks,
                topics={CLASSIC: (PARTITIONS, min(3, len(racks)))},
                diskless_topics={DISKLESS: PARTITIONS},
                settings={"group.initial.rebalance.delay.ms": ALL_JOIN_WITHIN_MS},
                journal=Journal(max_bytes=sys.maxsize),  # the verdict needs every call, however long the phases are
            )
        )
        say(f"{brokers} brokers in racks {', '.join(racks)} are up; topics: {CLASSIC} (classic), {DISKLESS} (diskless)")
        plans = [
            WorkerPlan(library, rack, cluster.bootstrap_servers, str(folder / f"{library}-{rack}.json"))
            for library in libraries
            for rack in racks
        ]
        workers = [await stack.enter_async_context(Worker(plan)) for plan in plans]
        say(f"{len(workers)} processes start: {', '.join(libraries)} in each rack, a producer and a consumer each")
        await assigned(cluster, workers)
        for worker in workers:
            await worker.order("go")
        go = cluster.now_ms()
        await watch(workers, phase_s, say, "before")
        stopping = cluster.now_ms()
        await cluster.stop_rack(stopped_rack)
        stopped = cluster.now_ms()
        say(f"rack {stopped_rack} is down")
        await watch(workers, phase_s, say, "during")
        started, mark = cluster.now_ms(), cluster.journal.mark()
        await cluster.start_rack(stopped_rack)
        say(f"rack {stopped_rack} is back; its clients learn so when they next ask for metadata")
        await asyncio.sleep(RETURN_S)
        asked = partial(refreshes, cluster, workers, stopped_rack, mark)
        await until(lambda: bool(ended(workers)) or min(asked()) >= REFRESHES, asked)
        await check_all_run(workers)
        returned = cluster.now_ms()
        await watch(workers, phase_s, say, "after")
        end = cluster.now_ms()
        unfinished = await drain(cluster, workers, say)
        results = read_results(plans)
        moments = Moments(go, stopping, stopped, started, returned, end)
        return DemoOutcome(racks, stopped_rack, plans, moments, list(cluster.journal), results, unfinished)


def settled(cluster: MockCluster, workers: list[Worker]) -> bool:
    """Whether every consumer has joined its group, the groups are stable, and the clients know it."""
    members = Counter(worker.plan.group for worker in workers)
    stable = {group.id: group.member_count for group in cluster.state.groups.select(states=["Stable"])}
    return stable == members and all(worker.progress["assigned"] for worker in workers)


def ended(workers: list[Worker]) -> list[Worker]:
    """Those whose process runs no more."""
    return [worker for worker in workers if worker.process.returncode is not None]


async def check_all_run(workers: list[Worker]) -> None:
    """Raises CommandError: one has ended by itself."""
    for worker in ended(workers):
        plan = worker.plan
        raise CommandError(f"{plan.library} in rack {plan.rack} has ended: {await worker.failure()}")


async def assigned(cluster: MockCluster, workers: list[Worker]) -> None:
    """Wait until all have their partitions. Raises CommandError: one has ended, or nothing changes any more."""

    def joined() -> object:
        groups = cluster.state.groups.select()
        joined = [(group.id, group.state_name, group.member_count) for group in groups]
        return joined, [one.progress["assigned"] for one in workers]

    arrived = await until(lambda: bool(ended(workers)) or settled(cluster, workers), joined)
    await check_all_run(workers)
    if not arrived:
        waiting = [f"{w.plan.library} in {w.plan.rack}" for w in workers if not w.progress["assigned"]]
        groups = [f"{one.id} is {one.state_name} with {one.member_count}" for one in cluster.state.groups.select()]
        about = f"no partitions for {', '.join(waiting)}" if waiting else "groups do not settle"
        raise CommandError(f"{about}, and nothing goes on; members of groups: {', '.join(groups) or 'none'}")


def refreshes(cluster: MockCluster, workers: list[Worker], rack: str, mark: int) -> list[int]:
    """How often each client of a rack has asked for metadata since a mark of the journal."""
    asked = Counter(entry.client_id for entry in cluster.journal.since(mark) if entry.api_key == METADATA)
    clients = [
        one.plan.client_id(role) for one in workers if one.plan.rack == rack for role in ("producer", "consumer")
    ]
    return [asked[client] for client in clients]


def counts(workers: list[Worker]) -> list[tuple[int, int]]:
    """How far each worker is: records acknowledged, and seen."""
    return [(worker.progress["acknowledged"], worker.progress["seen"]) for worker in workers]


async def watch(workers: list[Worker], seconds: float, say: Say, phase: str) -> None:
    """Let a phase pass, saying how far the clients are now and then."""
    steps = max(1, round(seconds / 2))
    for _ in range(steps):
        await asyncio.sleep(seconds / steps)
        acknowledged = sum(worker.progress["acknowledged"] for worker in workers)
        seen = sum(worker.progress["seen"] for worker in workers)
        say(f"  {phase}: {acknowledged:,} records acknowledged, {seen:,} deliveries to consumers")


async def drain(cluster: MockCluster, workers: list[Worker], say: Say) -> list[str]:
    """Stop the producers, let each group read to its end, end the processes; name the groups that did not get there."""
    say("producers stop; consumers read to the end")
    for worker in workers:
        await worker.order("drain")
    groups = sorted({worker.plan.group for worker in workers})
    await until(lambda: all(worker.progress["drained"] for worker in workers), lambda: counts(workers))

    def behind() -> list[str]:
        return [group for group in groups if seen_by(workers, group) < stored(cluster)]

    await until(lambda: not behind(), lambda: counts(workers))
    left_behind = behind()
    for worker in workers:
        await worker.order("finish")
    ending = [asyncio.wait_for(worker.process.wait(), FINISHED_WITHIN_S) for worker in workers]
    for worker, ended in zip(workers, await asyncio.gather(*ending, return_exceptions=True), strict=True):
        if ended != 0:
            worker.process.kill() if isinstance(ended, TimeoutError) else None
            why = "does not end" if isinstance(ended, TimeoutError) else await worker.failure()
            raise CommandError(f"{worker.plan.library} in rack {worker.plan.rack}: {why}")
    return left_behind


def read_results(plans: list[WorkerPlan]) -> list[dict[str, Any]]:
    """What the workers left."""
    return [json.loads(Path(plan.result_file).read_text(encoding="utf-8")) for plan in plans]


def stored(cluster: MockCluster) -> int:
    """Records in all logs."""
    return sum(p.log.end_offset for topic in TOPICS for p in cluster.state.topics[topic].partitions)


def seen_by(workers: list[Worker], group: str) -> int:
    """Deliveries to the members of a group."""
    return sum(int(worker.progress["seen"]) for worker in workers if worker.plan.group == group)
