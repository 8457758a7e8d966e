"""The states of a transactional id's life, and what leads from one to another.

A pair that is missing from ``NEXT_STATE`` is a bug and raises KeyError. Source: TransactionState, Apache Kafka 4.4.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class State(IntEnum):
    """Where a transactional id is in its life; the numbers are those of ``TransactionLogValue.transaction_status``."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7  # Kafka passes through it before it aborts; nothing is ever found in it


STATE_NAMES: dict[State, str] = {
    State.EMPTY: "Empty",
    State.ONGOING: "Ongoing",
    State.PREPARE_COMMIT: "PrepareCommit",
    State.PREPARE_ABORT: "PrepareAbort",
    State.COMPLETE_COMMIT: "CompleteCommit",
    State.COMPLETE_ABORT: "CompleteAbort",
    State.DEAD: "Dead",
    State.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
"""What ListTransactions and DescribeTransactions say."""

NO_TRANSACTION = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
"""Nothing is open and no marker is missing: a producer may begin, and the id may expire."""
ENDING = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
"""It was decided how the transaction ends, and markers are missing."""


class Event(Enum):
    """What moves a transactional id from one state to another."""

    PRODUCER_INITIALISED = "a producer was given its epoch"
    PARTITIONS_ADDED = "the transaction writes to more partitions"
    COMMIT_DECIDED = "the producer commits"
    ABORT_DECIDED = "the producer aborts, or is fenced, or its time is up"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRED = "the id was not used for too long"


NEXT_STATE: dict[tuple[State, Event], State] = {
    (State.EMPTY, Event.PRODUCER_INITIALISED): State.EMPTY,
    (State.COMPLETE_COMMIT, Event.PRODUCER_INITIALISED): State.EMPTY,
    (State.COMPLETE_ABORT, Event.PRODUCER_INITIALISED): State.EMPTY,
    (State.EMPTY, Event.PARTITIONS_ADDED): State.ONGOING,
    (State.ONGOING, Event.PARTITIONS_ADDED): State.ONGOING,
    (State.COMPLETE_COMMIT, Event.PARTITIONS_ADDED): State.ONGOING,
    (State.COMPLETE_ABORT, Event.PARTITIONS_ADDED): State.ONGOING,
    (State.ONGOING, Event.COMMIT_DECIDED): State.PREPARE_COMMIT,
    (State.ONGOING, Event.ABORT_DECIDED): State.PREPARE_ABORT,
    # KIP-890: a producer that does not know whether anything was added may abort all the same
    (State.EMPTY, Event.ABORT_DECIDED): State.PREPARE_ABORT,
    (State.COMPLETE_COMMIT, Event.ABORT_DECIDED): State.PREPARE_ABORT,
    (State.COMPLETE_ABORT, Event.ABORT_DECIDED): State.PREPARE_ABORT,
    (State.PREPARE_COMMIT, Event.MARKERS_WRITTEN): State.COMPLETE_COMMIT,
    (State.PREPARE_ABORT, Event.MARKERS_WRITTEN): State.COMPLETE_ABORT,
    (State.EMPTY, Event.EXPIRED): State.DEAD,
    (State.COMPLETE_COMMIT, Event.EXPIRED): State.DEAD,
    (State.COMPLETE_ABORT, Event.EXPIRED): State.DEAD,
}
