"""Fetch (key 1): record batches from an offset on, now or when enough have come.

Reads partitions' logs; writes the broker's fetch sessions.
Errors: FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR at the top (v7+), and per
partition UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER, LEADER_NOT_AVAILABLE,
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, OFFSET_OUT_OF_RANGE, UNSUPPORTED_COMPRESSION_TYPE.
Source: KIP-74, KIP-101, KIP-227, KIP-320, KIP-392, KIP-516, KIP-595;
KafkaApis.handleFetchRequest and ReplicaManager.fetchMessages, Apache Kafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mockbroker.call import Call, Wait, handles
from mockbroker.handlers.leadership import (
    NodeEndpoints,
    check_leader_epoch,
    find_partition,
    served_by,
)
from mockbroker.state.errors import ApiError
from mockbroker.state.logs.leader_epochs import UNDEFINED_EPOCH
from mockbroker.state.logs.store import PartitionLog
from mockbroker.state.replicas.preferred import check_follower_has, preferred_replica
from mockbroker.state.sessions.fetch_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    NO_SESSION,
    FetchPartition,
    FetchSession,
    TopicKey,
)
from mockbroker.state.topics.topic import Partition
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.error_codes import ErrorCode

MESSAGE_TIME_VERSION = 2
BATCH_VERSION = 4
ZSTD_VERSION = 10
TOPIC_ID_VERSION = 13
SESSION_VERSION = 7
FOLLOWER_VERSION = 11
ENDPOINTS_VERSION = 16
CURRENT_LEADER_VERSION = 12
UNKNOWN_OFFSET = -1
NO_REPLICA = -1

PartitionResponse = FetchResponse.Topic.Partition


class FetchParams(NamedTuple):
    """What a fetch asks for: its partitions in their order, its limits, its session if it has one, and its rack."""

    wanted: list[FetchPartition]
    session: FetchSession | None
    full: bool
    min_bytes: int
    max_bytes: int
    until_ms: int
    rack: str


@dataclass(slots=True)
class PartitionRead:
    """What one partition gives.

    ``entry`` is its share of the answer where that is no records: an error, or the way to another replica. ``seen`` is
    what the broker had of it, by which a later look knows whether there is anything new.
    """

    wanted: FetchPartition
    partition: Partition | None
    high_watermark: int = UNKNOWN_OFFSET
    batches: Sequence[bytes] = ()
    size: int = 0
    entry: PartitionResponse | None = None
    seen: tuple[int, int] | None = None


@handles(FetchRequest)
def fetch(call: Call, request: FetchRequest) -> FetchResponse | Wait:
    """Find out what is wanted, then read."""
    if request.rack_id:
        call.session.learn_rack(request.rack_id)
    try:
        session, full, wanted = open_session(call, request)
    except ApiError as error:
        return FetchResponse(error_code=error.code)  # without the session's id: SessionErrorContext
    reading = FetchParams(
        wanted,
        session,
        full,
        request.min_bytes,
        min(request.max_bytes, call.cluster.settings["fetch.max.bytes"]),
        call.now_ms + max(0, request.max_wait_ms),
        request.rack_id if call.version >= FOLLOWER_VERSION else "",
    )
    return read(call, reading)


def read(
    call: Call, reading: FetchParams, before: Sequence[PartitionRead] = (), version: int = -1
) -> FetchResponse | Wait:
    """Read every partition; wait where that gives less than ``min_bytes`` and there is time left.

    Args:
        before: what the last look gave, which stands for partitions that had nothing and have nothing new.
        version: the cluster's at that look; with another one every partition is read anew.
    """
    reads: list[PartitionRead] = []
    size = 0
    urgent = not reading.wanted
    room = reading.max_bytes
    known = before if version == call.cluster.version else ()
    for index, wanted in enumerate(reading.wanted):
        one = known[index] if known else None
        if one is None or one.size or one.partition is None or one.seen != seen_of(call, one.partition):
            one = read_partition(call, wanted, reading.rack, room, at_least_one=size == 0)
        reads.append(one)
        size += one.size
        room = max(0, room - one.size)
        urgent = urgent or one.entry is not None
    if not urgent and size < reading.min_bytes and call.now_ms < reading.until_ms:
        keys = tuple(one.partition for one in reads if one.partition is not None)
        now = call.cluster.version
        return Wait(until_ms=reading.until_ms, on=keys, then=lambda later: read(later, reading, reads, now))
    return respond(call, reading, reads)


def seen_of(call: Call, partition: Partition) -> tuple[int, int]:
    """How far a broker's replica can be read, and from where."""
    return (call.cluster.replication.readable_end(partition, call.broker.id), partition.log.start_offset)


