"""The settings of a run over captures."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_rack.locality.prices import Prices
from kafka_rack.locality.rack_rules import RackRules

DEFAULT_TOP = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """``window_us`` None: one that cuts the span into about 60. ``top``: rows of each list. ``racks_file``: a name."""

    prices: Prices = field(default_factory=Prices)
    rules: RackRules | None = None
    window_us: int | None = None
    top: int = DEFAULT_TOP
    racks_file: str | None = None
