"""Reading records for a member of a share group, at once or when enough records arrive or become available again.

Source: DelayedShareFetch and ShareFetchUtils, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from mockbroker.call import Call, Wait
from mockbroker.handlers.leadership import (
    find_partition,
    readable_end,
    served_by,
)
from mockbroker.share_groups.share_states import SharePartitionKey, share_of
from mockbroker.share_groups.state.acquiring import Acquired, Acquiring, LogBatch, acquire
from mockbroker.share_groups.state.partition import SharePartition
from mockbroker.share_groups.state.sessions import TopicIndex
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import Partition
from protocol.apis.share_fetch import ShareFetchRequest, ShareFetchResponse
from protocol.error_codes import ErrorCode

RECORD_LIMIT = 1  # the acquire mode
PartitionEntry = ShareFetchResponse.Topic.Partition
Answer = Callable[[Call, dict[TopicIndex, PartitionEntry]], ShareFetchResponse]


@dataclass(slots=True)
class ShareReading:
    """A member's request for records, and the results so far.

    ``running`` has the share partitions that it waits for; one that is fenced meanwhile returns no records.
    """

    request: ShareFetchRequest
    group_id: str
    member_id: str
    requested: list[TopicIndex]
    max_bytes: int
    until_ms: int
    committed_only: bool
    running: dict[TopicIndex, tuple[Partition, SharePartition]] = field(default_factory=dict)
    errors: dict[TopicIndex, ApiError] = field(default_factory=dict)


def read(call: Call, reading: ShareReading, answer: Answer) -> ShareFetchResponse | Wait:
    """Start: find the share partitions. Errors of loading are reported when the wait is over."""
    if reading.request.max_records == 0 or reading.max_bytes == 0:
        return answer(call, {})
    not_led_here = 0
    for one in reading.requested:
        try:
            partition = find_partition(call, *one)
            served_by(call, partition)
        except ApiError as error:
            reading.errors[one] = error
            not_led_here += 1
            continue
        try:
            if call.own_copy(partition) is not partition:
                raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the share coordinator cannot be reached")
            key = SharePartitionKey(reading.group_id, *one)
            reading.running[one] = (partition, share_of(call.cluster).get_or_load(key, partition))
        except ApiError as error:
            reading.errors[one] = error
    if not_led_here == len(reading.requested):
        return answer(call, entries_of(reading, {}))
    return look(call, reading, answer)


def look(call: Call, reading: ShareReading, answer: Answer) -> ShareFetchResponse | Wait:
    """Return records if there are enough, or if the wait is over."""
    share = share_of(call.cluster)
    offsets: dict[TopicIndex, int] = {}
    for one, (_, running) in reading.running.items():
        if share.get(running.key) is running and running.can_acquire():
            offsets[one] = running.next_fetch_offset()
    is_over = call.now_ms >= reading.until_ms or call.cluster.is_ending
    if offsets and (is_over or has_enough(call, reading, offsets)):
        return answer(call, entries_of(reading, acquired_entries(call, reading, offsets)))
    if is_over:
        return answer(call, entries_of(reading, {}))
    keys: list[Hashable] = []
    for partition, running in reading.running.values():
        keys += (running.key, partition)
    return Wait(reading.until_ms, tuple(keys), lambda later: look(later, reading, answer))


def entries_of(reading: ShareReading, found: dict[TopicIndex, PartitionEntry]) -> dict[TopicIndex, PartitionEntry]:
    for one, error in reading.errors.items():
        found[one] = PartitionEntry(partition_index=one[1], error_code=error.code, records=b"")
    return found


def end_of(call: Call, reading: ShareReading, partition: Partition, offset: int) -> int:
    """The offset up to which the group's members may read.

    Raises ApiError: OFFSET_OUT_OF_RANGE, for an offset outside the log, and those of ``served_by``.
    """
    served_by(call, partition)
    end_offset = readable_end(call, partition, committed_only=reading.committed_only)
    if offset >= end_offset and not partition.log.start_offset <= offset <= partition.log.end_offset:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
    return end_offset


def has_enough(call: Call, reading: ShareReading, offsets: Mapping[TopicIndex, int]) -> bool:
    """True if enough records can be read for the member; errors count as enough."""
    size = 0
    for (one, offset), limit in zip(offsets.items(), max_bytes_of(reading.max_bytes, len(offsets)), strict=True):
        partition = reading.running[one][0]
        try:
            end_offset = end_of(call, reading, partition, offset)
            if offset < end_offset:
                size += min(sum(map(len, partition.log.read(offset, limit, before=end_offset))), limit)
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


def acquired_entries(
    call: Call, reading: ShareReading, offsets: Mapping[TopicIndex, int]
) -> dict[TopicIndex, PartitionEntry]:
    """Read each partition, and let the member acquire the records."""
    found: dict[TopicIndex, PartitionEntry] = {}
    capacity = reading.max_bytes
    shares = max_bytes_of(reading.max_bytes, len(offsets))
    left, batch_size = reading.request.max_records, reading.request.batch_size
    limits_records = reading.request.share_acquire_mode == RECORD_LIMIT
    size = 0
    for (one, offset), share in zip(offsets.items(), shares, strict=True):
        partition, running = reading.running[one]
        entry = found[one] = PartitionEntry(partition_index=one[1], records=b"")
        try:
            end_offset = end_of(call, reading, partition, offset)
            data: Sequence[bytes] = ()
            if offset < end_offset:
                data = partition.log.read(offset, min(share, capacity), at_least_one=size == 0, before=end_offset)
        except ApiError as error:
            if error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                running.log_starts_at(partition.log.start_offset)
            else:
                entry.error_code = error.code
                share_of(call.cluster).fence_on(running.key, error)
            continue
        read_bytes = sum(map(len, data))
        size += read_bytes
        capacity = max(0, capacity - read_bytes)
        batches = log_batches(partition, offset, data, committed_only=reading.committed_only)
        request = Acquiring(reading.member_id, left, batch_size, limits_records, call.now_ms)
        acquired, count = acquire(running, request, offset, batches)
        if acquired:
            left -= count
            entry.records = b"".join(data_of(data, batches, acquired))
            entry.acquired_records = [PartitionEntry.AcquiredRecords(**part._asdict()) for part in acquired]
    return found


def log_batches(partition: Partition, offset: int, data: Sequence[bytes], *, committed_only: bool) -> list[LogBatch]:
    """The whole batches in ``data``, each with the state of its transaction: aborted or not."""
    batches = [
        LogBatch(batch.base_offset, batch.last_offset)
        for piece, batch in zip(data, partition.log.batches(offset), strict=False)
        if len(piece) == len(batch.data)
    ]
    if not committed_only or not batches:
        return batches
    aborted = partition.producers.transactions.aborted_between(batches[0].base_offset, batches[-1].last_offset + 1)
    if not aborted:
        return batches
    from protocol.records import iter_batches

    result: list[LogBatch] = []
    for batch, piece in zip(batches, data, strict=False):
        (header,) = iter_batches(piece)
        is_aborted = not header.is_control and any(
            one.producer_id == header.producer_id and one.first_offset <= batch.base_offset < one.last_offset
            for one in aborted
        )
        result.append(batch._replace(is_aborted=is_aborted))
    return result


def data_of(data: Sequence[bytes], batches: Sequence[LogBatch], acquired: Sequence[Acquired]) -> Sequence[bytes]:
    """The bytes of the batches with acquired records; a single batch includes the cut-off bytes after it."""
    if len(batches) < 2:
        return data
    first, last = acquired[0].first_offset, acquired[-1].last_offset
    begin = 0
    end = len(batches)
    for index, batch in enumerate(batches):
        if batch.base_offset <= first:
            begin = index
        elif batch.base_offset > last:
            end = index
            break
    return data[begin:end]
