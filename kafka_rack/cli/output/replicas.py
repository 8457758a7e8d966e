"""Replicas of partitions with their racks, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_rack.cli.output.tables import table

Racks = Mapping[int, str | None]


def replicas_json(rows: Sequence[Sequence[int]], racks: Racks, first: int) -> list[dict[str, Any]]:
    """The replicas of partitions from ``first`` on."""
    return [
        {"partition": number, "replicas": list(row), "racks": [racks.get(broker) for broker in row]}
        for number, row in enumerate(rows, first)
    ]


def replicas_table(rows: Sequence[Sequence[int]], racks: Racks, first: int, prefix: str = "") -> str:
    cells = [
        [f"{prefix}{number}" if prefix else number, ids(row), racks_of(row, racks)]
        for number, row in enumerate(rows, first)
    ]
    return table(["partition", "replicas", "racks"], cells)


def ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def racks_of(brokers: Sequence[int], racks: Racks) -> str:
    """The racks of brokers between commas: a dash for none, a question mark for a broker that is not listed."""
    return ",".join((racks[broker] or "-") if broker in racks else "?" for broker in brokers)
