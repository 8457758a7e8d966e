"""Curves of availability as SVG text: one sheet for each chance and each axis that varies, a panel for each case.

A panel has a line for each placer; the cases are what else varies in the grid. All panels of a sheet have one scale,
logarithmic where most chances would else lie on the axis. Below the title stands what is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from statistics import median
from typing import Any, NamedTuple

METRICS = {
    "p_any_unwritable": "chance that any partition is unwritable",
    "p_any_lost": "chance that any partition is lost",
}
SHEETS = {"brokers": "number of brokers", "failures": "failed brokers"}
"""What curves run over."""
CASES = {
    "brokers": "brokers",
    "partitions": "partitions",
    "replication_factor": "RF",
    "min_insync_replicas": "min.insync",
    "racks": "racks",
    "rack_failures": "failed racks",
    "failures": "failed brokers",
}
COLOURS = {
    "broker-replica": "#1f5fa8",
    "copyset": "#2a9d8f",
    "rack-aware": "#d9822b",
    "unaware": "#b23a48",
    "striped": "#7a5195",
    "random": "#777777",
}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 300, 210, 48, 34, 34, 12
"""Pixels: a panel and the margins inside it."""
HEAD, LEGEND_ROW, MIN_WIDTH = 60, 16, 760
"""Pixels above the panels with one row of legend, of each row, and across a sheet."""
NARROW = 374
"""Pixels across a sheet for a phone, whose panels stand below each other."""
COLUMNS, MAX_PANELS = 3, 60
"""Panels side by side; panels beyond which a sheet would be longer than anyone looks at."""
LINEAR_SPAN = 20
"""How many times the middle chance above 0 the highest may be before a logarithmic scale shows more."""
MAX_TICKS = 6
DASHES = ("", "6 3", "2 3", "8 3 2 3")
TEXT, GRID = "#333333", "#dddddd"


class PlacerCurve(NamedTuple):
    """A placer's curve: (x, chance, standard error), by x. ``dash`` tells several of one placer apart."""

    placer: str
    name: str
    dash: str
    points: tuple[tuple[int, float, float], ...]


class Panel(NamedTuple):
    """The curves of one case."""

    title: str
    lines: tuple[PlacerCurve, ...]


class Scale(NamedTuple):
    """Chances from 0 to ``end``; with ``decades``, that many below ``end`` are of one height, and 0 lies below them."""

    end: float
    decades: int | None = None

    def height(self, chance: float) -> float:
        """Where a chance stands between the bottom, 0, and the top, 1."""
        if chance <= 0:
            return 0.0
        if self.decades is None:
            return min(chance / self.end, 1.0)
        return min(max(1 + (log10(chance) - log10(self.end)) / (self.decades + 1), 0.0), 1.0)

    def ticks(self) -> list[float]:
        """The chances that are written beside it, from the bottom."""
        if self.decades is None:
            return [self.end * step / 4 for step in range(5)]
        step = ceil((self.decades + 1) / MAX_TICKS)
        return [0.0, *sorted(self.end / 10.0**below for below in range(0, self.decades + 1, step))]


def sheets(rows: Sequence[Mapping[str, Any]], *, narrow: bool = False) -> dict[str, str]:
    """Name -> SVG of every sheet that the rows give: those over an axis with several values.

    Args:
        rows: with the columns of ``kafka_rack.availability.Row``, and ``asked_scatter_width``.
        narrow: for a phone: one panel beside none.
    """
    made = {}
    for axis in SHEETS:
        if len({row[axis] for row in rows}) > 1:
            for metric in METRICS:
                found = panels(rows, axis, metric)
                columns = 1 if narrow else columns_of(rows, axis)
                made[f"{metric}-by-{axis}"] = sheet(
                    found, axis, metric, same=same_in_all(rows, axis), columns=columns, narrow=narrow
                )
    return made


