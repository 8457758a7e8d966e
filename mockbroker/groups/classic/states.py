"""The states of a classic group, and their order.

Source: ClassicGroupState and its validPreviousStates, Apache Kafka 4.4.
"""

from __future__ import annotations

from enum import Enum


class ClassicGroupState(Enum):
    """The state of a group; the values are those in ListGroups and DescribeGroups."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


VALID_BEFORE: dict[ClassicGroupState, tuple[ClassicGroupState, ...]] = {
    ClassicGroupState.PREPARING: (ClassicGroupState.EMPTY, ClassicGroupState.STABLE, ClassicGroupState.COMPLETING),
    ClassicGroupState.COMPLETING: (ClassicGroupState.PREPARING,),
    ClassicGroupState.EMPTY: (ClassicGroupState.PREPARING,),
    ClassicGroupState.STABLE: (ClassicGroupState.COMPLETING,),
    ClassicGroupState.DEAD: (ClassicGroupState.EMPTY,),
}
"""The states that each state may follow."""
