"""The demo's outcome for people, as tables, and for programs, as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_rack.cli.output.console import Painted, Screen, Shown, painted
from mockbroker.testing.demo.scenario import CLASSIC, DISKLESS, DemoOutcome
from mockbroker.testing.demo.verdict import APIS, PHASES, TITLES, DemoVerdict, crossed_share

MAX_EXAMPLES = 3


def show(screen: Screen, outcome: DemoOutcome, verdict: DemoVerdict) -> None:
    """Print the tables and the conclusion."""
    for topic in (DISKLESS, CLASSIC):
        title = (f"{topic} ({TITLES[topic]})", "bold")
        screen.print("", painted(title, ": rack and brokers that served each client"))
        show_served(screen, outcome, verdict, topic)
    screen.print()
    for topic in (DISKLESS, CLASSIC):
        moved = verdict.moved[topic]
        title = (f"{topic} ({TITLES[topic]})", "bold")
        screen.print(painted(title, ": KiB of records, clients' racks down, brokers' across"))
        show_matrix(screen, outcome.racks, moved)
        screen.print(f"{crossed_share(moved):.1%} of {moved.total() / 1024:,.0f} KiB crossed racks\n")
    screen.print(*conclusion(outcome, verdict))


def show_served(screen: Screen, outcome: DemoOutcome, verdict: DemoVerdict, topic: str) -> None:
    """Each client by rack, and in each phase the racks that served it, each with its brokers."""
    stopped = outcome.stopped_rack
    rows: list[list[Shown]] = [
        [library, rack, api, *(brokers_cell(by_phase[phase], rack, topic) for phase in PHASES)]
        for library in dict.fromkeys(plan.library for plan in outcome.plans)
        for rack in outcome.racks
        for api in APIS.values()
        for by_phase in [verdict.served[library, rack, api, topic]]
    ]
    screen.print_table(["client", "rack", "request", "before", f"rack {stopped} down", f"rack {stopped} back"], rows)


def brokers_cell(served: Counter[tuple[str, int]], rack: str, topic: str) -> Painted:
    """``a:0,3  b:1``: the racks and their brokers; another rack than the client's stands out for a diskless topic."""
    racks = sorted({broker_rack for broker_rack, _ in served})
    cells: list[str | tuple[str, str]] = []
    for broker_rack in racks:
        brokers = ",".join(str(broker) for served_by, broker in sorted(served) if served_by == broker_rack)
        cell = f"{broker_rack}:{brokers}"
        cells += ["  "] if cells else []
        cells.append((cell, "yellow") if topic == DISKLESS and broker_rack != rack else cell)
    return painted(*cells or ["-"])


def show_matrix(screen: Screen, racks: list[str], moved: Counter[tuple[str, str]]) -> None:
    """Record bytes by the client's rack and the broker's."""
    rows = []
    for client in racks:
        row = [moved[client, broker] for broker in racks]
        crossed = sum(row) - moved[client, client]
        rows.append([client, *(f"{size / 1024:,.0f}" for size in row), f"{crossed / max(1, sum(row)):.1%}"])
    screen.print_table(["rack", *racks, "crossed"], rows, right=range(1, len(racks) + 2))


def conclusion(outcome: DemoOutcome, verdict: DemoVerdict) -> list[Painted]:
    """The verdict in a few lines."""
    groups = len({plan.group for plan in outcome.plans})
    lines = [
        line(
            verdict.crossings,
            f"every diskless request stayed in its client's rack while that was up"
            f" ({verdict.returning} crossed until clients knew that rack {outcome.stopped_rack} was back)",
            "diskless requests left a rack that was up",
        ),
        line(
            verdict.missing,
            f"all {verdict.acknowledged:,} acknowledged records reached each of {groups} groups",
            "acknowledged records are missing",
        ),
        line(verdict.doubled, "none came twice", "records came twice"),
    ]
    if verdict.failed:
        lines.append(painted(("note", "yellow"), f" {verdict.failed} records: their producers gave up"))
    return lines


def line(faults: list[str], good: str, bad: str) -> Painted:
    """One promise, kept or broken."""
    if not faults:
        return painted(("ok", "green"), f" {good}")
    return painted(("broken", "red"), f" {len(faults)} {bad}: {'; '.join(faults[:MAX_EXAMPLES])}")


def as_json(outcome: DemoOutcome, verdict: DemoVerdict) -> dict[str, Any]:
    """The same for programs."""
    return {
        "holds": verdict.holds,
        "acknowledged": verdict.acknowledged,
        "failed": verdict.failed,
        "missing": verdict.missing,
        "doubled": verdict.doubled,
        "crossings": verdict.crossings,
        "crossings_while_returning": verdict.returning,
        "stopped_rack": outcome.stopped_rack,
        "served": [
            dict(zip(("client", "rack", "request", "topic"), key, strict=True))
            | {"phase": phase, "broker": broker, "broker_rack": broker_rack, "requests": requests}
            for key, phases in sorted(verdict.served.items())
            for phase, served in phases.items()
            for (broker_rack, broker), requests in sorted(served.items())
        ],
        "record_bytes": [
            {"topic": topic, "client_rack": client, "broker_rack": broker, "bytes": size}
            for topic, moved in sorted(verdict.moved.items())
            for (client, broker), size in sorted(moved.items())
        ],
    }