def same_in_all(rows: Sequence[Mapping[str, Any]], axis: str) -> str:
    """What is the same in every row, as a line below the title.

    >>> row = {"brokers": 6, "partitions": 54, "replication_factor": 3, "min_insync_replicas": 2, "racks": None}
    >>> same_in_all([{**row, "rack_failures": 0, "failures": 1}, {**row, "rack_failures": 1, "failures": 1}], "brokers")
    'partitions 54, RF 3, min.insync 2, racks none, failed brokers 1'
    """
    first = rows[0]
    same = [name for name in CASES if name != axis and all(row[name] == first[name] for row in rows)]
    return ", ".join(in_words(name, first[name]) for name in same)


def in_words(name: str, value: object) -> str:
    return f"{CASES[name]} {'none' if value is None else value}"


def columns_of(rows: Sequence[Mapping[str, Any]], axis: str) -> int:
    """Panels side by side, so that those below each other differ in one thing where few values make a row."""
    others = [len({row[name] for row in rows}) for name in CASES if name != axis]
    last = next((values for values in reversed(others) if values > 1), 1)
    return last if 2 <= last <= COLUMNS else COLUMNS


def panels(rows: Sequence[Mapping[str, Any]], axis: str, metric: str) -> list[Panel]:
    """A panel for each case, sorted; its title names only what varies."""
    others = [name for name in CASES if name != axis]
    varying = [name for name in others if len({row[name] for row in rows}) > 1]
    cases: dict[tuple[Any, ...], dict[tuple[str, int | None], list[tuple[int, float, float]]]] = {}
    for row in rows:
        lines = cases.setdefault(tuple(row[name] for name in others), {})
        line = lines.setdefault((row["placer"], row.get("asked_scatter_width")), [])
        line.append((row[axis], row[metric], row["error"]))
    found = []
    for case in sorted(cases, key=lambda values: [(value is not None, value or 0) for value in values]):
        told = dict(zip(others, case, strict=True))
        title = ", ".join(in_words(name, told[name]) for name in varying)
        found.append(Panel(title or "all clusters", tuple(lines_of(cases[case]))))
    return found


def lines_of(curves: Mapping[tuple[str, int | None], Sequence[tuple[int, float, float]]]) -> list[PlacerCurve]:
    """The curves of a panel in the order of the legend."""
    widths = sorted({width for placer, width in curves if width is not None})
    order = sorted(curves, key=lambda key: (list(COLOURS).index(key[0]), key[1] or 0))
    return [
        PlacerCurve(
            placer,
            placer if width is None else f"{placer} of scatter width {width}",
            "" if width is None else DASHES[widths.index(width) % len(DASHES)],
            tuple(sorted(curves[placer, width])),
        )
        for placer, width in order
    ]


def sheet(
    found: Sequence[Panel], axis: str, metric: str, *, same: str = "", columns: int = COLUMNS, narrow: bool = False
) -> str:
    """All panels in rows, below a title, what is the same in all of them, and a legend."""
    shown = found[:MAX_PANELS]
    scale = scale_of([y for panel in found for line in panel.lines for _, y, _ in line.points])
    columns = min(columns, len(shown))
    width = NARROW if narrow else max(columns * WIDTH, MIN_WIDTH)
    named, rows = legend(shown, width)
    head = HEAD + rows * LEGEND_ROW
    height = head + ceil(len(shown) / columns) * HEIGHT + (24 if len(shown) < len(found) else 0)
    size = f'width="{width}" height="{height}"'
    title = f"{METRICS[metric]}, by {SHEETS[axis]}{' (logarithmic)' if scale.decades is not None else ''}"
    text = f'font-family="sans-serif" font-size="10" fill="{TEXT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {text}>',
        f'<rect {size} fill="white"/>',
        f'<text x="10" y="20" font-size="{11 if narrow else 14}">{escape(title)}</text>',
        *([f'<text x="10" y="36">{escape(same)}</text>'] if same else []),
        *named,
    ]
    for number, panel in enumerate(shown):
        x, y = number % columns * WIDTH, head + number // columns * HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *drawn(panel, scale), "</g>"]
    if len(shown) < len(found):
        parts.append(f'<text x="10" y="{height - 8}">and {len(found) - len(shown)} cases more, in the table</text>')
    return "\n".join([*parts, "</svg>", ""])


