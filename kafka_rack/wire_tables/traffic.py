"""Rows of Produce, Fetch and ShareFetch: whose bytes went where, and what their batches hold."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kafka_rack.diskless import ZONE_KEYS
from kafka_rack.wire_capture.bodies import asked_message
from kafka_rack.wire_capture.frames import LENGTH_BYTES, SHARE_FETCH, CapturedConnection, Frame, PendingRequest
from kafka_rack.wire_tables.rows import NONE, PACK, Target
from kafka_rack.zones import zone_in_client_id
from protocol.error_codes import ErrorCode
from protocol.records.sizes import BatchSizes, batch_sizes
from protocol.uuids import uuid_to_text

NO_UUID = bytes(16)
RACK_LISTENER = "RACK_"
MOVED = (int(ErrorCode.NOT_LEADER_OR_FOLLOWER), int(ErrorCode.FENCED_LEADER_EPOCH))
PACK_FETCH, PACK_PRODUCE = PACK["fetches"], PACK["produces"]
Part = tuple[str | None, bytes, int | None, Any]
"""A topic's name, its id, the number of one of its partitions and what the message has of it."""
NO_PART: Part = (None, NO_UUID, None, None)


def produce_request(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    """Batches as they are sent; with acks=0 the call is over too."""
    sizes = batches(target, frame, asked, produced_parts(target, message))
    asked.message = (message, sizes)
    if message.acks == 0 and "produces" in target.wanted:
        produces(target, frame.connection, asked, None, 0)


def produce_response(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    if "produces" in target.wanted:
        produces(target, frame.connection, asked, message, len(frame.data) + LENGTH_BYTES)


def fetch_response(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    parts = fetched_parts(target, message)
    sizes = batches(target, frame, asked, parts)
    if "fetches" in target.wanted:
        fetches(target, frame, asked, parts, sizes)


def produced_parts(target: Target, message: Any) -> list[Part]:
    names = target.known.topics
    return [
        (topic.name or names.get(topic.topic_id), topic.topic_id, partition.index, partition)
        for topic in message.topic_data
        for partition in topic.partition_data
    ]


def fetched_parts(target: Target, message: Any) -> list[Part]:
    names = target.known.topics
    return [
        (
            getattr(topic, "topic", None) or names.get(topic.topic_id),
            topic.topic_id,
            partition.partition_index,
            partition,
        )
        for topic in message.responses
        for partition in topic.partitions
    ]


def batches(target: Target, frame: Frame, asked: PendingRequest, parts: list[Part]) -> list[list[BatchSizes]]:
    """Rows of every batch; gives the sizes by partition."""
    found = [batch_sizes(part[3].records) for part in parts]
    if "batches" not in target.wanted:
        return found
    api = asked.kind.api_name
    place, kind = target.place(frame.connection), target.kind(asked.kind)
    for part, sizes in zip(parts, found, strict=True):
        if not sizes:
            continue
        part_number = part_of(target, part)
        for one in sizes:
            header, counts = one.header, one.counts
            start = place, form_of(target, frame.is_request, one), part_number, kind, frame.ts
            records, key_bytes, value_bytes, headers, _ = counts if counts is not None else (None,) * 5
            sizes_of_it = records, one.size_bytes, key_bytes, value_bytes, headers
            offset, producer = (header.base_offset, header.producer_id) if header is not None else (None, None)
            target.rows.add("batches", api, (*start, *sizes_of_it, offset, producer, frame.index, one.error))
    return found


def form_of(target: Target, is_request: bool, one: BatchSizes) -> int:
    """The number of a batch's form."""
    forms, header, side = target.rows.shared["form"], one.header, "request" if is_request else "response"
    if header is None:
        return forms[side, None, one.codec, None, None, False]
    magic = header.magic if header.magic >= 0 else None
    return forms[side, magic, one.codec, header.is_transactional, header.is_control, header.partial]


def part_of(target: Target, part: Part) -> int:
    """The number of a topic's partition."""
    return target.rows.shared["part"][part[0], part[2], uuid_text(part[1])]


def serving_of(target: Target, part: Part) -> int:
    """The number of the rack of a partition's leader, the leader and the replicas in sync, as last reported."""
    known = target.known
    name, _, number, _ = part
    leader = in_sync = rack = None
    if name is not None and number is not None:
        leader, in_sync = known.leaders.get((name, number)), known.in_sync.get((name, number))
    if leader is not None:
        rack = known.racks.get(leader)
    return target.rows.shared["serving"][rack, leader, in_sync]


def produces(
    target: Target, connection: CapturedConnection, asked: PendingRequest, response: Any, response_bytes: int
) -> None:
    """A row for each partition of a request; with its response if there is one."""
    read = asked_message(asked)
    if read is None:
        return
    message, sizes = read if isinstance(read, tuple) else (read, None)
    parts = produced_parts(target, message)
    if sizes is None:
        sizes = [batch_sizes(part[3].records) for part in parts]
    results: dict[tuple[str | None, bytes, int | None], Any] = {}
    if response is not None:
        for topic in response.responses:
            for result in topic.partition_responses:
                results[topic.name or None, topic.topic_id, result.index] = result
    lengths = [len(part[3].records or b"") for part in parts] or [0]
    request_shares = with_rest(asked.frame_bytes, lengths)
    response_shares = with_rest(response_bytes, [0] * len(lengths))
    start = target.place(connection), target.kind(asked.kind), writer_number(target, connection, asked, message.acks)
    rows = target.rows.tables["produces"][asked.kind.api_name]
    for at in range(len(lengths)):
        part = parts[at] if parts else NO_PART
        name, topic_id, number, partition = part
        found = results.get((name if topic_id == NO_UUID else None, topic_id, number))
        error = found.error_code if found is not None else NONE
        batch = sizes[at] if partition is not None else []
        records = total_records(batch)
        keyed = any(one.counts.keyed for one in batch if one.counts) if records != NONE else NONE
        what = serving_of(target, part), part_of(target, part), asked.ts
        sums = request_shares[at], response_shares[at], lengths[at], records
        rows += PACK_PRODUCE(*start, *what, *sums, error in MOVED, keyed, error, asked.frame, at == 0)


def with_rest(total: int, records: list[int]) -> list[int]:
    """A frame's bytes by partition: each its record batches, the first all the rest of the frame too.

    >>> with_rest(110, [50, 30, 0])
    [80, 30, 0]
    """
    return [total - sum(records[1:]), *records[1:]]


def fetches(
    target: Target, frame: Frame, asked: PendingRequest, parts: list[Part], sizes: list[list[BatchSizes]]
) -> None:
    """A row for each partition of a response, or one for the call."""
    lengths = [len(part[3].records or b"") for part in parts] or [0]
    request_shares = with_rest(asked.frame_bytes, [0] * len(lengths))
    response_shares = with_rest(len(frame.data) + LENGTH_BYTES, lengths)
    start = target.place(frame.connection), target.kind(asked.kind), reader_of(target, frame.connection, asked)
    rows = target.rows.tables["fetches"][asked.kind.api_name]
    for at in range(len(lengths)):
        part = parts[at] if parts else NO_PART
        partition = part[3]
        preferred = getattr(partition, "preferred_read_replica", -1)
        what = serving_of(target, part), part_of(target, part), asked.ts
        records = total_records(sizes[at]) if partition is not None else 0
        sums = request_shares[at], response_shares[at], lengths[at], records
        redirect = preferred >= 0, preferred if preferred >= 0 else NONE
        error = partition.error_code if partition is not None else NONE
        rows += PACK_FETCH(*start, *what, *sums, *redirect, error, asked.frame, at == 0)


def reader_of(target: Target, connection: CapturedConnection, asked: PendingRequest) -> int:
    """The number of the reader that a request names."""
    request, kind = asked_message(asked), asked.kind
    if kind.api_key == SHARE_FETCH:
        return reader_number(target, connection, asked, -1, None, request.group_id if request is not None else None)
    if request is None:  # a consumer's or a follower's
        return reader_number(target, connection, asked, None, None, None)
    replica = request.replica_id if kind.api_version < 15 else request.replica_state.replica_id
    return reader_number(target, connection, asked, replica, request.rack_id, None)


def reader_number(
    target: Target,
    connection: CapturedConnection,
    asked: PendingRequest,
    replica: int | None,
    rack_id: str | None,
    group_id: str | None,
) -> int:
    """The number of a reader: consumer, follower, share group or, of an unreadable request, None; with its rack."""
    kind = asked.kind
    is_follower = replica is not None and replica >= 0
    replica_rack = target.known.racks.get(replica) if replica is not None and is_follower else None
    who: str | None = "share" if kind.api_key == SHARE_FETCH else "follower" if is_follower else "consumer"
    if replica is None:
        who = None
    rack = rack_of(connection, asked, rack_id)
    return target.rows.shared["client"][*rack, who, replica, replica_rack, group_id, None]


def writer_number(target: Target, connection: CapturedConnection, asked: PendingRequest, acks: int) -> int:
    """The number of a producer with its rack."""
    return target.rows.shared["client"][*rack_of(connection, asked, None), *[None] * 4, acks]


def rack_of(
    connection: CapturedConnection, asked: PendingRequest, requested: str | None
) -> tuple[str | None, str | None]:
    """A client's rack and how it is known."""
    if requested:
        return requested, "request"
    zone = zone_of(asked.kind.client_id)
    if zone:
        return zone, "client_id"
    if connection.listener and connection.listener.startswith(RACK_LISTENER):
        return connection.listener.removeprefix(RACK_LISTENER), "listener"
    return None, None


@lru_cache(maxsize=10_000)
def zone_of(client_id: str | None) -> str | None:
    """The zone in a client id; the same few ask again and again."""
    return zone_in_client_id(client_id, ZONE_KEYS)


def total_records(sizes: list[BatchSizes]) -> int:
    """Records in whole batches, without transactions' markers; NONE where some cannot be read."""
    total = 0
    for one in sizes:
        if one.error is not None:
            return NONE
        if one.counts is not None and one.header is not None and not one.header.is_control:
            total += one.counts.records
    return total


@lru_cache(maxsize=100_000)
def uuid_text(topic_id: bytes) -> str | None:
    return uuid_to_text(topic_id) if topic_id != NO_UUID else None
