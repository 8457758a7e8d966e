"""The states of a classic group, the events that change them, and the kinds of its deadlines.

A pair that is missing from ``NEXT_STATE`` is a bug and raises KeyError. Source: ClassicGroupState, Apache Kafka 4.0.
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


class ClassicGroupEvent(Enum):
    """An event that moves a group from one state to another."""

    REBALANCE_NEEDED = "a member came, went, failed or changed"
    MEMBERS_JOINED = "every member has joined again or has been given up"
    NOBODY_LEFT = "the rebalance ended without members"
    LEADER_ASSIGNED = "the leader sent the assignment"
    DELETED = "an admin deleted the group"


NEXT_STATE: dict[tuple[ClassicGroupState, ClassicGroupEvent], ClassicGroupState] = {
    (ClassicGroupState.EMPTY, ClassicGroupEvent.REBALANCE_NEEDED): ClassicGroupState.PREPARING,
    (ClassicGroupState.STABLE, ClassicGroupEvent.REBALANCE_NEEDED): ClassicGroupState.PREPARING,
    (ClassicGroupState.COMPLETING, ClassicGroupEvent.REBALANCE_NEEDED): ClassicGroupState.PREPARING,
    (ClassicGroupState.PREPARING, ClassicGroupEvent.MEMBERS_JOINED): ClassicGroupState.COMPLETING,
    (ClassicGroupState.PREPARING, ClassicGroupEvent.NOBODY_LEFT): ClassicGroupState.EMPTY,
    (ClassicGroupState.COMPLETING, ClassicGroupEvent.LEADER_ASSIGNED): ClassicGroupState.STABLE,
    (ClassicGroupState.EMPTY, ClassicGroupEvent.DELETED): ClassicGroupState.DEAD,
}


class GroupTimer(Enum):
    """The kinds of a group's deadlines."""

    SESSION = "a member's next sign of life"
    JOIN = "all members have joined"
    SYNC = "all members have asked for their assignment"


TimerKey = tuple[str, GroupTimer, str]  # group id, kind, member id or empty
