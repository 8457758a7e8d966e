"""Rows of Produce, Fetch and ShareFetch: whose bytes went where, and what their batches hold."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kafka_rack.pipeline.record_sizes import BatchSizes, batch_sizes
from kafka_rack.pipeline.rows import FrameDecoder, asked_message
from kafka_rack.pipeline.values import LENGTH_BYTES, SHARE_FETCH, Asked, Connection, Frame, Known
from kafka_rack.selection import zone_in_client_id
from protocol.error_codes import ErrorCode
from protocol.uuids import uuid_to_text

NO_UUID = bytes(16)
RACK_LISTENER = "RACK_"
MOVED = (int(ErrorCode.NOT_LEADER_OR_FOLLOWER), int(ErrorCode.FENCED_LEADER_EPOCH))
Part = tuple[str | None, bytes, Any]
"""A topic's name, its id and one of its partitions."""


def produce_request(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    """Batches as they are sent; with acks=0 the call is over too."""
    sizes = batches(decoder, frame, asked, "request", produced_parts(message, decoder.state.known))
    asked.message = (message, sizes)
    if message.acks == 0 and "produces" in decoder.wanted:
        produces(decoder, frame.connection, asked, None, 0)


def produce_response(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    if "produces" in decoder.wanted:
        produces(decoder, frame.connection, asked, message, len(frame.data) + LENGTH_BYTES)


def fetch_response(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    parts = fetched_parts(message, decoder.state.known)
    sizes = batches(decoder, frame, asked, "response", parts)
    if "fetches" in decoder.wanted:
        fetches(decoder, frame.connection, asked, message, len(frame.data) + LENGTH_BYTES, sizes)


def produced_parts(message: Any, known: Known) -> list[Part]:
    return [
        (topic.name or known.topics.get(topic.topic_id), topic.topic_id, partition)
        for topic in message.topic_data
        for partition in topic.partition_data
    ]


def fetched_parts(message: Any, known: Known) -> list[Part]:
    return [
        (getattr(topic, "topic", None) or known.topics.get(topic.topic_id), topic.topic_id, partition)
        for topic in message.responses
        for partition in topic.partitions
    ]


def batches(decoder: FrameDecoder, frame: Frame, asked: Asked, side: str, parts: list[Part]) -> list[list[BatchSizes]]:
    """Rows of every batch; gives the sizes by partition."""
    found = [list(batch_sizes(partition.records)) for _, _, partition in parts]
    if "batches" in decoder.wanted:
        rows = decoder.rows.tables["batches"][asked.api_name]
        start = (decoder.state.capture, frame.ts, frame.connection.number, side)
        for (topic, topic_id, partition), sizes in zip(parts, found, strict=True):
            number = partition.index if side == "request" else partition.partition_index
            text = uuid_text(topic_id)
            for one in sizes:
                header = one.header
                rows.append(
                    (
                        *start,
                        topic,
                        number,
                        header.magic if header is not None and header.magic >= 0 else None,
                        one.codec,
                        header.is_transactional if header is not None else None,
                        header.is_control if header is not None else None,
                        one.records,
                        one.size_bytes,
                        one.key_bytes,
                        one.value_bytes,
                        header is not None and header.partial,
                        one.headers,
                        text,
                        header.base_offset if header is not None else None,
                        header.producer_id if header is not None else None,
                        asked.client_id,
                        frame.index,
                        one.error,
                    )
                )
    return found


def produces(decoder: FrameDecoder, connection: Connection, asked: Asked, response: Any, response_bytes: int) -> None:
    """A row for each partition of a request; with its response if there is one."""
    told = asked_message(asked)
    known = decoder.state.known
    if told is None:
        return
    message, sizes = told if isinstance(told, tuple) else (told, None)
    parts = produced_parts(message, known)
    if sizes is None:
        sizes = [list(batch_sizes(partition.records)) for _, _, partition in parts]
    results: dict[tuple[str | None, bytes, int | None], Any] = {}
    if response is not None:
        for topic in response.responses:
            for result in topic.partition_responses:
                results[topic.name or None, topic.topic_id, result.index] = result
    rack = rack_of(connection, asked, None)
    lengths = [len(partition.records or b"") for _, _, partition in parts] or [0]
    request_shares = shares(asked.frame_bytes, lengths)
    response_shares = shares(response_bytes, [0] * len(lengths))
    rows = decoder.rows.tables["produces"][asked.api_name]
    for at in range(len(lengths)):
        name, topic_id, partition = parts[at] if parts else (None, NO_UUID, None)
        number = partition.index if partition is not None else None
        found = results.get((name if topic_id == NO_UUID else None, topic_id, number))
        error = found.error_code if found is not None else None
        leader = known.leaders.get((name, number)) if name is not None and number is not None else None
        batch = sizes[at] if partition is not None else []
        rows.append(
            (
                decoder.state.capture,
                asked.ts,
                asked.client_id,
                *rack,
                connection.broker,
                connection.rack,
                known.racks.get(leader) if leader is not None else None,
                name,
                number,
                request_shares[at],
                response_shares[at],
                lengths[at],
                total_records(batch),
                error in MOVED,
                message.acks,
                any(one.keyed for one in batch) if all(one.error is None for one in batch) else None,
                uuid_text(topic_id),
                leader,
                error,
                asked.api_version,
                connection.number,
                connection.client,
                asked.frame,
                at == 0,
            )
        )


def fetches(
    decoder: FrameDecoder,
    connection: Connection,
    asked: Asked,
    response: Any,
    response_bytes: int,
    sizes: list[list[BatchSizes]],
) -> None:
    """A row for each partition of a response, or one for the call."""
    known = decoder.state.known
    request = asked_message(asked)
    parts = fetched_parts(response, known)
    is_share = asked.api_key == SHARE_FETCH
    replica = -1
    if request is not None and not is_share:
        replica = request.replica_id if asked.api_version < 15 else request.replica_state.replica_id
    rack = rack_of(connection, asked, request.rack_id if request is not None and not is_share else None)
    who = "share" if is_share else "follower" if replica >= 0 else "consumer"
    lengths = [len(partition.records or b"") for _, _, partition in parts] or [0]
    request_shares = shares(asked.frame_bytes, [0] * len(lengths))
    response_shares = shares(response_bytes, lengths)
    rows = decoder.rows.tables["fetches"][asked.api_name]
    for at in range(len(lengths)):
        name, topic_id, partition = parts[at] if parts else (None, NO_UUID, None)
        number = partition.partition_index if partition is not None else None
        preferred = getattr(partition, "preferred_read_replica", -1)
        leader = known.leaders.get((name, number)) if name is not None and number is not None else None
        rows.append(
            (
                decoder.state.capture,
                asked.ts,
                asked.client_id,
                *rack,
                connection.broker,
                connection.rack,
                known.racks.get(leader) if leader is not None else None,
                name,
                number,
                request_shares[at],
                response_shares[at],
                lengths[at],
                total_records(sizes[at]) if partition is not None else 0,
                preferred >= 0,
                who,
                replica,
                known.racks.get(replica) if replica >= 0 else None,
                preferred if preferred >= 0 else None,
                request.group_id if is_share and request is not None else None,
                uuid_text(topic_id),
                leader,
                partition.error_code if partition is not None else None,
                asked.api_version,
                connection.number,
                connection.client,
                asked.frame,
                at == 0,
            )
        )


def rack_of(connection: Connection, asked: Asked, requested: str | None) -> tuple[str | None, str | None]:
    """A client's rack and how it is known."""
    if requested:
        return requested, "request"
    zone = zone_of(asked.client_id)
    if zone:
        return zone, "client_id"
    if connection.listener and connection.listener.startswith(RACK_LISTENER):
        return connection.listener.removeprefix(RACK_LISTENER), "listener"
    return None, None


@lru_cache(maxsize=10_000)
def zone_of(client_id: str | None) -> str | None:
    """The zone in a client id; the same few ask again and again."""
    return zone_in_client_id(client_id)


def shares(total: int, own: list[int]) -> list[int]:
    """A call's bytes over its rows: each its own and an equal part of the rest, the first what does not divide.

    >>> shares(110, [50, 30, 0])
    [60, 40, 10]
    """
    rest = total - sum(own)
    each = rest // len(own) if rest > 0 else 0
    parts = [one + each for one in own]
    parts[0] += total - sum(parts)
    return parts


def total_records(sizes: list[BatchSizes]) -> int | None:
    """Records in whole batches, without transactions' markers; None where some cannot be read."""
    total = 0
    for one in sizes:
        if one.error is not None:
            return None
        if one.header is not None and not one.header.is_control:
            total += one.records or 0
    return total


def uuid_text(topic_id: bytes) -> str | None:
    return uuid_to_text(topic_id) if topic_id != NO_UUID else None
