"""Captures to the result of ``locality`` in this process: one pass over their frames, without Spark.

The job of the same name has Spark do the same over many processes: docs/locality.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_rack.collector import collector_paused
from kafka_rack.locality.amounts import window_for
from kafka_rack.locality.flows import Flows
from kafka_rack.locality.result import Excerpt, collect_result
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES, Amounts, TablesInMemory
from kafka_rack.locality.traffic import (
    GROUPINGS,
    TrafficKey,
    TrafficSums,
    add_amounts,
    add_sums,
    grouped,
    grouping_row,
    in_order,
    rewindowed,
    traffic_row,
)
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import CaptureFile, find_files, unread_inputs
from kafka_rack.wire_tables.reading import decode_into
from kafka_rack.wire_tables.rows import Rows

MAX_FRAMES = 20_000
"""Frames whose rows are held at a time."""
OnProgress = Callable[[CaptureFile, int], None]
"""Called with a file and how many of its frames have been read."""


class NothingToMeasure(Exception):
    """No input has a frame."""

    def __init__(self) -> None:
        super().__init__(
            "not one frame could be read: nobody called while it was recorded, or it is no capture of Kafka's wire"
        )


@dataclass(slots=True)
class Measured:
    """A run's result, and of which inputs not one frame could be read."""

    result: dict[str, Any]
    unread: list[str] = field(default_factory=list)


def flows_of(
    file: CaptureFile, options: Options, window_us: int | None = None, on_progress: OnProgress | None = None
) -> Flows:
    """The flows of a whole capture."""
    flows, rows = Flows(window_us), Rows()
    with collector_paused():
        for piece in decode_into(rows, file, options, only=TABLES, max_frames=MAX_FRAMES):
            flows.add(TablesInMemory(piece))
            piece.clear()
            if on_progress is not None:
                on_progress(file, flows.evidence.frames)
    return flows


def measure(
    paths: Sequence[str],
    settings: Settings | None = None,
    options: Options | None = None,
    *,
    out: str | None = None,
    on_progress: OnProgress | None = None,
) -> Measured:
    """Captures, and folders of them, to what ``locality.json`` holds.

    Raises: FileNotFoundError: a path that is not there. NothingToMeasure.
    """
    settings = settings or Settings()
    files, _ = find_files(paths)
    spans: dict[str, tuple[int, int]] = {}
    traffic: dict[TrafficKey, Amounts] = {}
    for file in files:
        flows = flows_of(file, options or Options(), settings.window_us, on_progress)
        evidence = flows.evidence
        if not evidence.frames:
            continue
        spans[file.path] = evidence.first, evidence.last
        sums = TrafficSums(evidence.conclude(settings.rules), settings.rules)
        sums.add_flows(flows, evidence.covered)
        for key, amounts in sums.amounts.items():
            traffic[key] = add_amounts(traffic.get(key), amounts)
    if not spans:
        raise NothingToMeasure
    span_us = max(last for _, last in spans.values()) - min(first for first, _ in spans.values())
    window_us = settings.window_us or window_for(span_us)
    result = collect_result(
        excerpts_of(rewindowed(traffic, window_us), settings),
        settings.prices,
        spans.values(),
        window_us,
        racks_file=settings.racks_file,
        out=out,
    )
    return Measured(result, unread_inputs(paths, spans))


def excerpts_of(traffic: Mapping[TrafficKey, Amounts], settings: Settings) -> dict[str, Excerpt]:
    """What the result needs of every table."""
    sums: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for key, amounts in traffic.items():
        for group, more in grouped(traffic_row(key, amounts, settings.prices)):
            before = sums.get(group)
            sums[group] = more if before is None else add_sums(before, more)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in GROUPINGS}
    for group, found in sums.items():
        rows[group[0]].append(grouping_row(group[0], group[1:], found))
    excerpts = {name: Excerpt(name, settings.top) for name in GROUPINGS}
    for name, found_rows in rows.items():
        for row in sorted(found_rows, key=in_order(name)):
            excerpts[name].add(row)
    return excerpts
