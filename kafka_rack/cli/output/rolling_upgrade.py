"""The replay's outcome for people, as a table with a verdict, and for programs, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from kafka_rack.cli.output.tables import table
from mockbroker.testing.rolling_upgrade.plan import LENIENT_READER, TITLES
from mockbroker.testing.rolling_upgrade.replay import Observation, ReplayOutcome
from mockbroker.testing.rolling_upgrade.verdict import PromiseVerdict
from mockbroker.zookeeper.releases import STRICT_READER

READERS = [f"{STRICT_READER} reads", f"{LENIENT_READER} reads"]
COLUMNS = ["step", "restarted", "code", "protocol", "JSON", *READERS, "UpdateMetadata", "new topic", "Metadata v1"]


def as_text(outcome: ReplayOutcome, verdicts: Sequence[PromiseVerdict]) -> str:
    """A row for each move, what the columns mean, and the verdict."""
    rows = [row_of(one) for one in outcome.observations]
    steps = sorted({one.step for one in outcome.observations})
    lines = [table(COLUMNS, rows), ""]
    lines += [f"step {step}: {TITLES[step]}" for step in steps]
    lines += [
        "",
        "JSON: version that each broker has written, in the order of ids, and how many of them each reader can read;",
        "UpdateMetadata: version, and the controllers that sent it;",
        "new topic: partitions, of one that the broker creates now, whose replicas are in as many racks as can be;",
        "Metadata v1: brokers whose rack a client sees, and how many brokers serve it",
        "",
    ]
    lines += [f"{'ok' if verdict.holds else 'failed':<8}{verdict.text}" for verdict in verdicts]
    return "\n".join(lines)


def row_of(one: Observation) -> list[object]:
    count = len(one.brokers)
    return [
        str(one.step),
        "-" if one.restarted is None else str(one.restarted),
        by_broker([broker.release for broker in one.brokers]),
        by_broker([broker.protocol for broker in one.brokers]),
        "".join(str(broker.json_version) for broker in one.brokers),
        f"{sum(broker.strict_error is None for broker in one.brokers)} of {count}",
        f"{sum(broker.lenient_error is None for broker in one.brokers)} of {count}",
        updates_cell(one),
        f"{sum(one.spans)} of {len(one.spans)}",
        metadata_cell(one),
    ]


def by_broker(values: Sequence[str]) -> str:
    """Values in the order of ids, each with the brokers that have it.

    >>> by_broker(["0.10.0.0", "0.9.0.1", "0.9.0.1"])
    '0: 0.10.0.0, 1-2: 0.9.0.1'
    """
    if len(set(values)) == 1:
        return values[0]
    parts = []
    for value, run in groupby(enumerate(values), key=lambda pair: pair[1]):
        ids = [index for index, _ in run]
        parts.append(f"{ids[0]}: {value}" if len(ids) == 1 else f"{ids[0]}-{ids[-1]}: {value}")
    return ", ".join(parts)


def updates_cell(one: Observation) -> str:
    """``v1 by 0, v2 by 1``; what was not taken says so."""
    parts = []
    for version in sorted({sent.version for sent in one.sent}):
        by = sorted({sent.controller_id for sent in one.sent if sent.version == version})
        parts.append(f"v{version} by {','.join(map(str, by))}")
    refused = sum(sent.times for sent in one.sent if sent.outcome == "refused")
    return ", ".join(parts) + (f", {refused} refused" if refused else "") if parts else "-"


def metadata_cell(one: Observation) -> str:
    """``2 of 6, by 6``: brokers whose rack a client sees, and brokers that serve it."""
    answers = [racks for racks in one.metadata.values() if racks is not None]
    if not answers:
        return "not served"
    known = sorted({sum(bool(rack) for rack in racks.values()) for racks in answers})
    return f"{'/'.join(map(str, known))} of {len(one.brokers)}, by {len(answers)}"


def as_json(outcome: ReplayOutcome, verdicts: Sequence[PromiseVerdict]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "holds": all(verdict.holds for verdict in verdicts),
        "from": outcome.upgrade.old.release.text,
        "to": outcome.upgrade.new.release.text,
        "racks": outcome.racks,
        "verdict": [verdict._asdict() for verdict in verdicts],
        "clients": [
            {"version": version, **{name: len(records) for name, records in done._asdict().items()}}
            for version, done in outcome.ledgers.items()
        ],
        "moves": [asdict(one) for one in outcome.observations],
    }
