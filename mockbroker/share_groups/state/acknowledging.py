"""Acknowledgements of acquired records, and the release of records when their member has gone or its locks expire.

Source: SharePartition.acknowledge, releaseAcquiredRecords and releaseAcquisitionLockOnTimeout, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from mockbroker.share_groups.share_states import state_batch
from mockbroker.share_groups.state.in_flight import (
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    NO_MEMBER,
    InFlightBatch,
    InFlightState,
    RecordState,
)
from mockbroker.share_groups.state.partition import SharePartition
from mockbroker.state.errors import ApiError
from protocol.embedded.share_state_log import StateBatch
from protocol.error_codes import ErrorCode

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
STATE_OF_TYPE = {GAP: ARCHIVED, ACCEPT: ACKNOWLEDGED, RELEASE: AVAILABLE, REJECT: ARCHIVED}


class Acknowledgement(NamedTuple):
    """An acknowledgement of offsets, both inclusive: one type for all, or one for each."""

    first_offset: int
    last_offset: int
    types: Sequence[int]

    def type_of(self, offset: int) -> int:
        return self.types[offset - self.first_offset] if len(self.types) > 1 else self.types[0]


class UnforeseenAcknowledgement(ApiError):
    """An acknowledgement that Kafka fails to process, so that its whole request gets an error."""


class RecordChanges:
    """The changes that one operation makes to the records of a share partition, persisted together."""

    def __init__(self, partition: SharePartition) -> None:
        self.partition = partition
        self.made: list[tuple[InFlightState, InFlightState]] = []  # a changed state, and a copy of the previous one
        self._batches: list[StateBatch] = []

    def change(self, first_offset: int, last_offset: int, state: InFlightState, to: RecordState) -> None:
        """Release records from their member, in another state."""
        self.made.append((state, replace(state)))
        state.release(to, self.partition.config("share.delivery.count.limit"))
        self._batches.append(state_batch(first_offset, last_offset, state.state, state.delivery_count))

    def let_go(self, is_meant: Callable[[InFlightState], bool]) -> None:
        """Make acquired records available again; those before the start of the partition are archived."""
        start_offset = self.partition.start_offset
        for batch in self.partition.batches:
            if batch.by_offset is None and is_meant(batch.whole) and batch.first_offset < start_offset:
                batch.split()
            for first, last, state in batch.states():
                if is_meant(state):
                    self.change(first, last, state, ARCHIVED if last < start_offset else AVAILABLE)

    def persist(self) -> None:
        """Persist the changes at the share coordinator. Raises ApiError."""
        if self.made:
            self.partition.persist(self.partition, self._batches)

    def roll_back(self) -> None:
        for state, before in reversed(self.made):
            state.become(before)


@contextmanager
def all_or_none(partition: SharePartition) -> Iterator[RecordChanges]:
    """Persist the changes that are made in the block; if either raises ApiError, none of them remains."""
    changes = RecordChanges(partition)
    try:
        yield changes
        changes.persist()
    except ApiError:
        changes.roll_back()
        raise
    if changes.made:
        partition.move_start()


def acknowledge(
    partition: SharePartition, member_id: str, acknowledgements: Iterable[Acknowledgement], now_ms: int
) -> None:
    """Apply a member's acknowledgements, all or none of them.

    Raises ApiError: INVALID_RECORD_STATE, INVALID_REQUEST, and errors of the share coordinator.
    """
    with all_or_none(partition) as changes:
        for one in acknowledgements:
            if one.last_offset >= partition.start_offset:
                for batch in batches_of(partition, one):
                    if batch.last_offset >= partition.start_offset:
                        acknowledge_batch(changes, member_id, one, batch, now_ms)


def release(partition: SharePartition, member_id: str) -> None:
    """Make the records of a member available again. Raises ApiError: errors of the share coordinator."""
    with all_or_none(partition) as changes:
        changes.let_go(lambda one: one.state is ACQUIRED and one.member_id in (member_id, NO_MEMBER))


def release_expired(partition: SharePartition, now_ms: int) -> bool:
    """Release the records of expired locks; returns True if there were any. They remain so if persisting raises."""
    changes = RecordChanges(partition)
    changes.let_go(lambda one: one.lock_until_ms is not None and one.lock_until_ms <= now_ms)
    for batch in partition.batches:
        for _, _, state in batch.states():
            if state.lock_until_ms is not None:
                partition.on_lock(partition, state.lock_until_ms)
    try:
        changes.persist()
    finally:
        if changes.made:
            partition.move_start()
    return bool(changes.made)


def batches_of(partition: SharePartition, one: Acknowledgement) -> list[InFlightBatch]:
    """The in-flight batches that an acknowledgement covers.

    Raises ApiError: INVALID_RECORD_STATE, INVALID_REQUEST; UnforeseenAcknowledgement if it begins before the start of
        a partition without a batch at its start.
    """
    floor = partition.batches.floor(one.first_offset)
    if floor is None and one.first_offset < partition.start_offset <= one.last_offset:
        floor = partition.batches.floor(partition.start_offset)
        if floor is None:
            raise UnforeseenAcknowledgement(ErrorCode.UNKNOWN_SERVER_ERROR)
    problem = "Batch record not found."
    if floor is None:
        raise invalid_state(f"{problem} The request batch offsets are not found in the cache.")
    found = partition.batches.overlapping(floor.first_offset, one.last_offset)
    for end, offset in (("first", one.first_offset), ("last", one.last_offset)):
        if found[-1].last_offset < offset:
            problem += f" The {end} offset in request is past acquired records."
            raise ApiError(ErrorCode.INVALID_REQUEST, problem)
    return found


def acknowledge_batch(
    changes: RecordChanges, member_id: str, one: Acknowledgement, batch: InFlightBatch, now_ms: int
) -> None:
    """Apply an acknowledgement to one batch, or to a part of it. Raises ApiError: INVALID_RECORD_STATE."""
    partition = changes.partition
    if batch.by_offset is None:
        if batch.whole.member_id == NO_MEMBER:
            raise invalid_state("The batch cannot be acknowledged. The batch is not in the acquired state.")
        if batch.whole.member_id != member_id:
            raise invalid_state("Member is not the owner of batch record")
    if len(one.types) > 1:
        batch.split()
    for first, last, state in batch.parts(max(one.first_offset, partition.start_offset), one.last_offset):
        if state.state is not ACQUIRED:
            raise invalid_state("The offset cannot be acknowledged. The offset is not acquired.")
        if state.member_id != member_id:
            raise invalid_state("Member is not the owner of offset")
        acknowledge_type = one.type_of(first)
        if acknowledge_type != RENEW:
            changes.change(first, last, state, STATE_OF_TYPE[acknowledge_type])
        elif partition.config("share.renew.acknowledge.enable"):
            state.lock_until_ms = partition.lock_until(now_ms)
        else:
            raise invalid_state("Renewing acquisition locks is not enabled for the group.")


def invalid_state(problem: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_RECORD_STATE, problem)
