"""The states of a classic group's life, and what leads from one to another.

A pair that is missing from ``NEXT_STATE`` is a bug and raises KeyError. Source: ClassicGroupState, Apache Kafka 4.0.
"""

from __future__ import annotations

from enum import Enum


class State(Enum):
    """Where a group is in its life; the values are what ListGroups and DescribeGroups say."""

    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"
    COMPLETING = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Event(Enum):
    """What moves a group from one state to another."""

    REBALANCE_NEEDED = "a member came, went, failed or changed"
    MEMBERS_JOINED = "every member has joined again or has been given up"
    NOBODY_LEFT = "the rebalance ended without members"
    LEADER_ASSIGNED = "the leader sent the assignment"
    DELETED = "an admin deleted the group"


NEXT_STATE: dict[tuple[State, Event], State] = {
    (State.EMPTY, Event.REBALANCE_NEEDED): State.PREPARING,
    (State.STABLE, Event.REBALANCE_NEEDED): State.PREPARING,
    (State.COMPLETING, Event.REBALANCE_NEEDED): State.PREPARING,
    (State.PREPARING, Event.MEMBERS_JOINED): State.COMPLETING,
    (State.PREPARING, Event.NOBODY_LEFT): State.EMPTY,
    (State.COMPLETING, Event.LEADER_ASSIGNED): State.STABLE,
    (State.EMPTY, Event.DELETED): State.DEAD,
}
