"""A picture of who reads inside its rack: a bar a member, by rack, for each assignment side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from kafka_rack.assignment.explanation import Explanation, View

ROW, GAP, LEFT, TOP, BAR_WIDTH, BETWEEN = 14, 10, 190, 64, 220, 40
"""Pixels: a bar's line, the space between racks, the margins for labels, the widest bar, the space between views."""
MOST_MEMBERS = 1_000
"""Members beyond which a picture would be longer than anyone looks at."""
IN_RACK, OUT_OF_RACK, UNKNOWN, TEXT = "#1f5fa8", "#d9822b", "#b8b8b8", "#333333"


def reads_by_member(explanation: Explanation) -> str:
    """The picture as SVG text. Partitions of a member without a rack are neither inside nor outside of one."""
    views = (
        [explanation.now] if explanation.now is explanation.with_racks else [explanation.now, explanation.with_racks]
    )
    order = sorted(
        range(len(explanation.now.forecast.members)),
        key=lambda at: (explanation.now.forecast.members[at].rack or "~", explanation.now.forecast.members[at].member),
    )
    shown = order[:MOST_MEMBERS]
    largest = max((member.partitions for view in views for member in view.forecast.members), default=1) or 1
    lines, y, rack = [], TOP, ""
    for at in shown:
        member = explanation.now.forecast.members[at]
        name = member.rack or "no rack"
        if name != rack:
            y += GAP + ROW if rack else ROW
            lines.append(f'<text x="10" y="{y - 4}" font-weight="bold">{escape(name)}</text>')
            rack = name
        lines.append(f'<text x="20" y="{y + 10}">{escape(shortened(member.member))}</text>')
        for place, view in enumerate(views):
            lines += bar(view, at, LEFT + place * (BAR_WIDTH + BETWEEN), y, largest)
        y += ROW
    if len(shown) < len(order):
        y += ROW
        lines.append(f'<text x="10" y="{y}">and {len(order) - len(shown)} members more</text>')
    width, height = LEFT + len(views) * (BAR_WIDTH + BETWEEN), y + 16
    return "\n".join([*head(explanation.assignor, views, width, height), *lines, "</svg>", ""])


def head(assignor: str, views: Sequence[View], width: int, height: int) -> list[str]:
    """The frame, the title, each view's name and share, and what the colours mean."""
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="10" fill="{TEXT}">',
        f'<rect {size} fill="white"/>',
        f'<text x="10" y="18" font-size="13">{escape(assignor)}: partitions read inside the rack, by member</text>',
    ]
    for place, (colour, meaning) in enumerate(
        [(IN_RACK, "inside the rack"), (OUT_OF_RACK, "across racks"), (UNKNOWN, "member without a rack")]
    ):
        x = 10 + 120 * place
        parts.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="37">{meaning}</text>')
    for place, view in enumerate(views):
        share = "-" if view.forecast.share is None else f"{100 * view.forecast.share:.1f} %"
        x = LEFT + place * (BAR_WIDTH + BETWEEN)
        parts.append(f'<text x="{x}" y="56" font-weight="bold">{escape(view.name)}: {share}</text>')
    return parts


def bar(view: View, at: int, x: int, y: int, largest: int) -> list[str]:
    """One member's partitions in one view."""
    member = view.forecast.members[at]
    inside = member.in_rack or 0
    parts = [(inside, IN_RACK), (member.partitions - inside, UNKNOWN if member.in_rack is None else OUT_OF_RACK)]
    found = []
    for count, colour in parts:
        width = round(count / largest * (BAR_WIDTH - 30))
        if count:
            found.append(f'<rect x="{x}" y="{y + 2}" width="{max(width, 1)}" height="{ROW - 4}" fill="{colour}"/>')
            x += max(width, 1)
    found.append(f'<text x="{x + 4}" y="{y + 10}">{member.partitions}</text>')
    return found


def shortened(name: str, longest: int = 28) -> str:
    """A member id that fits beside its bar: the start and the end of a long one."""
    return name if len(name) <= longest else f"{name[:18]}…{name[-(longest - 19) :]}"
