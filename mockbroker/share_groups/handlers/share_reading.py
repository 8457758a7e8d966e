"""Reading records for a member of a share group, at once or when enough records arrive or become available again.

Source: DelayedShareFetch and ShareFetchUtils, Apache Kafka 4.4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from mockbroker.call import Call, Wait
from mockbroker.handlers.leadership import (
    find_partition,
    readable_end,
    served_by,
)
from mockbroker.handlers.transferred import fetched_parts
from mockbroker.share_groups.handlers.share_acknowledgements import answered
from mockbroker.share_groups.share_states import SharePartitionKey, share_of
from mockbroker.share_groups.state.acquiring import Acquired, Acquisition, LogBatch
from mockbroker.share_groups.state.partition import SharePartition
from mockbroker.share_groups.state.sessions import ShareSession, TopicIndex
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.log import StoredBatch
from mockbroker.state.sessions.fetch_sessions import FINAL_EPOCH, next_epoch
from mockbroker.state.topics.topic import Partition
from protocol.apis.share_fetch import ShareFetchRequest, ShareFetchResponse
from protocol.error_codes import ErrorCode

RECORD_LIMIT = 1  # the acquire mode
PartitionEntry = ShareFetchResponse.Topic.Partition
Entries = dict[TopicIndex, PartitionEntry]


@dataclass(slots=True, frozen=True)
class FetchedShare:
    """A partition that a member requested: the fields of ``FetchPartition`` that observers read, and the group."""

    topic: bytes
    index: int
    group_id: str


def note_requested(call: Call, partitions: Iterable[TopicIndex], group_id: str) -> None:
    """Record for observers the partitions of a ShareFetch."""
    found: list[Any] = [FetchedShare(*one, group_id) for one in partitions]
    call.wanted = found


@dataclass(slots=True)
class ShareReading:
    """A member's request for records, and the results so far.

    ``unknown`` has the partitions without a topic, ``failed`` those that this broker cannot read, and ``running`` the
    share partitions that the request waits for; one that is fenced meanwhile returns no records. ``outcomes`` are those
    of acknowledgements.
    """

    request: ShareFetchRequest
    group_id: str
    member_id: str
    session: ShareSession | None
    max_bytes: int
    until_ms: int
    committed_only: bool
    outcomes: Mapping[TopicIndex, ApiError] = field(default_factory=dict)
    unknown: Entries = field(default_factory=dict)
    failed: Entries = field(default_factory=dict)
    running: dict[TopicIndex, tuple[Partition, SharePartition]] = field(default_factory=dict)


def failed(one: TopicIndex, error: ApiError) -> PartitionEntry:
    return PartitionEntry(partition_index=one[1], error_code=error.code, records=b"")


def read(call: Call, reading: ShareReading, requested: Sequence[TopicIndex]) -> ShareFetchResponse | Wait:
    """Start: find the share partitions. Errors of loading are reported when the wait is over."""
    if reading.request.max_records == 0 or reading.max_bytes == 0:
        return respond(call, reading, {})
    is_led_here = False
    for one in requested:
        try:
            partition = find_partition(call, *one)
            served_by(call, partition)
            is_led_here = True
            if call.own_copy(partition) is not partition:
                raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the share coordinator cannot be reached")
            key = SharePartitionKey(reading.group_id, *one)
            reading.running[one] = (partition, share_of(call.cluster).get_or_load(key, partition))
        except ApiError as error:
            reading.failed[one] = failed(one, error)
    if not is_led_here:
        return respond(call, reading, {})
    return look(call, reading)


def look(call: Call, reading: ShareReading) -> ShareFetchResponse | Wait:
    """Return records if there are enough, or if the wait is over."""
    share = share_of(call.cluster)
    offsets: dict[TopicIndex, int] = {}
    for one, (_, running) in reading.running.items():
        if share.get(running.key) is running and running.can_acquire():
            offsets[one] = running.next_fetch_offset()
    is_over = call.now_ms >= reading.until_ms or call.cluster.is_ending
    if is_over or (offsets and has_enough(call, reading, offsets)):
        return respond(call, reading, acquired_entries(call, reading, offsets) if offsets else {})
    keys: list[Hashable] = []
    for partition, running in reading.running.values():
        keys += (running.key, partition)
    return Wait(reading.until_ms, tuple(keys), lambda later: look(later, reading))


def respond(call: Call, reading: ShareReading, found: Entries) -> ShareFetchResponse:
    """The response, with the outcomes of acknowledgements; within a session it omits partitions without news."""
    session, epoch = reading.session, reading.request.share_session_epoch
    is_lost = session is not None and session.epoch != next_epoch(epoch)
    entries = {} if is_lost else found | reading.failed | reading.unknown
    included = {one: entry for one, entry in entries.items() if session is None or session.has_news(one, entry)}
    for one, outcome in reading.outcomes.items():
        entry = included.setdefault(one, PartitionEntry(partition_index=one[1], records=b""))
        entry.acknowledge_error_code, entry.acknowledge_error_message = outcome.code, outcome.message
    response = answered(call, ShareFetchResponse, reading.group_id, included)
    if is_lost:
        response.error_code = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    else:
        note_requested(call, entries, reading.group_id)
        call.parts = fetched_parts(call, response, ())
    if epoch == FINAL_EPOCH:
        share_of(call.cluster).end_session(call.broker.id, (reading.group_id, reading.member_id))
    return response


def records_at(
    call: Call, reading: ShareReading, partition: Partition, offset: int, max_bytes: int, *, at_least_one: bool = True
) -> Sequence[bytes]:
    """The records from an offset on that the group's members may read.

    Raises ApiError: OFFSET_OUT_OF_RANGE, for an offset outside the log, and those of ``served_by``.
    """
    served_by(call, partition)
    end_offset = readable_end(call, partition, committed_only=reading.committed_only)
    if offset < end_offset:
        return partition.log.read(offset, max_bytes, at_least_one=at_least_one, before=end_offset)
    if not partition.log.start_offset <= offset <= partition.log.end_offset:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
    return ()


def has_enough(call: Call, reading: ShareReading, offsets: Mapping[TopicIndex, int]) -> bool:
    """True if enough records can be read for the member; errors count as enough."""
    size = 0
    for (one, offset), limit in zip(offsets.items(), max_bytes_of(reading.max_bytes, len(offsets)), strict=True):
        try:
            size += min(sum(map(len, records_at(call, reading, reading.running[one][0], offset, limit))), limit)
        except ApiError:
            return True
    return size >= min(reading.request.min_bytes, reading.max_bytes)


def max_bytes_of(max_bytes: int, count: int) -> list[int]:
    """The maximum bytes of each of ``count`` partitions: equal shares, the first with the remainder.

    >>> max_bytes_of(10, 3), max_bytes_of(1, 2)
    ([4, 3, 3], [1, 0])
    """
    if max_bytes < count:
        return [1] * max(0, max_bytes) + [0] * (count - max(0, max_bytes))
    share, rest = divmod(max_bytes, count)
    return [share + rest] + [share] * (count - 1)


def acquired_entries(call: Call, reading: ShareReading, offsets: Mapping[TopicIndex, int]) -> Entries:
    """Read each partition, and let the member acquire the records."""
    found: Entries = {}
    capacity = reading.max_bytes
    shares = max_bytes_of(reading.max_bytes, len(offsets))
    left, batch_size = reading.request.max_records, reading.request.batch_size
    limits_records = reading.request.share_acquire_mode == RECORD_LIMIT
    for (one, offset), share in zip(offsets.items(), shares, strict=True):
        partition, running = reading.running[one]
        entry = found[one] = PartitionEntry(partition_index=one[1], records=b"")
        try:
            limit = min(share, capacity)
            data = records_at(call, reading, partition, offset, limit, at_least_one=capacity == reading.max_bytes)
        except ApiError as error:
            if error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                running.log_starts_at(partition.log.start_offset)
            else:
                entry.error_code = error.code
                share_of(call.cluster).fence_on(running.key, error)
            continue
        capacity = max(0, capacity - sum(map(len, data)))
        batches = log_batches(partition, offset, data, committed_only=reading.committed_only)
        acquisition = Acquisition(running, reading.member_id, left, batch_size, limits_records, call.now_ms, batches)
        acquired = acquisition.run(offset)
        if acquired:
            left -= sum(part.records for part in acquired)
            entry.records = b"".join(data_of(data, batches, acquired))
            entry.acquired_records = [PartitionEntry.AcquiredRecords(**part._asdict()) for part in acquired]
    return found


def log_batches(partition: Partition, offset: int, data: Sequence[bytes], *, committed_only: bool) -> list[LogBatch]:
    """The whole batches in ``data``, each with the state of its transaction: aborted or not."""
    from protocol.records import iter_batches

    whole = [
        batch
        for piece, batch in zip(data, partition.log.batches(offset), strict=False)
        if len(piece) == len(batch.data)
    ]
    aborted: Sequence[Any] = ()
    if committed_only and whole:
        aborted = partition.producers.transactions.aborted_between(whole[0].base_offset, whole[-1].last_offset + 1)

    def is_aborted(batch: StoredBatch) -> bool:
        (header,) = iter_batches(batch.data)
        return not header.is_control and any(
            one.producer_id == header.producer_id and one.first_offset <= batch.base_offset < one.last_offset
            for one in aborted
        )

    return [LogBatch(one.base_offset, one.last_offset, bool(aborted) and is_aborted(one)) for one in whole]


def data_of(data: Sequence[bytes], batches: Sequence[LogBatch], acquired: Sequence[Acquired]) -> Sequence[bytes]:
    """The bytes of the batches with acquired records; a single batch includes the cut-off bytes after it."""
    if len(batches) < 2:
        return data
    base_of = attrgetter("base_offset")
    begin = bisect_right(batches, acquired[0].first_offset, key=base_of) - 1
    return data[max(0, begin) : bisect_right(batches, acquired[-1].last_offset, key=base_of)]
