"""Durations as ISO 8601 writes them, which ``share.auto.offset.reset=by_duration:`` has."""

from __future__ import annotations

import re

DURATION = re.compile(
    r"P(?:(?P<days>\d{1,15})D)?"
    r"(?:T(?:(?P<hours>\d{1,15})H)?(?:(?P<minutes>\d{1,15})M)?(?:(?P<seconds>\d{1,15}(?:\.\d{1,9})?)S)?)?",
    re.IGNORECASE,
)
MS_OF_UNIT = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}


def duration_ms(text: str) -> int:
    """A duration in milliseconds. Raises ValueError: the text is none.

    >>> duration_ms("PT1H30M"), duration_ms("P1DT0.5S")
    (5400000, 86400500)
    """
    found = DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"expected a duration such as PT1H or P2D, got {text!r}")
    return round(sum(float(value) * MS_OF_UNIT[unit] for unit, value in found.groupdict().items() if value))
