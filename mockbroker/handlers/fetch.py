"""Fetch (key 1): record batches from an offset on, at once or when ``min_bytes`` have arrived.

Reads partitions' logs; writes the broker's fetch sessions.
Errors: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR at the top (v7+), and per
partition UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER, LEADER_NOT_AVAILABLE,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, OFFSET_OUT_OF_RANGE, UNSUPPORTED_COMPRESSION_TYPE.
Source: KIP-74, KIP-98, KIP-101, KIP-227, KIP-320, KIP-392, KIP-516, KIP-595;
KafkaApis.handleFetchRequest and ReplicaManager.fetchMessages, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.handlers.leadership import (
    LEADER_MOVED,
    NO_EPOCH,
    READ_COMMITTED,
    check_isolation_level,
    find_partition,
    name_leader,
    node_endpoints,
    served_by,
)
from mockbroker.handlers.transferred import fetched_parts
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.log import UNDEFINED_EPOCH, Log
from mockbroker.state.sessions.fetch_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION,
    FetchPartition,
    FetchSession,
    PartitionKey,
    TopicKey,
)
from mockbroker.state.topics.topic import Partition
from mockbroker.subjects import Subjects, named, with_session
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.error_codes import ErrorCode
from protocol.framing import Pieces

MESSAGE_TIME_VERSION = 2
BATCH_VERSION = 4  # earlier versions get whole messages, converted
STORAGE_ERROR_VERSION = 6
TOPIC_ID_VERSION = 13
FOLLOWER_VERSION = 11
ENDPOINTS_VERSION = 16
UNKNOWN_OFFSET = -1
NO_ID = bytes(16)
FUTURE_REPLICA = -3  # of a broker's own replica on its way to another directory
UNKNOWN_TO_METADATA: dict[int, int] = {
    ErrorCode.UNKNOWN_TOPIC_ID: 1,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 2,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 2,
}
"""Errors found before a log is read; these partitions come last in the answer, in this order."""

PartitionResponse = FetchResponse.Topic.Partition


class FetchParams(NamedTuple):
    """A fetch request: its partitions in order, its session if any, its limits, and whether a replica reads, which may
    read all records.
    """

    request: FetchRequest
    wanted: list[FetchPartition]
    session: FetchSession | None
    max_bytes: int
    until_ms: int
    is_replicas: bool


@dataclass(slots=True)
class PartitionRead:
    """The result of reading one partition.

    ``entry`` is its part of the answer; ``respond`` adds the records. ``is_final``: it is an error, a preferred replica
    or a diverging epoch. ``batches`` ends with the beginning of the first batch that does not fit, if there is any.
    ``on_older_segment``: the records extend past one segment, so the fetch does not wait.
    """

    wanted: FetchPartition
    partition: Partition | None
    entry: PartitionResponse
    batches: Sequence[bytes] = ()
    size: int = 0
    is_final: bool = False
    on_older_segment: bool = False

    @property
    def unknown(self) -> int:
        """1 if this broker's metadata lack the topic's id, 2 if they lack the partition, else 0."""
        return UNKNOWN_TO_METADATA.get(self.entry.error_code, 0)


def in_session(request: FetchRequest, answer: FetchResponse, _error: ApiError, _version: int) -> FetchResponse:
    """The answer to a failed request, with the request's session id."""
    answer.session_id = request.session_id
    return answer


def session_subjects(call: Call, request: FetchRequest) -> Subjects:
    """The partitions that the request names, after those of its session."""
    sessions = call.cluster.fetch_sessions.get(call.broker.id) if request.session_epoch > 0 else None
    session = sessions.by_id.get(request.session_id) if sessions is not None else None
    if session is None:
        return named(call, request)
    return with_session(call, request, session.partitions, forgotten(request, session.by_topic_id))


@handles(
    FetchRequest,
    access=Needs(topic="Read", note="as a follower: ClusterAction on the cluster alone"),
    errors=Errors(
        injected="lookup",
        parts="0-12",
        failed={"high_watermark": -1, "records": b""},
        odd=in_session,
        top=(
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ),
    ),
    subjects=session_subjects,
)
def fetch(call: Call, request: FetchRequest) -> FetchResponse | Wait:
    """Open or resume the session, then read its partitions."""
    if request.rack_id:
        call.session.learn_rack(request.rack_id)
    replicas = (request.replica_id, request.replica_state.replica_id)
    call.replica_id = max(replicas)
    try:
        session, wanted = open_session(call, request)
    except ApiError as error:
        if error.code == ErrorCode.UNKNOWN_SERVER_ERROR:
            raise
        return FetchResponse(error_code=error.code)  # without the session's id: SessionErrorContext
    max_bytes = min(request.max_bytes, call.cluster.settings["fetch.max.bytes"])
    until_ms = call.now_ms + max(0, request.max_wait_ms)
    is_replicas = call.replica_id >= 0 or FUTURE_REPLICA in replicas
    return read(call, FetchParams(request, wanted, session, max_bytes, until_ms, is_replicas))


