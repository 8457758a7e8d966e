"""The scenario of the demo: a cluster here, the clients as processes, a rack that goes down and comes back."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from mockbroker import MockCluster
from mockbroker.core.journal import Journal, JournalEntry
from mockbroker.testing.clients.process import (
    METADATA_MAX_AGE_MS,
    ClientPlan,
    ClientProcess,
    ClientResult,
    arrived,
    check_all_run,
    finish,
    until,
)

CLASSIC, DISKLESS = "orders", "events"
TOPICS = (CLASSIC, DISKLESS)
PARTITIONS = 6
ALL_JOIN_WITHIN_MS = 1000  # each member that joins a new group extends it; so all get their partitions at once
RETURN_S = 2 * METADATA_MAX_AGE_MS / 1000  # in which clients learn that their rack is back, if nothing holds them up
METADATA, REFRESHES = 3, 2  # a client that asks a second time has read the first answer
Say = Callable[[str], None]


@dataclass(slots=True)
class DemoOutcome:
    """The input of the verdict and the report.

    ``phases`` are the phases with their starts, in ms since 1970: ``before``, ``during``, ``after``, and ``changing``
    while brokers stop, and until clients know they are back. ``results`` are the clients', in the order of ``plans``.
    """

    racks: list[str]
    stopped_rack: str
    plans: list[ClientPlan]
    phases: list[tuple[int, str]]
    journal: list[JournalEntry]
    results: list[ClientResult]


async def set_up(
    stack: AsyncExitStack, libraries: Sequence[str], racks: list[str], brokers: int, say: Say
) -> tuple[MockCluster, list[ClientProcess]]:
    """A cluster, and a client of each library at work in each rack. Raises ClientError: a client cannot start."""
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
        ClientPlan(library, f"demo-{library}", TOPICS, cluster.bootstrap_servers, rack)
        for library in libraries
        for rack in racks
    ]
    clients = [await stack.enter_async_context(ClientProcess(plan)) for plan in plans]
    say(f"{len(clients)} processes start: {', '.join(libraries)} in each rack, a producer and a consumer each")
    await arrived(lambda: settled(cluster, clients), clients, "an assignment of partitions to every consumer")
    for client in clients:
        client.order("go")
    return cluster, clients


async def play(
    libraries: Sequence[str], racks: list[str], brokers: int, stopped_rack: str, phase_s: float, say: Say
) -> DemoOutcome:
    """Run the demo; ``say`` gets a line for each step.

    Raises: ClientError: a client could not start, got no partitions, or has ended by itself.
    """
    async with AsyncExitStack() as stack:
        cluster, clients = await set_up(stack, libraries, racks, brokers, say)
        phases = [(0, "before")]
        await watch(clients, phase_s, say, "before")
        phases.append((cluster.now_ms(), "changing"))
        await cluster.stop_rack(stopped_rack)
        phases.append((cluster.now_ms(), "during"))
        say(f"rack {stopped_rack} is down")
        await watch(clients, phase_s, say, "during")
        phases.append((cluster.now_ms(), "changing"))
        mark = cluster.journal.mark()
        await cluster.start_rack(stopped_rack)
        say(f"rack {stopped_rack} is back; its clients learn so when they next ask for metadata")
        await asyncio.sleep(RETURN_S)
        asked = partial(refreshes, cluster, clients, stopped_rack, mark)
        await until(lambda: min(asked()) >= REFRESHES, asked)
        check_all_run(clients)
        phases.append((cluster.now_ms(), "after"))
        await watch(clients, phase_s, say, "after")
        say("producers stop; consumers read to the end")
        results = await finish(clients, lambda: all_is_read(cluster, clients))
        plans = [client.plan for client in clients]
        return DemoOutcome(racks, stopped_rack, plans, phases, list(cluster.journal), results)


def settled(cluster: MockCluster, clients: list[ClientProcess]) -> bool:
    """True if every consumer has joined its group, the groups are stable, and the clients know it."""
    members = Counter(client.plan.group for client in clients)
    stable = {group.id: len(group.members) for group in cluster.state.groups.select(states=["Stable"])}
    return stable == members and all(client.progress["assigned"] for client in clients)


def refreshes(cluster: MockCluster, clients: list[ClientProcess], rack: str, mark: int) -> list[int]:
    """How often each client of a rack has asked for metadata since a mark of the journal."""
    asked = Counter(entry.client_id for entry in cluster.journal.since(mark) if entry.api_key == METADATA)
    plans = [client.plan for client in clients if client.plan.rack == rack]
    return [asked[plan.client_id(role)] for plan in plans for role in ("producer", "consumer")]


async def watch(clients: list[ClientProcess], seconds: float, say: Say, phase: str) -> None:
    """Let a phase pass, saying how far the clients are now and then."""
    steps = max(1, round(seconds / 2))
    for _ in range(steps):
        await asyncio.sleep(seconds / steps)
        acknowledged = sum(client.progress["acknowledged"] for client in clients)
        seen = sum(client.progress["seen"] for client in clients)
        say(f"  {phase}: {acknowledged:,} records acknowledged, {seen:,} deliveries to consumers")


def all_is_read(cluster: MockCluster, clients: list[ClientProcess]) -> bool:
    """True if each group has seen as many records as there are."""
    stored = sum(p.log.end_offset for topic in TOPICS for p in cluster.state.topics[topic].partitions)
    seen: Counter[str] = Counter()
    for client in clients:
        seen[client.plan.group] += client.progress["seen"]
    return min(seen.values()) >= stored
