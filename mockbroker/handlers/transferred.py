"""The records that a Produce wrote or a Fetch read, partition by partition, by the request and its answer.

Observers read them; ``call.parts`` has those that are known already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from struct import Struct
from typing import Any

from mockbroker.call import Call, FetchedPart, Outcome, Part, ProducedPart
from mockbroker.handlers.error_responses import answer_parts
from mockbroker.state.cluster import Cluster
from mockbroker.state.errors import ApiError
from mockbroker.state.sessions.fetch_sessions import FetchPartition
from mockbroker.subjects import topic_name
from protocol.framing import Pieces
from protocol.registry import api_key_of, message_class

PRODUCE, FETCH = 0, 1
WITH_PARTS = frozenset({PRODUCE, FETCH, api_key_of("ShareFetch")})
NO_OFFSET = NO_REPLICA = -1
HEAD_BYTES = 61  # of a batch
MESSAGE_BYTES = 26  # at least, of a message of an older format
FRAME_BYTES = 12  # of either: its offset and its length
FRAME, LAST_OFFSET_DELTA = Struct(">qi4xB"), Struct(">i")  # offset, length and magic of either
MAGIC_AT, LAST_OFFSET_DELTA_AT = 16, 23
CRC = slice(17, 21)
MAGIC_OF_BATCHES = 2


def parts_of(outcome: Outcome) -> Sequence[Part] | None:
    """The parts of a call of ``WITH_PARTS``, from its answer if its handler did not record them.

    None for others, without a response, unless a Produce was read, and if a single error covers all partitions.
    """
    call, response = outcome.call, outcome.response
    if call.parts is not None or call.api_key not in WITH_PARTS:
        return call.parts
    if response is not None:
        if call.api_key == PRODUCE:
            call.parts = produced_parts(call, response)
        elif not response.error_code:
            call.parts = fetched_parts(call, response, call.wanted)
    elif call.api_key == PRODUCE and call.decoded is not None:  # with acks=0, or its answer did not come
        entries = answer_parts(call, call.request, message_class(PRODUCE, "response"), refuse_by_faults)
        call.parts = produced_parts(call, entries, ends={})
    return call.parts


def refuse_by_faults(call: Call, _entry: Any, topic: Any, one: Any) -> None:
    """Raise ApiError for a partition that a fault refused."""
    name = topic_name(call, topic)
    code = call.injected.error_of(name, one.index) if call.injected is not None and name else None
    if code is not None:
        raise ApiError(code)


def produced_parts(call: Call, response: Any, ends: Mapping[int, int] | None = None) -> list[ProducedPart]:
    """A part for each partition of the answer.

    Args:
        ends: the offset after the records, by the identity of the entry of the answer, where they were appended; None
            derives it from the base offset and the batch.
    """
    request = call.request
    sent = {
        (topic.name or topic.topic_id, one.index): one.records or b""
        for topic in request.topic_data
        for one in topic.partition_data
    }
    found: list[ProducedPart] = []
    for topic in response.responses:
        name, topic_id, isr = topic_facts(call.cluster, topic.name, topic.topic_id)
        name = name or ""
        racks = call.cluster.leader_racks(name)
        for one in topic.partition_responses:
            records = sent.get((topic.name or topic.topic_id, one.index), b"")
            if ends is not None:
                end_offset = ends.get(id(one), NO_OFFSET)
            elif one.error_code or one.base_offset < 0 or not is_batch(records):
                end_offset = NO_OFFSET
            else:
                end_offset = one.base_offset + offsets_of(records)
            about = name, topic_id, len(records), isr(one.index), end_offset, bytes(records[CRC])
            found.append(ProducedPart(*about, one, request.acks, racks))
    return found


def fetched_parts(call: Call, response: Any, wanted: Iterable[FetchPartition]) -> list[FetchedPart]:
    """A part for each partition of the answer; ``wanted`` has the requested offsets."""
    is_share = call.api_key != FETCH  # members of share groups read by other APIs
    requested = {} if is_share else {(one.topic, one.index): one.fetch_offset for one in wanted}
    found: list[FetchedPart] = []
    for topic in response.responses:
        given = None if is_share else topic.topic
        name, topic_id, isr = topic_facts(call.cluster, given, topic.topic_id)
        for one in topic.partitions:
            index = one.partition_index
            records = one.records or b""
            offset = requested.get((given or topic.topic_id, index), NO_OFFSET)
            first, after_last = acquired_offsets(one) if is_share else offsets_in(records, offset)
            found.append(
                FetchedPart(
                    name or None,
                    topic_id,
                    index,
                    len(records),
                    isr(index),
                    one.error_code,
                    NO_REPLICA if is_share else one.preferred_read_replica,
                    first if is_share else offset,
                    first,
                    after_last,
                    NO_OFFSET if is_share else one.high_watermark,
                )
            )
    return found


def topic_facts(
    cluster: Cluster, name: str | None, topic_id: bytes
) -> tuple[str | None, bytes, Callable[[int], tuple[int, ...] | None]]:
    """Name and id of a topic, and its partitions' in-sync replicas: None if diskless, empty if unknown."""
    known = cluster.topics.get(name) if name else cluster.topic_by_id.get(topic_id)
    if known is None:
        return name, topic_id, lambda _: ()
    if known.diskless:
        return known.name, known.id, lambda _: None
    partitions = known.partitions
    return known.name, known.id, lambda index: partitions[index].isr if 0 <= index < len(partitions) else ()


def is_batch(records: Any) -> bool:
    """True if records begin with a batch of magic 2."""
    return len(records) >= HEAD_BYTES and records[MAGIC_AT] == MAGIC_OF_BATCHES


def offsets_of(batches: Any, at: int = 0) -> int:
    """The number of offsets of the batch at this place."""
    return int(LAST_OFFSET_DELTA.unpack_from(batches, at + LAST_OFFSET_DELTA_AT)[0]) + 1


def acquired_offsets(entry: Any) -> tuple[int, int]:
    """The first offset that a member of a share group acquired, and the offset after the last; -1 twice for none."""
    acquired = entry.acquired_records
    return (acquired[0].first_offset, acquired[-1].last_offset + 1) if acquired else (NO_OFFSET, NO_OFFSET)


def offsets_in(records: Any, requested: int) -> tuple[int, int]:
    """The first offset of some batches or messages and the offset after the last; the requested one if there are none.

    The last batch may be incomplete. A set of messages of an older format begins at the requested offset.
    """
    if not records:
        return requested, requested
    first, after_last = requested, NO_OFFSET
    for piece in records.pieces if isinstance(records, Pieces) else (records,):
        at, end = 0, len(piece)
        while at + MESSAGE_BYTES <= end:
            offset, length, magic = FRAME.unpack_from(piece, at)
            in_batch, after = magic == MAGIC_OF_BATCHES, at + FRAME_BYTES + length
            if not at + (HEAD_BYTES if in_batch else MESSAGE_BYTES) <= after <= end:
                break
            if in_batch and after_last == NO_OFFSET:
                first = offset
            after_last = offset + (offsets_of(piece, at) if in_batch else 1)
            at = after
    return first, after_last