def open_session(call: Call, request: FetchRequest) -> tuple[FetchSession | None, bool, list[FetchPartition]]:
    """The session to go on with or to start, whether all partitions are answered, and the partitions wanted."""
    by_topic_id = call.version >= TOPIC_ID_VERSION
    named = [
        FetchPartition(
            topic.topic_id if by_topic_id else topic.topic,
            partition.partition,
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]
    if call.version < SESSION_VERSION:
        return (None, True, named)
    sessions = call.cluster.fetch_sessions_of(call.broker.id)
    if request.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
        if request.session_id != NO_SESSION:
            sessions.close(request.session_id)
        if request.session_epoch == FINAL_EPOCH or not named:
            return (None, True, named)
        return (sessions.open(by_topic_id, named), True, named)
    session = sessions.resume(request.session_id, request.session_epoch, by_topic_id)
    session.update(named, forgotten(request, by_topic_id))
    if not session.partitions:
        sessions.close(session.id)
        return (None, True, [])
    return (session, False, list(session.partitions.values()))


def forgotten(request: FetchRequest, by_topic_id: bool) -> Iterable[tuple[TopicKey, int]]:
    for topic in request.forgotten_topics_data:
        for index in topic.partitions:
            yield (topic.topic_id if by_topic_id else topic.topic, index)


def read_partition(call: Call, wanted: FetchPartition, rack: str, room: int, at_least_one: bool) -> PartitionRead:
    """One partition's share of the answer; an error is a share too, and so is the way to a replica near the reader."""
    partition = None
    try:
        partition = find_partition(call, wanted.topic, wanted.index)
        served_by(call, partition, followers_too=call.version >= FOLLOWER_VERSION)
        check_leader_epoch(call, partition, wanted.current_leader_epoch)
        if rack and partition.leader == call.broker.id:
            near = near_replica(call, partition, rack, wanted.fetch_offset)
            if near is not None:
                entry = entry_of(partition, wanted, partition.high_watermark)
                entry.preferred_read_replica = near
                return PartitionRead(wanted, partition, entry=entry)
        return read_log(call, partition, wanted, room, at_least_one)
    except ApiError as error:
        entry = PartitionResponse(
            partition_index=wanted.index, error_code=error.code, high_watermark=UNKNOWN_OFFSET, records=b""
        )
        moved = error.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
        if moved and partition is not None and call.version >= ENDPOINTS_VERSION:
            known = call.leadership(partition)
            entry.current_leader = PartitionResponse.LeaderIdAndEpoch(
                leader_id=known.leader, leader_epoch=known.leader_epoch
            )
        return PartitionRead(wanted, partition, entry=entry)


def read_log(call: Call, partition: Partition, wanted: FetchPartition, room: int, at_least_one: bool) -> PartitionRead:
    log = partition.log
    seen = seen_of(call, partition)
    readable_end = seen[0]
    if not partition.topic.diskless and partition.leader != call.broker.id:
        deposed = call.deposed(partition)
        if deposed is not None:
            readable_end = deposed.high_watermark
        check_follower_has(partition, wanted.fetch_offset, readable_end)
    if wanted.last_fetched_epoch >= 0 and call.version >= CURRENT_LEADER_VERSION:
        diverging = diverging_epoch(log, wanted, readable_end)
        if diverging is not None:
            entry = entry_of(partition, wanted, readable_end)
            entry.diverging_epoch = diverging
            return PartitionRead(wanted, partition, entry=entry)
    batches = log.read(wanted.fetch_offset, min(wanted.max_bytes, room), at_least_one=at_least_one, before=readable_end)
    return PartitionRead(wanted, partition, readable_end, batches, sum(map(len, batches)), None, seen)


def diverging_epoch(
    log: PartitionLog, wanted: FetchPartition, end_offset: int
) -> PartitionResponse.EpochEndOffset | None:
    """Where a reader has to go back to, None where its last epoch ends no earlier than it has read.

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


def entry_of(
    partition: Partition, wanted: FetchPartition, high_watermark: int, records: bytes = b""
) -> PartitionResponse:
    """A partition's share; ``high_watermark`` as this replica knows it."""
    return PartitionResponse(
        partition_index=wanted.index,
        high_watermark=high_watermark,
        last_stable_offset=high_watermark,
        log_start_offset=partition.log.start_offset,
        aborted_transactions=None,
        records=records,
    )


def records_entry(call: Call, one: PartitionRead) -> PartitionResponse:
    """A partition's share with its records, as this version's clients read them."""
    assert one.partition is not None
    records = one.batches[0] if len(one.batches) == 1 else b"".join(one.batches)
    if not records:
        return entry_of(one.partition, one.wanted, one.high_watermark)
    try:
        converted = records_for(call.version, records, one.wanted.fetch_offset)
    except ApiError as error:
        return PartitionResponse(
            partition_index=one.wanted.index, error_code=error.code, high_watermark=UNKNOWN_OFFSET, records=b""
        )
    return entry_of(one.partition, one.wanted, one.high_watermark, converted)


def near_replica(call: Call, partition: Partition, rack: str, fetch_offset: int) -> int | None:
    """Where the leader sends a reader of this rack, None to stay; a diskless partition has no replicas to choose of."""
    if partition.topic.diskless:
        return None
    cluster = call.cluster
    racks = cluster.rack_by_online_broker()
    return preferred_replica(partition, rack, fetch_offset, racks, cluster.replication, cluster.selector)


def respond(call: Call, reading: FetchParams, reads: Sequence[PartitionRead]) -> FetchResponse:
    """The response: everything in a full fetch, else what has changed since the client was told."""
    session = reading.session
    topics: dict[TopicKey, FetchResponse.Topic] = {}
    endpoints = NodeEndpoints(call)
    traffic: dict[str, int] = {}
    redirects: dict[str, list[int]] = {}
    for one in reads:
        if session is not None and not is_news(reading, one):
            continue
        entry = one.entry or records_entry(call, one)
        wanted = one.wanted
        wanted.sent_high_watermark, wanted.sent_start_offset = entry.high_watermark, entry.log_start_offset
        if session is not None and entry.records and not reading.full:
            session.move_to_end(wanted.key)
        topic = topics.get(wanted.topic)
        if topic is None:
            key = wanted.topic
            topic = topics[key] = (
                FetchResponse.Topic(topic_id=key) if isinstance(key, bytes) else FetchResponse.Topic(topic=key)
            )
        topic.partitions.append(entry)
        if one.partition is not None:
            name = one.partition.topic.name
            if entry.preferred_read_replica != NO_REPLICA:
                redirects.setdefault(name, []).append(entry.preferred_read_replica)
            elif entry.error_code == ErrorCode.NONE:
                traffic[name] = traffic.get(name, 0) + len(entry.records or b"")
            elif entry.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                endpoints.add(call.leadership(one.partition).leader)
    call.traffic, call.redirects = traffic, redirects or None
    response = FetchResponse(
        session_id=session.id if session is not None else NO_SESSION, responses=list(topics.values())
    )
    if call.version >= ENDPOINTS_VERSION:
        response.node_endpoints = endpoints.entries(FetchResponse.NodeEndpoint)
    return response


def is_news(reading: FetchParams, one: PartitionRead) -> bool:
    """Whether a client is to be told of a partition: in a full fetch, and where anything has changed."""
    return (
        reading.full
        or one.entry is not None
        or one.size > 0
        or one.partition is None
        or one.wanted.sent_high_watermark != one.high_watermark
        or one.wanted.sent_start_offset != one.partition.log.start_offset
    )


def records_for(version: int, records: bytes, first_offset: int) -> bytes:
    """The records as this Fetch version's clients read them: magic 0 at most for v0-1, 1 for v2-3, else as stored.

    Raises ApiError: UNSUPPORTED_COMPRESSION_TYPE, for zstd before v10 (KIP-110).
    """
    if version >= ZSTD_VERSION:
        return records
    from protocol.records import Codec, RecordError, UnsupportedCompressionError, down_convert, iter_batches

    if any(header.codec == Codec.ZSTD for header in iter_batches(records)):
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd takes Fetch v10")
    if version >= BATCH_VERSION:
        return records
    try:
        return down_convert(records, 0 if version < MESSAGE_TIME_VERSION else 1, first_offset=first_offset)
    except UnsupportedCompressionError as error:
        raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, str(error)) from None
    except RecordError as error:
        raise ApiError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