def legend(found: Sequence[Panel], width: int) -> tuple[list[str], int]:
    """Each line's colour and name, once, and how many rows they take."""
    parts: list[str] = []
    x, rows = 10, 1
    for name, (placer, dash) in {
        line.name: (line.placer, line.dash) for panel in found for line in panel.lines
    }.items():
        taken = 44 + 6 * len(name)
        if x > 10 and x + taken > width:
            x, rows = 10, rows + 1
        y = 38 + LEGEND_ROW * rows
        stroke = f'stroke="{COLOURS[placer]}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<line x1="{x}" y1="{y}" x2="{x + 20}" y2="{y}" {stroke}/>')
        parts.append(f'<text x="{x + 24}" y="{y + 3}">{escape(name)}</text>')
        x += taken
    return parts, rows


def drawn(panel: Panel, scale: Scale) -> list[str]:
    """One panel: grid, axes, curves, and error bars where the chances were tried out.

    Each curve is thinner than those below it, so that curves on top of each other can be told apart.
    """
    xs = sorted({x for line in panel.lines for x, _, _ in line.points})
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def across(x: int) -> float:
        return (LEFT + right) / 2 if xs[0] == xs[-1] else LEFT + (x - xs[0]) / (xs[-1] - xs[0]) * (right - LEFT)

    def up(y: float) -> float:
        return bottom - scale.height(y) * (bottom - TOP)

    parts = [f'<text x="{LEFT}" y="{TOP - 12}" font-weight="bold">{escape(panel.title)}</text>']
    for value in scale.ticks():
        parts.append(f'<line x1="{LEFT}" y1="{up(value):.1f}" x2="{right}" y2="{up(value):.1f}" stroke="{GRID}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{up(value) + 3:.1f}" text-anchor="end">{value:.3g}</text>')
    parts += [f'<text x="{across(x):.1f}" y="{bottom + 14}" text-anchor="middle">{x}</text>' for x in labelled(xs)]
    for above, line in zip(reversed(range(len(panel.lines))), panel.lines, strict=True):
        colour = COLOURS[line.placer]
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y, _ in line.points)
        stroke = f'stroke="{colour}" stroke-width="{1.2 + 0.6 * min(above, 4):.1f}" stroke-dasharray="{line.dash}"'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        for x, y, error in line.points:
            parts.append(
                f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="{1.8 + 0.6 * min(above, 4):.1f}" fill="{colour}">'
                f"<title>{escape(line.name)}, {x}: {y:.6g}{f' ± {error:.2g}' if error else ''}</title></circle>"
            )
            if error:
                parts.append(
                    f'<line x1="{across(x):.1f}" y1="{up(y - 2 * error):.1f}" x2="{across(x):.1f}" '
                    f'y2="{up(y + 2 * error):.1f}" stroke="{colour}"/>'
                )
    return parts


def labelled(xs: Sequence[int], most: int = 8) -> list[int]:
    """The values that are written below a panel: all, or evenly some of them."""
    step = ceil(len(xs) / most)
    return list(xs[::step])


def scale_of(chances: Sequence[float]) -> Scale:
    """The scale on which most of the chances can be seen.

    >>> scale_of([0.0, 0.1, 0.3]), scale_of([0.0, 0.9, 2e-4, 1e-3, 0.02])
    (Scale(end=0.4, decades=None), Scale(end=1.0, decades=4))
    """
    above = sorted(chance for chance in chances if chance > 0)
    highest = above[-1] if above else 0.0
    if not above or highest <= LINEAR_SPAN * median(above):
        return Scale(scale_end(highest))
    power = min(0, ceil(log10(highest) - 1e-9))
    return Scale(10.0**power, power - floor(log10(above[0])))


def scale_end(highest: float) -> float:
    """A round number above the highest value: 1, 2, 4, 5 or 8 times a power of ten, at most 1.

    >>> scale_end(0.36), scale_end(0.9), scale_end(0.0)
    (0.4, 1.0, 1.0)
    """
    if highest <= 0:
        return 1.0
    power = 10.0 ** floor(log10(highest))
    return min(1.0, next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= highest * (1 - 1e-9)))
