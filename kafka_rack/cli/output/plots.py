"""Pictures as SVG text: which partitions are in which rack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

CELL, GAP, LEFT, TOP = 14, 10, 70, 58
"""Pixels: a cell's side, the space between racks, and the margins for labels."""
MOST_ROWS = 2_000
"""Partitions beyond which a picture would be longer than anyone looks at."""
LEADER, FOLLOWER, EMPTY, TEXT = "#1f5fa8", "#a9c7e8", "#f1f1f1", "#333333"


def partitions_by_rack(
    rows: Sequence[Sequence[int]],
    racks: Mapping[int, str | None],
    title: str,
    first_partition: int = 0,
    labels: Sequence[str] | None = None,
) -> str:
    """A grid: a line a partition, a column a broker, brokers by rack; leaders dark, followers light.

    Args:
        rows: replicas of each partition, leader first.
        racks: broker id -> rack or None.
        labels: what stands in front of each line, where partitions are of several topics.
    """
    left = max(LEFT, *(20 + 6 * len(label) for label in labels)) if labels else LEFT
    ordered = sorted(racks, key=lambda broker: (racks[broker] is not None, racks[broker] or "", broker))
    column: dict[int, int] = {}
    headings: list[tuple[str, int]] = []
    x = left
    for at, broker in enumerate(ordered):
        if at == 0 or racks[broker] != racks[ordered[at - 1]]:
            x += GAP if at else 0
            headings.append((racks[broker] or "no rack", x))
        column[broker] = x
        x += CELL
    shown = rows[:MOST_ROWS]
    width, height = max(x + 10, left + 8 * len(title)), TOP + CELL * len(shown) + (24 if len(shown) < len(rows) else 10)
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="10" fill="{TEXT}">',
        f'<rect {size} fill="white"/>',
        f'<text x="10" y="18" font-size="13">{escape(title)}</text>',
    ]
    parts += [f'<text x="{at}" y="36" font-weight="bold">{escape(name)}</text>' for name, at in headings]
    parts += [f'<text x="{at + 2}" y="50" font-size="8">{broker}</text>' for broker, at in column.items()]
    for number, row in enumerate(shown):
        y = TOP + CELL * number
        label = labels[number] if labels else f"p {first_partition + number}"
        parts.append(f'<text x="10" y="{y + 10}">{escape(label)}</text>')
        for broker, at in column.items():
            colour = LEADER if row[0] == broker else FOLLOWER if broker in row else EMPTY
            parts.append(f'<rect x="{at}" y="{y}" width="{CELL - 2}" height="{CELL - 2}" fill="{colour}"/>')
    if len(shown) < len(rows):
        parts.append(f'<text x="10" y="{height - 8}">and {len(rows) - len(shown)} partitions more</text>')
    return "\n".join([*parts, "</svg>", ""])
