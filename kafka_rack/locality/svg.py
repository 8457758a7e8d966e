"""Charts of traffic as SVG: bytes over time, and the bars of tables.

Colours come from the page's style, for its light and dark modes. Each chart and column has a title with the figures,
for browsers and screen readers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from kafka_rack.locality.amounts import bytes_text, window_text
from kafka_rack.locality.markup import LOCALITIES, split_text

WIDTH, HEIGHT, MAX_COLUMNS = 960, 200, 120
BAR, BAR_HEIGHT = 180, 12
COLUMNS = tuple(f"{way}_bytes" for way in LOCALITIES)


def over_time(windows: Sequence[Mapping[str, Any]], window_us: int) -> str:
    """A stacked column for each window; with very many windows, several share one."""
    starts = [time_of(row["window_start"]) for row in windows]
    first, window = min(starts), timedelta(microseconds=window_us)
    step = window * ceil(((max(starts) - first) // window + 1) / MAX_COLUMNS)
    sums: dict[int, Counter[str]] = defaultdict(Counter)
    for at, row in zip(starts, windows, strict=True):
        sums[(at - first) // step].update({column: row[column] for column in COLUMNS})
    wide, highest = WIDTH / (max(sums) + 1), max(column.total() for column in sums.values()) or 1
    every = window_text(step // timedelta(microseconds=1))
    parts = [
        f'<div class="wide"><svg role="img" width="100%" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<title>Bytes over time, a column for every {every}</title>",
    ]
    for number, column in sorted(sums.items()):
        y = float(HEIGHT)
        parts.append(f"<g><title>from {first + step * number:%Y-%m-%d %H:%M:%S}: {split_text(column)}</title>")
        for way in COLUMNS:
            height = HEIGHT * column[way] / highest
            y -= height
            if height:
                box = f'x="{wide * (number + 0.08):.2f}" y="{y:.2f}" width="{wide * 0.84:.2f}" height="{height:.2f}"'
                parts.append(f'<rect class="{way.removesuffix("_bytes")}" {box}/>')
        parts.append("</g>")
    said = f"{first:%Y-%m-%d %H:%M:%S} to {max(starts):%Y-%m-%d %H:%M:%S} UTC"
    return "\n".join(
        [*parts, f'</svg></div><p class="soft">{said}; the highest column is {bytes_text(highest)} in {every}.</p>']
    )


def bar(row: Mapping[str, Any], longest: int) -> str:
    """A bar of a row's bytes, relative to the longest row."""
    parts = [
        f'<svg role="img" width="{BAR}" height="{BAR_HEIGHT}" viewBox="0 0 {BAR} {BAR_HEIGHT}">',
        f"<title>{split_text(row)}</title>",
    ]
    x = 0.0
    for way in LOCALITIES:
        width = BAR * row[f"{way}_bytes"] / longest if longest else 0.0
        if width:
            parts.append(f'<rect class="{way}" x="{x:.2f}" y="0" width="{width:.2f}" height="{BAR_HEIGHT}"/>')
        x += width
    return "".join([*parts, "</svg>"])


def time_of(text: str) -> datetime:
    """The parsed time of a text in the result."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