def read(call: Call, reading: FetchParams) -> FetchResponse | Wait:
    """Read every partition; wait while that returns less than ``min_bytes`` and time is left."""
    reads: list[PartitionRead] = []
    size = 0
    room = reading.max_bytes
    for wanted in reading.wanted:
        one = read_partition(call, wanted, reading, room, at_least_one=size == 0)
        reads.append(one)
        size += one.size
        room = max(0, room - one.size)
    known = [one for one in reads if not one.unknown]
    if known:
        check_isolation_level(reading.request.isolation_level)
    is_urgent = not known or any(one.is_final or one.on_older_segment for one in known)
    may_wait = call.now_ms < reading.until_ms and not call.cluster.is_ending
    if may_wait and not is_urgent and size < min(reading.request.min_bytes, reading.max_bytes):
        keys = tuple(one.partition for one in known)
        return Wait(until_ms=reading.until_ms, on=keys, then=lambda later: read(later, reading))
    return respond(call, reading, reads)


def open_session(call: Call, request: FetchRequest) -> tuple[FetchSession | None, list[FetchPartition]]:
    """The session, resumed or new, and the requested partitions."""
    by_topic_id = call.version >= TOPIC_ID_VERSION
    named = list(named_partitions(request, by_topic_id))
    if (request.session_id, request.session_epoch) == (NO_SESSION, FINAL_EPOCH):
        return (None, without_doubles(named))
    sessions = call.cluster.fetch_sessions_of(call.broker.id)
    if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
        if request.session_id != NO_SESSION:
            sessions.close(request.session_id)
        named = without_doubles(named)
        return (None if request.session_epoch == FINAL_EPOCH else sessions.open(by_topic_id, named), named)
    session = sessions.resume(request.session_id, request.session_epoch, by_topic_id)
    sessions.update(session, named, forgotten(request, by_topic_id))
    if not session.partitions:
        sessions.close(session.id)
        return (None, [])
    return (session, list(session.partitions.values()))


def named_partitions(request: FetchRequest, by_topic_id: bool) -> Iterator[FetchPartition]:
    """The partitions that a request names."""
    for topic in request.topics:
        for one in topic.partitions:
            yield FetchPartition(
                topic.topic_id if by_topic_id else topic.topic,
                one.partition,
                one.fetch_offset,
                one.partition_max_bytes,
                max(NO_EPOCH, one.current_leader_epoch),
                one.last_fetched_epoch,
            )


def without_doubles(named: list[FetchPartition]) -> list[FetchPartition]:
    """Each partition once, at its first position and with its last values."""
    return list({one.key: one for one in named}.values()) if len(named) > 1 else named


def forgotten(request: FetchRequest, by_topic_id: bool) -> Iterator[PartitionKey]:
    """The partitions that a request removes from its session."""
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            yield (topic.topic_id if by_topic_id else topic.topic, index)


def read_partition(
    call: Call, wanted: FetchPartition, reading: FetchParams, room: int, at_least_one: bool
) -> PartitionRead:
    """One partition's part of the answer: records, an error, or a preferred replica in the reader's rack."""
    partition = None
    try:
        partition = find_wanted(call, wanted)
        followers_too = call.replica_id < 0 and (reading.is_replicas or call.version >= FOLLOWER_VERSION)
        served_by(call, partition, wanted.current_leader_epoch, followers_too=followers_too)
        if call.replica_id >= 0 and not partition.topic.diskless:
            check_is_follower(call, partition, wanted.current_leader_epoch)
        return read_log(call, partition, wanted, reading, room, at_least_one)
    except ApiError as error:
        entry = error_entry(wanted, error.code)
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR and call.version < STORAGE_ERROR_VERSION:
            entry.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error.code in LEADER_MOVED and call.version >= ENDPOINTS_VERSION and partition is not None:
            name_leader(call, partition, entry)
        return PartitionRead(wanted, partition, entry, is_final=True)


def check_is_follower(call: Call, partition: Partition, leader_epoch: int) -> None:
    """Check that the fetching replica is a follower of the partition. Its fetches change no state here.

    Raises ApiError: NOT_LEADER_OR_FOLLOWER, or UNKNOWN_LEADER_EPOCH if the request has a leader epoch. Source:
        Partition.followerReplicaOrThrow, Apache Kafka 4.4.
    """
    if call.replica_id not in partition.replicas or call.replica_id == call.broker.id:
        raise ApiError(
            ErrorCode.NOT_LEADER_OR_FOLLOWER if leader_epoch == NO_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH,
            f"expected a follower of {partition.replicas}, got {call.replica_id}",
        )


