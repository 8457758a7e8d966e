"""The states of a classic group.

Source: ClassicGroupState, Apache Kafka 4.4.
"""

from __future__ import annotations

from enum import Enum


class ClassicGroupState(Enum):
    """The state of a group; the values are those in ListGroups and DescribeGroups. A group that is gone is dead."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
