"""A picture of who reads inside its rack: a bar a member, by rack, for each assignment side by side."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_rack.assignment.explanation import AssignmentExplanation, View
from kafka_rack.charts.svg import box, document, legend, text

ROW, GAP, LEFT, TOP, BAR_WIDTH, BETWEEN = 14, 10, 190, 64, 220, 40
"""Pixels: a bar's line, the space between racks, the margins for labels, the widest bar, the space between views."""
MAX_MEMBERS = 1_000
"""Members beyond which a picture would be longer than anyone looks at."""
IN_RACK, OUT_OF_RACK, UNKNOWN = "#1f5fa8", "#d9822b", "#b8b8b8"


def reads_by_member(explanation: AssignmentExplanation) -> str:
    """The picture as SVG text. Partitions of a member without a rack are neither inside nor outside of one."""
    views = (
        [explanation.now] if explanation.now is explanation.with_racks else [explanation.now, explanation.with_racks]
    )
    order = sorted(
        range(len(explanation.now.forecast.members)),
        key=lambda at: (explanation.now.forecast.members[at].rack or "~", explanation.now.forecast.members[at].member),
    )
    shown = order[:MAX_MEMBERS]
    largest = max((member.partitions for view in views for member in view.forecast.members), default=1) or 1
    lines, y, rack = [], TOP, ""
    for at in shown:
        member = explanation.now.forecast.members[at]
        name = member.rack or "no rack"
        if name != rack:
            y += GAP + ROW if rack else ROW
            lines.append(text(10, y - 4, name, font_weight="bold"))
            rack = name
        lines.append(text(20, y + 10, shortened(member.member)))
        for place, view in enumerate(views):
            lines += bar(view, at, LEFT + place * (BAR_WIDTH + BETWEEN), y, largest)
        y += ROW
    if len(shown) < len(order):
        y += ROW
        lines.append(text(10, y, f"and {len(order) - len(shown)} members more"))
    width, height = LEFT + len(views) * (BAR_WIDTH + BETWEEN), y + 16
    return document(width, height, [*head(explanation.assignor, views), *lines])


def head(assignor: str, views: Sequence[View]) -> list[str]:
    """The title, each view's name and share, and what the colours mean."""
    key, _ = legend(
        [(IN_RACK, "inside the rack"), (OUT_OF_RACK, "across racks"), (UNKNOWN, "member without a rack")], 10, 28
    )
    parts = [text(10, 18, f"{assignor}: partitions read inside the rack, by member", font_size=13), *key]
    for place, view in enumerate(views):
        share = "-" if view.forecast.share is None else f"{100 * view.forecast.share:.1f} %"
        x = LEFT + place * (BAR_WIDTH + BETWEEN)
        parts.append(text(x, 56, f"{view.name}: {share}", font_weight="bold"))
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
            found.append(box(x, y + 2, max(width, 1), ROW - 4, colour))
            x += max(width, 1)
    found.append(text(x + 4, y + 10, str(member.partitions)))
    return found


def shortened(name: str, longest: int = 28) -> str:
    """A member id that fits beside its bar: the start and the end of a long one."""
    return name if len(name) <= longest else f"{name[:18]}…{name[-(longest - 19) :]}"