def find_wanted(call: Call, wanted: FetchPartition) -> Partition:
    """The partition that a fetch names. A session remembers the first name of a topic's id.

    Raises ApiError: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION; INCONSISTENT_TOPIC_ID if another topic has the name
        now. Source: FetchSession.CachedPartition.maybeResolveUnknownName, Apache Kafka 4.4.
    """
    if wanted.name is not None and wanted.topic not in call.cluster.topic_by_id:
        find_partition(call, wanted.name, wanted.index)
        raise ApiError(ErrorCode.INCONSISTENT_TOPIC_ID, f"expected the topic that had the name {wanted.name} before")
    partition = find_partition(call, wanted.topic, wanted.index)
    if wanted.name is None and isinstance(wanted.topic, bytes):
        wanted.name = partition.topic.name
    return partition


def read_log(
    call: Call, partition: Partition, wanted: FetchPartition, reading: FetchParams, room: int, at_least_one: bool
) -> PartitionRead:
    log, offset = partition.log, wanted.fetch_offset
    readable_end = call.cluster.replication.readable_end(partition, call.broker.id)
    owner = partition
    if not partition.topic.diskless and partition.leader != call.broker.id:
        owner = call.own_copy(partition)
        if owner is not partition:
            readable_end = owner.high_watermark
        if offset > readable_end:  # the reader returns to the leader
            raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
    last_stable_offset = owner.last_stable_offset(readable_end)
    entry = PartitionResponse(
        partition_index=wanted.index,
        high_watermark=readable_end,
        last_stable_offset=last_stable_offset,
        log_start_offset=log.start_offset,
        aborted_transactions=None,
    )
    rack = reading.request.rack_id if call.replica_id < 0 else ""
    near = near_replica(call, partition, rack, offset) if rack else None
    if near is not None:
        entry.preferred_read_replica = near
        return PartitionRead(wanted, partition, entry, is_final=True)
    if wanted.last_fetched_epoch >= 0:
        diverging = diverging_epoch(log, wanted, readable_end)
        if diverging is not None:
            entry.diverging_epoch = diverging
            return PartitionRead(wanted, partition, entry, is_final=True)
    committed_only = reading.request.isolation_level == READ_COMMITTED and not reading.is_replicas
    max_bytes = min(wanted.max_bytes, room)
    before = last_stable_offset if committed_only else readable_end
    if reading.is_replicas and partition.leader == call.broker.id and owner is partition:
        before = log.end_offset
    if max_bytes < 0 and log.start_offset <= offset < before:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"expected a limit from 0 on, got {max_bytes} bytes")
    batches = log.read(offset, max_bytes, at_least_one=at_least_one, before=before)
    size = sum(map(len, batches))
    if call.version >= BATCH_VERSION and (batches or max_bytes > 0) and offset < before and size < max_bytes:
        cut = log.read_cut(offset, len(batches), max_bytes - size, before)
        if cut and not batches:
            return PartitionRead(wanted, partition, entry)
        if cut:
            batches, size = [*batches, cut], size + len(cut)
    if committed_only:
        entry.aborted_transactions = aborted_transactions(owner, offset, size) if offset < before else []
    on_older_segment = len(log.segments) > 1 and offset < before and not log.in_one_segment(offset, before)
    return PartitionRead(wanted, partition, entry, batches, size, on_older_segment=on_older_segment)


def aborted_transactions(partition: Partition, offset: int, size: int) -> list[PartitionResponse.AbortedTransaction]:
    """The aborted transactions with records among those returned, or before the next index entry.

    Kafka looks up the end of a fetch in an index with an entry every ``index.interval.bytes``, and so returns some
    that begin later, but before the last offset of the entry's batch; at the end of a log, all. Source:
    LocalLog.addAbortedTransactions, LogSegment.append, Apache Kafka 4.4.
    """
    transactions = partition.producers.transactions
    if not transactions.aborted:
        return []
    upper_bound, room = partition.log.end_offset, size + partition.topic.config("index.interval.bytes")
    for batch in partition.log.batches(offset):
        room -= len(batch.data)
        if room < 0:
            upper_bound = batch.last_offset
            break
    return [
        PartitionResponse.AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
        for one in transactions.aborted_between(offset, upper_bound)
    ]


def diverging_epoch(log: Log, wanted: FetchPartition, end_offset: int) -> PartitionResponse.EpochEndOffset | None:
    """The epoch and offset that a reader must truncate to, None if its last epoch ends at or after its offset.

    Raises ApiError: OFFSET_OUT_OF_RANGE. Source: Partition.readRecords, Apache Kafka 4.4.
    """
    epoch, epoch_end = log.leader_epochs.end_offset_for(wanted.last_fetched_epoch, end_offset)
    if epoch == UNDEFINED_EPOCH:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"last fetched epoch {wanted.last_fetched_epoch}, but {log.leader_epochs.latest_epoch()} is the latest",
        )
    if wanted.fetch_offset < log.start_offset:
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {wanted.fetch_offset}, but the log starts at {log.start_offset}"
        )
    if epoch < wanted.last_fetched_epoch or epoch_end < wanted.fetch_offset:
        return PartitionResponse.EpochEndOffset(epoch=epoch, end_offset=epoch_end)
    return None


