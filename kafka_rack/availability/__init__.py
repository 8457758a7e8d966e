"""The cost of an outage: the probability that failed brokers or racks make partitions unwritable or lose them.

``layout_availability`` evaluates any layout; ``availability_row`` a placer on a cluster of some size.
"""

from __future__ import annotations

from kafka_rack.availability.chances import EXACT, MONTE_CARLO, Chance, Outage, chance_of_any, tail
from kafka_rack.availability.kafka_1736 import ComparisonRow, kafka_1736_table
from kafka_rack.availability.layout import (
    DEFAULT_TRIALS,
    LayoutAvailability,
    expected_share,
    layout_availability,
    scatter_width,
    worst_leader_load,
)
from kafka_rack.availability.question import PLACERS, RANDOM, Question, check_question
from kafka_rack.availability.survey import Row, availability_row, steps_of

__all__ = [
    "DEFAULT_TRIALS",
    "EXACT",
    "MONTE_CARLO",
    "PLACERS",
    "RANDOM",
    "Chance",
    "ComparisonRow",
    "LayoutAvailability",
    "Outage",
    "Question",
    "Row",
    "availability_row",
    "chance_of_any",
    "check_question",
    "expected_share",
    "kafka_1736_table",
    "layout_availability",
    "scatter_width",
    "steps_of",
    "tail",
    "worst_leader_load",
]
