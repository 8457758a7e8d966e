"""The states of a transactional id's life, and what leads from one to another.

A pair that is missing from ``NEXT_STATE`` is a bug and raises KeyError. Source: TransactionState, Apache Kafka 4.4.
"""

from __future__ import annotations

from enum import Enum, IntEnum


class TransactionState(IntEnum):
    """Where a transactional id is in its life; the numbers are those of ``TransactionLogValue.transaction_status``."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7  # Kafka passes through it before it aborts; nothing is ever found in it


STATE_NAMES: dict[TransactionState, str] = {
    TransactionState.EMPTY: "Empty",
    TransactionState.ONGOING: "Ongoing",
    TransactionState.PREPARE_COMMIT: "PrepareCommit",
    TransactionState.PREPARE_ABORT: "PrepareAbort",
    TransactionState.COMPLETE_COMMIT: "CompleteCommit",
    TransactionState.COMPLETE_ABORT: "CompleteAbort",
    TransactionState.DEAD: "Dead",
    TransactionState.PREPARE_EPOCH_FENCE: "PrepareEpochFence",
}
"""What ListTransactions and DescribeTransactions say."""

NO_TRANSACTION = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
"""Nothing is open and no marker is missing: a producer may begin, and the id may expire."""
ENDING = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""It was decided how the transaction ends, and markers are missing."""


class TransactionEvent(Enum):
    """What moves a transactional id from one state to another."""

    PRODUCER_INITIALISED = "a producer was given its epoch"
    PARTITIONS_ADDED = "the transaction writes to more partitions"
    COMMIT_DECIDED = "the producer commits"
    ABORT_DECIDED = "the producer aborts, or is fenced, or its time is up"
    MARKERS_WRITTEN = "every partition has its marker"
    EXPIRED = "the id was not used for too long"


NEXT_STATE: dict[tuple[TransactionState, TransactionEvent], TransactionState] = {
    (TransactionState.EMPTY, TransactionEvent.PRODUCER_INITIALISED): TransactionState.EMPTY,
    (TransactionState.COMPLETE_COMMIT, TransactionEvent.PRODUCER_INITIALISED): TransactionState.EMPTY,
    (TransactionState.COMPLETE_ABORT, TransactionEvent.PRODUCER_INITIALISED): TransactionState.EMPTY,
    (TransactionState.EMPTY, TransactionEvent.PARTITIONS_ADDED): TransactionState.ONGOING,
    (TransactionState.ONGOING, TransactionEvent.PARTITIONS_ADDED): TransactionState.ONGOING,
    (TransactionState.COMPLETE_COMMIT, TransactionEvent.PARTITIONS_ADDED): TransactionState.ONGOING,
    (TransactionState.COMPLETE_ABORT, TransactionEvent.PARTITIONS_ADDED): TransactionState.ONGOING,
    (TransactionState.ONGOING, TransactionEvent.COMMIT_DECIDED): TransactionState.PREPARE_COMMIT,
    (TransactionState.ONGOING, TransactionEvent.ABORT_DECIDED): TransactionState.PREPARE_ABORT,
    # KIP-890: a producer that does not know whether anything was added may abort all the same
    (TransactionState.EMPTY, TransactionEvent.ABORT_DECIDED): TransactionState.PREPARE_ABORT,
    (TransactionState.COMPLETE_COMMIT, TransactionEvent.ABORT_DECIDED): TransactionState.PREPARE_ABORT,
    (TransactionState.COMPLETE_ABORT, TransactionEvent.ABORT_DECIDED): TransactionState.PREPARE_ABORT,
    (TransactionState.PREPARE_COMMIT, TransactionEvent.MARKERS_WRITTEN): TransactionState.COMPLETE_COMMIT,
    (TransactionState.PREPARE_ABORT, TransactionEvent.MARKERS_WRITTEN): TransactionState.COMPLETE_ABORT,
    (TransactionState.EMPTY, TransactionEvent.EXPIRED): TransactionState.DEAD,
    (TransactionState.COMPLETE_COMMIT, TransactionEvent.EXPIRED): TransactionState.DEAD,
    (TransactionState.COMPLETE_ABORT, TransactionEvent.EXPIRED): TransactionState.DEAD,
}