def error_entry(wanted: FetchPartition, code: int) -> PartitionResponse:
    """A partition's part of the answer with an error."""
    return PartitionResponse(
        partition_index=wanted.index,
        error_code=code,
        high_watermark=UNKNOWN_OFFSET,
        aborted_transactions=[] if code in UNKNOWN_TO_METADATA else None,
        records=b"",
    )


def with_records(call: Call, one: PartitionRead) -> PartitionResponse:
    """A partition's part of the answer, with its records in the format of this version: the log's own, not copies."""
    stored = one.batches[0] if len(one.batches) == 1 else Pieces(one.batches)
    if call.version < BATCH_VERSION:
        try:
            stored = records_for(call, bytes(stored), one.wanted.fetch_offset)
        except ApiError as error:
            return error_entry(one.wanted, error.code)
    one.entry.records = cast(bytes, stored)
    return one.entry


def near_replica(call: Call, partition: Partition, rack: str, fetch_offset: int) -> int | None:
    """The preferred read replica for this rack, None for this broker; only leaders name one."""
    cluster = call.cluster
    if partition.topic.diskless:
        return cluster.diskless.preferred(cluster.liveness.for_diskless, call.broker.id, rack)
    if partition.leader != call.broker.id:
        return None
    return cluster.replication.preferred_replica(partition, rack, fetch_offset)


def respond(call: Call, reading: FetchParams, reads: Sequence[PartitionRead]) -> FetchResponse:
    """The response: all partitions, except in a resumed session, where it has those that changed since the last one."""
    session = reading.session
    is_resumed = session is not None and reading.request.session_epoch != FIRST_EPOCH
    response = FetchResponse(session_id=session.id if session is not None else NO_SESSION)
    answered: list[FetchPartition] = []
    last_topic: TopicKey | None = None
    for one in sorted(reads, key=lambda one: one.unknown):  # those of unknown topics come last; the sort is stable
        if is_resumed and not is_news(one):
            continue
        entry = with_records(call, one) if one.batches else one.entry
        wanted = one.wanted
        wanted.sent_high_watermark, wanted.sent_start_offset = entry.high_watermark, entry.log_start_offset
        if session is not None and is_resumed and entry.records:
            session.move_to_end(wanted.key)
        key = wanted.topic
        if last_topic == NO_ID:  # FetchResponse.matchingTopic reads its name, which is null
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "expected nothing after a topic without an id")
        if key != last_topic:
            response.responses.append(
                FetchResponse.Topic(topic_id=key) if isinstance(key, bytes) else FetchResponse.Topic(topic=key)
            )
            last_topic = key
        response.responses[-1].partitions.append(entry)
        answered.append(wanted)
    call.wanted, call.in_session = reading.wanted, session is not None
    call.parts = fetched_parts(call, response, answered)
    if call.replica_id < 0:
        failed = (one.entry for one in reads if one.is_final)
        response.node_endpoints = node_endpoints(call, failed, FetchResponse.NodeEndpoint)
    return response


def is_news(one: PartitionRead) -> bool:
    """True if a resumed session's response must contain the partition, because anything has changed."""
    return (
        one.is_final
        or one.size > 0
        or one.wanted.sent_high_watermark != one.entry.high_watermark
        or one.wanted.sent_start_offset != one.entry.log_start_offset
    )


def records_for(call: Call, records: bytes, first_offset: int) -> bytes:
    """The records for clients of Fetch v0-1, magic 0 at most, or of v2-3, magic 1.

    No records once the call has used its decompression budget: the client's next fetch continues there.

    Raises ApiError: UNSUPPORTED_COMPRESSION_TYPE, for zstd; clients of v4 to v9 receive it.
    """
    version = call.version
    from protocol.records import (
        CompressionCodec,
        DecompressionLimitError,
        RecordError,
        UnsupportedCompressionError,
        down_convert,
        iter_batches,
    )

    if any(header.codec == CompressionCodec.ZSTD for header in iter_batches(records)):
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd takes Fetch v10")
    budget = call.decompression
    is_first = budget.left == call.cluster.settings["max.decompressed.request.bytes"]
    magic = 0 if version < MESSAGE_TIME_VERSION else 1
    try:
        return down_convert(records, magic, first_offset=first_offset, limit=budget)
    except DecompressionLimitError as error:
        if not is_first:
            return b""
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    except UnsupportedCompressionError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from None
    except RecordError as error:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
