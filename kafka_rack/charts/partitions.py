"""Which partitions are in which rack: a line a partition, a column a broker, what an audit faults in red."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafka_rack.charts.svg import LETTER, TEXT_COLOUR, box, document, legend, text
from kafka_rack.plurals import counted

CELL, GAP, LEFT, TOP = 14, 10, 70, 76
"""Pixels: a cell's side, the space between racks, and the margins for labels."""
MAX_ROWS = 2_000
"""Partitions beyond which a picture would be longer than anyone looks at."""
LEADER, FOLLOWER, EMPTY, FAULT = "#1f5fa8", "#a9c7e8", "#f1f1f1", "#c62828"


def partitions_by_rack(
    rows: Sequence[Sequence[int]],
    racks: Mapping[int, str | None],
    title: str,
    first_partition: int = 0,
    labels: Sequence[str] | None = None,
    faults: Mapping[int, Sequence[str]] | None = None,
    faulty_brokers: Collection[int] = (),
) -> str:
    """A grid: a line a partition, a column a broker, brokers by rack; leaders dark, followers light.

    Args:
        rows: replicas of each partition, leader first.
        racks: broker id -> rack or None.
        labels: what stands in front of each line, where partitions are of several topics.
        faults: number of a line -> what is wrong with its partition; None where nobody has looked.
        faulty_brokers: brokers that something is wrong with.
    """
    left = max(LEFT, *(24 + LETTER * len(label) for label in labels)) if labels else LEFT
    column, headings, right = columns(racks, left)
    shown = rows[:MAX_ROWS]
    entries = [(LEADER, "leader"), (FOLLOWER, "follower"), (EMPTY, "no replica")]
    if faults is not None:
        entries.append((f"edge:{FAULT}", f"found by the audit: {counted(len(faults), 'partition')}"))
    key, key_end = legend(entries, 10, 27)
    width = max(right + 10, left + 8 * len(title), int(key_end))
    height = TOP + CELL * len(shown) + (24 if len(shown) < len(rows) else 10)
    parts = [text(10, 18, title, font_size=13), *key]
    parts += [text(at, 54, name, font_weight="bold") for name, at in headings]
    for broker, at in column.items():
        fill = FAULT if broker in faulty_brokers else TEXT_COLOUR
        parts.append(text(at + 2, 68, str(broker), font_size=8, fill=fill))
    edges = []
    for number, row in enumerate(shown):
        y = TOP + CELL * number
        label = labels[number] if labels else f"p {first_partition + number}"
        wrong = (faults or {}).get(number, ())
        parts.append(text(10, y + 10, label, fill=FAULT if wrong else TEXT_COLOUR))
        for broker, at in column.items():
            role = "leader" if row[0] == broker else "follower" if broker in row else ""
            colour = {"leader": LEADER, "follower": FOLLOWER}.get(role, EMPTY)
            said = f"{label}: {role} on broker {broker}" if role else None
            parts.append(box(at, y, CELL - 2, CELL - 2, colour, said))
        if wrong:
            said = f"{label}: {', '.join(wrong)}"
            side = max(column.values()) - left + CELL + 2
            edge: dict[str, str | int] = {"fill_opacity": 0, "stroke": FAULT, "stroke_width": 2}
            edges.append(box(left - 2, y - 2, side, CELL + 2, "white", said, **edge))
    parts += edges
    if len(shown) < len(rows):
        parts.append(text(10, height - 8, f"and {len(rows) - len(shown)} partitions more"))
    return document(width, height, parts)


def columns(racks: Mapping[int, str | None], left: int) -> tuple[dict[int, int], list[tuple[str, int]], int]:
    """Where each broker's column is, each rack's name, and where the last column ends."""
    ordered = sorted(racks, key=lambda broker: (racks[broker] is not None, racks[broker] or "", broker))
    column: dict[int, int] = {}
    headings: list[tuple[str, int]] = []
    x = left
    for at, broker in enumerate(ordered):
        name = racks[broker] or "no rack"
        if at == 0 or racks[broker] != racks[ordered[at - 1]]:
            if at:
                begin = headings[-1]
                x = max(x, begin[1] + 7 * len(begin[0])) + GAP
            headings.append((name, x))
        column[broker] = x
        x += CELL
    return column, headings, max([x, *(at + 7 * len(name) for name, at in headings[-1:])])
