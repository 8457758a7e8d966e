"""Acknowledgements of acquired records, and the release of records when their member has gone.

Source: SharePartition.acknowledge and releaseAcquiredRecords, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mockbroker.share_groups.share_states import StateBatch
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


class Settled(NamedTuple):
    """A changed state with its previous value, and the number of records whose delivery it completes."""

    state: InFlightState
    before: InFlightState
    kept: StateBatch
    completed: int


def acknowledge(
    partition: SharePartition, member_id: str, acknowledgements: Iterable[Acknowledgement], now_ms: int
) -> None:
    """Apply a member's acknowledgements, all or none of them.

    Raises ApiError: INVALID_RECORD_STATE, INVALID_REQUEST, and errors of the share coordinator.
    """

    def settle_all(settled: list[Settled]) -> None:
        for one in acknowledgements:
            if one.last_offset >= partition.start_offset:
                for batch in batches_of(partition, one):
                    if batch.last_offset >= partition.start_offset:
                        acknowledge_batch(partition, member_id, one, batch, settled, now_ms)

    settle_and_keep(partition, settle_all)


def release(partition: SharePartition, member_id: str) -> None:
    """Make the records of a member available again. Raises ApiError: errors of the share coordinator."""

    def settle_all(settled: list[Settled]) -> None:
        for batch in partition.batches:
            if batch.by_offset is None and batch.whole.member_id == member_id and partition.starts_within(batch):
                batch.split()
            for first, last, state in batch.states():
                if state.state is ACQUIRED and state.member_id in (member_id, NO_MEMBER):
                    becomes = ARCHIVED if last < partition.start_offset else AVAILABLE
                    settle(partition, first, last, state, becomes, settled)

    settle_and_keep(partition, settle_all)


def settle_and_keep(partition: SharePartition, settle_all: Callable[[list[Settled]], None]) -> None:
    """Change the state of records and persist it; rolls all changes back if either fails. Raises ApiError."""
    settled: list[Settled] = []
    try:
        settle_all(settled)
        if not settled:
            return
        partition.keep(partition, [one.kept for one in settled])
    except ApiError:
        for one in reversed(settled):
            one.state.become(one.before)
            partition.delivery_complete_count -= one.completed
        raise
    if any(one.state.state is AVAILABLE for one in settled):
        partition.looks_for_offset = True
    partition.move_start()


def settle(
    partition: SharePartition,
    first_offset: int,
    last_offset: int,
    state: InFlightState,
    becomes: RecordState,
    settled: list[Settled],
) -> None:
    before = state.copy()
    state.settle(becomes, partition.limits().max_delivery_count)
    completed = partition.records_behind_start(first_offset, last_offset) if state.state.is_terminal else 0
    partition.delivery_complete_count += completed
    kept = StateBatch(first_offset, last_offset, state.state, state.delivery_count)
    settled.append(Settled(state, before, kept, completed))


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
    if floor is None:
        raise ApiError(
            ErrorCode.INVALID_RECORD_STATE,
            "Batch record not found. The request batch offsets are not found in the cache.",
        )
    found = partition.batches.between(floor.first_offset, one.last_offset)
    if found[-1].last_offset < one.first_offset:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The first offset in request is past acquired records.",
        )
    if found[-1].last_offset < one.last_offset:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The last offset in request is past acquired records.",
        )
    return found


def acknowledge_batch(
    partition: SharePartition,
    member_id: str,
    one: Acknowledgement,
    batch: InFlightBatch,
    settled: list[Settled],
    now_ms: int,
) -> None:
    """Apply an acknowledgement to one batch, or to a part of it. Raises ApiError: INVALID_RECORD_STATE."""
    if batch.by_offset is None:
        if batch.whole.member_id == NO_MEMBER:
            raise ApiError(
                ErrorCode.INVALID_RECORD_STATE,
                "The batch cannot be acknowledged. The batch is not in the acquired state.",
            )
        if batch.whole.member_id != member_id:
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of batch record")
        if (
            batch.is_within(one.first_offset, one.last_offset)
            and len(one.types) == 1
            and not partition.starts_within(batch)
        ):
            take(
                partition, member_id, batch.first_offset, batch.last_offset, batch.whole, one.types[0], settled, now_ms
            )
            return
    for offset, state in batch.split().items():
        if offset < one.first_offset or offset < partition.start_offset:
            continue
        if offset > one.last_offset:
            break
        if state.state is not ACQUIRED:
            raise ApiError(
                ErrorCode.INVALID_RECORD_STATE,
                "The offset cannot be acknowledged. The offset is not acquired.",
            )
        if state.member_id != member_id:
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of offset")
        take(partition, member_id, offset, offset, state, one.type_of(offset), settled, now_ms)


def take(
    partition: SharePartition,
    member_id: str,
    first_offset: int,
    last_offset: int,
    state: InFlightState,
    acknowledge_type: int,
    settled: list[Settled],
    now_ms: int,
) -> None:
    """Change the state of a member's records, or renew their lock. Raises ApiError: INVALID_RECORD_STATE."""
    if acknowledge_type != RENEW:
        settle(partition, first_offset, last_offset, state, STATE_OF_TYPE[acknowledge_type], settled)
    elif partition.limits().may_renew:
        state.lock_until_ms = partition.lock_until(now_ms)
    else:
        raise ApiError(ErrorCode.INVALID_RECORD_STATE, "Renewing acquisition locks is not enabled for the group.")
