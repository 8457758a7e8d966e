"""Pictures of traffic by rack as SVG text: a map of rack pairs, bytes over time, and the bars of tables.

Colours come from the page's style, so that they follow its light or dark. Whatever is drawn has a title with the
figures, which browsers show and screen readers read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any

from kafka_rack.locality.amounts import bytes_text
from kafka_rack.locality.markup import LOCALITIES, Terms, short, split_text

CELL, HIGH, LEFT, TOP = 124, 46, 150, 48
"""Pixels: a cell of the map and the margins for racks' names."""
MAX_RACKS = 16
"""Racks on each side of the map; all the others are one."""
REST = "\0rest"
FAINTEST, DARKEST = 0.10, 0.72
WIDTH, HEIGHT, INSET, ABOVE, BELOW = 1_040, 260, 78, 12, 34
"""Pixels: the picture over time and the margins inside it."""
MAX_COLUMNS, LETTER = 120, 7
BAR, BAR_HEIGHT = 180, 12


@dataclass(slots=True)
class Cell:
    """What went between the clients of a rack and the brokers of another."""

    cross_bytes: int = 0
    unknown_bytes: int = 0
    local_bytes: int = 0
    cost: Decimal = Decimal(0)
    possible_cost: Decimal = Decimal(0)
    by_category: dict[str, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.cross_bytes + self.unknown_bytes + self.local_bytes

    @property
    def mostly(self) -> str:
        """The locality with the most bytes."""
        return max(LOCALITIES, key=lambda way: int(getattr(self, f"{way}_bytes")))

    def add(self, row: Mapping[str, Any]) -> None:
        for way in LOCALITIES:
            column = f"{way}_bytes"
            setattr(self, column, getattr(self, column) + row[column])
        self.cost += Decimal(row["cost"])
        self.possible_cost += Decimal(row["possible_cost"])
        self.by_category[row["category"]] = self.by_category.get(row["category"], 0) + row["bytes"]


Rack = str | None


def heat_map(pairs: Sequence[Mapping[str, Any]], terms: Terms) -> str:
    """Clients' racks downwards, brokers' across; the more bytes, the fuller the colour."""
    down, across = axis(pairs, "client_rack"), axis(pairs, "broker_rack")
    cells: dict[tuple[Rack, Rack], Cell] = defaultdict(Cell)
    for row in pairs:
        client, broker = row["client_rack"], row["broker_rack"]
        cells[client if client in down else REST, broker if broker in across else REST].add(row)
    most = max((cell.size for cell in cells.values()), default=0) or 1
    width, height = LEFT + CELL * len(across) + 8, TOP + HIGH * len(down) + 8
    title = "Bytes and money by the client's rack and the broker's"
    parts = [
        f'<svg role="img" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<title>{title}</title>",
        f'<text class="soft" x="{LEFT}" y="14">brokers in</text>',
        f'<text class="soft" x="4" y="{TOP - 10}">clients in</text>',
    ]
    for number, rack in enumerate(across):
        x = LEFT + CELL * number + CELL // 2
        parts.append(f'<text x="{x}" y="{TOP - 10}" text-anchor="middle">{label(rack, 16)}</text>')
    for row_number, client in enumerate(down):
        y = TOP + HIGH * row_number
        parts.append(f'<text x="{LEFT - 10}" y="{y + HIGH // 2 + 4}" text-anchor="end">{label(client, 20)}</text>')
        for number, broker in enumerate(across):
            cell = cells.get((client, broker), Cell())
            parts.append(drawn_cell(cell, LEFT + CELL * number, y, cell.size / most, terms, (client, broker)))
    return "\n".join([*parts, "</svg>"])


def drawn_cell(cell: Cell, x: int, y: int, part: float, terms: Terms, between: tuple[Rack, Rack]) -> str:
    """A cell with its bytes, its money, and by category what it is made of."""
    client, broker = (label(rack, 64) for rack in between)
    box = f'x="{x + 1}" y="{y + 1}" width="{CELL - 2}" height="{HIGH - 2}" rx="4"'
    if not cell.size:
        return f'<rect class="empty" {box}><title>clients in {client}, brokers in {broker}: nothing</title></rect>'
    if cell.mostly == "unknown":
        money = f"at most {terms.money(cell.possible_cost)}"
    else:
        money = terms.money(cell.cost)
    made_of = ", ".join(
        f"{short(category, 20)} {bytes_text(size)}"
        for category, size in sorted(cell.by_category.items(), key=lambda item: (-item[1], item[0]))
        if size
    )
    strength = FAINTEST + (DARKEST - FAINTEST) * part**0.5
    middle = x + CELL // 2
    return (
        f"<g><title>clients in {client}, brokers in {broker}: {bytes_text(cell.size)}, {money} {terms.period} "
        f"({made_of})</title>"
        f'<rect class="{cell.mostly}" fill-opacity="{strength:.2f}" {box}/>'
        f'<text x="{middle}" y="{y + 20}" text-anchor="middle">{bytes_text(cell.size)}</text>'
        f'<text x="{middle}" y="{y + 36}" text-anchor="middle">{money}</text></g>'
    )


def axis(pairs: Sequence[Mapping[str, Any]], side: str) -> list[Rack]:
    """Racks by name, unknown last; of many those with the most bytes, and one for the rest."""
    sizes: dict[Rack, int] = defaultdict(int)
    for row in pairs:
        sizes[row[side]] += row["bytes"]
    known = sorted((rack for rack in sizes if rack is not None), key=lambda rack: (-sizes[rack], rack))
    shown: list[Rack] = [*sorted(known[:MAX_RACKS])]
    if len(known) > MAX_RACKS:
        shown.append(REST)
    return [*shown, None] if None in sizes else shown


def label(rack: Rack, longest: int) -> str:
    return "other racks" if rack == REST else short(rack or (None if rack is None else '""'), longest)


def over_time(windows: Sequence[Mapping[str, Any]], window_us: int) -> str:
    """A column for each window, stacked; of very many windows several share one."""
    starts = {row["window_start"]: moment(row["window_start"]) for row in windows}
    first, last = min(starts.values()), max(starts.values())
    window = timedelta(microseconds=window_us)
    together = ceil(((last - first) // window + 1) / MAX_COLUMNS)
    step = window * together
    sums: dict[int, dict[str, int]] = {}
    for row in windows:
        column = sums.setdefault((starts[row["window_start"]] - first) // step, dict.fromkeys(COLUMNS, 0))
        for name in COLUMNS:
            column[name] += row[name]
    count = max(sums) + 1
    highest = scale_end(max(sum(column.values()) for column in sums.values()))
    bottom, wide = HEIGHT - BELOW, (WIDTH - INSET) / count
    parts = [
        f'<svg role="img" width="100%" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<title>Bytes over time, a column for every {span_text(step)}</title>",
    ]
    for quarter in range(5):
        y = bottom - (bottom - ABOVE) * quarter / 4
        parts.append(f'<line class="grid" x1="{INSET}" y1="{y:.1f}" x2="{WIDTH}" y2="{y:.1f}"/>')
        told = bytes_text(highest * quarter // 4)
        parts.append(f'<text class="soft" x="{INSET - 8}" y="{y + 4:.1f}" text-anchor="end">{told}</text>')
    for number, column in sorted(sums.items()):
        x, y = INSET + wide * number, float(bottom)
        parts.append(f"<g><title>from {clock(first + step * number)}: {split_text(column)}</title>")
        for name in COLUMNS:
            height = (bottom - ABOVE) * column[name] / highest
            y -= height
            if height:
                box = f'x="{x + wide * 0.08:.2f}" y="{y:.2f}" width="{wide * 0.84:.2f}" height="{height:.2f}"'
                parts.append(f'<rect class="{name.removesuffix("_bytes")}" {box}/>')
        parts.append("</g>")
    parts += ticks(first, step, count, wide)
    return "\n".join([*parts, "</svg>"])


COLUMNS = tuple(f"{way}_bytes" for way in LOCALITIES)


def ticks(first: datetime, step: timedelta, count: int, wide: float, most: int = 8) -> list[str]:
    """Times below the columns where there is room for them, the first with its date."""
    found: list[str] = []
    free = 0.0
    for number in range(0, count, ceil(count / most)):
        at, x = first + step * number, INSET + wide * number
        shown = clock(at) if number == 0 else f"{at:%H:%M:%S}" if step < timedelta(days=1) else f"{at:%m-%d %H:%M}"
        if free <= x <= WIDTH - LETTER * len(shown):
            free = x + LETTER * (len(shown) + 1)
            found.append(f'<text class="soft" x="{x:.1f}" y="{HEIGHT - 12}">{shown}</text>')
    return found


def bar(row: Mapping[str, Any], longest: int) -> str:
    """A row's bytes beside those of the longest row."""
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


def swatch(way: str) -> str:
    """A locality's colour for the legend."""
    words = LOCALITIES[way]
    return (
        f'<svg role="img" width="12" height="12"><title>{words}</title>'
        f'<rect class="{way}" width="12" height="12"/></svg>{words}'
    )


def scale_end(highest: int) -> int:
    """A round number of bytes from the highest on, four parts of which are round too.

    >>> scale_end(700), scale_end(5_000), scale_end(1_100_000), scale_end(0)
    (800, 6144, 2097152, 4)
    """
    unit = 1
    while highest > unit * 1_000:
        unit *= 1_024
    for power in (1, 10, 100, 1_000):
        for count in (1, 2, 4, 6, 8, 12, 16, 20, 24, 32):
            if unit * count * power >= max(highest, 4):
                return unit * count * power
    return highest


def moment(told: str) -> datetime:
    """A moment as the result writes it."""
    return datetime.strptime(told, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def clock(at: datetime) -> str:
    """A moment as people read it, with milliseconds where it has some.

    >>> clock(moment("2026-01-01T00:00:00.000000Z")), clock(moment("2026-01-01T00:00:00.250000Z"))
    ('2026-01-01 00:00:00', '2026-01-01 00:00:00.250')
    """
    return f"{at:%Y-%m-%d %H:%M:%S}" + (f".{at.microsecond // 1_000:03}" if at.microsecond else "")


def span_text(step: timedelta) -> str:
    """A step between columns.

    >>> span_text(timedelta(seconds=90)), span_text(timedelta(milliseconds=20)), span_text(timedelta(hours=2))
    ('90 s', '0.02 s', '2 h')
    """
    seconds = step / timedelta(seconds=1)
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:g} s"
