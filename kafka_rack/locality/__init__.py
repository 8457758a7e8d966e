"""Bytes and costs across racks: prices, the racks of clients, reasons for crossings, and forecasts of plans.

>>> from kafka_rack.locality import Prices, forecast
>>> plan = forecast(racks=3, replication_factor=3, bytes_in=300 * 2**20, readers=2)
>>> int(plan.cross) // 2**20, round(sum(plan.month(Prices()).values()))
(1200, 66136)

The pipeline's job ``locality`` measures the same in captures: docs/cost.md.
"""

from __future__ import annotations

from kafka_rack.locality.amounts import MONTH_SECONDS, Pace, covered_us
from kafka_rack.locality.forecast import Forecast, copies_elsewhere, forecast
from kafka_rack.locality.prices import Prices, Rate, price_list, read_prices
from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.locality.reasons import REASONS, Facts, LocalityVerdict, Reason, judge

__all__ = [
    "MONTH_SECONDS",
    "REASONS",
    "Facts",
    "Forecast",
    "LocalityVerdict",
    "Pace",
    "Prices",
    "RackRules",
    "Rate",
    "Reason",
    "copies_elsewhere",
    "covered_us",
    "forecast",
    "judge",
    "price_list",
    "read_prices",
]
