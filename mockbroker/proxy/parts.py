"""What a Produce, a Fetch or a ShareFetch did, as its frames say; for observers, as our own handlers tell them."""

from __future__ import annotations

from struct import Struct
from typing import Any

from mockbroker.call import Call, FetchedPart, Part, ProducedPart
from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.topic import Topic
from protocol.registry import api_key_of

PRODUCE, FETCH, SHARE_FETCH = 0, 1, api_key_of("ShareFetch")
APIS_WITH_PARTS = (PRODUCE, FETCH, SHARE_FETCH)
NO_OFFSET = NO_REPLICA = -1
REPLICA_STATE_VERSION = 15
NO_ID = bytes(16)
HEAD_BYTES = 61  # of a batch
BASE_OFFSET, LAST_OFFSET_DELTA, LENGTH = Struct(">q"), Struct(">i"), Struct(">i")
LENGTH_AT, MAGIC_AT, LAST_OFFSET_DELTA_AT = 8, 16, 23
CRC = slice(17, 21)
MAGIC_OF_BATCHES = 2
ENTRY = ProducedPart._fields.index("entry")


def note_parts(call: Call, response: Any) -> None:
    """Put down in a call what its request and its answer say of each partition, unless a single error stands for all.

    What was put down of an entry of a Produce before stays, so that a write counts whose answer a fault has changed.
    """
    if call.api_key == PRODUCE:
        noted = {id(part[ENTRY]): part for part in call.parts or ()}
        call.parts = [noted.get(id(part[ENTRY]), part) for part in produced_parts(call, response)]
        return
    if response.error_code:
        return
    call.parts = fetched_parts(call, response)
    if call.api_key == FETCH:
        request = call.request
        state = request.replica_state if call.version >= REPLICA_STATE_VERSION else request
        call.replica_id = state.replica_id


def produced_parts(call: Call, response: Any) -> list[Part]:
    """A part for each partition that was answered, or, without an answer, that was sent."""
    request = call.request
    sent = {
        (topic.name or topic.topic_id, one.index): one.records or b""
        for topic in request.topic_data
        for one in topic.partition_data
    }
    found: list[Part] = []
    for topic in response.responses:
        known = topic_of(call.cluster, topic.name, topic.topic_id)
        name, topic_id, isr = facts_of(known, topic.name, topic.topic_id)
        for one in topic.partition_responses:
            records = sent.get((topic.name or topic.topic_id, one.index), b"")
            end_offset = NO_OFFSET
            if not one.error_code and one.base_offset >= 0 and is_batch(records):
                end_offset = one.base_offset + records_in(records)
            part_isr = isr if known is None or isr is None else isr_of(known, one.index)
            found.append(
                ProducedPart(
                    name or "", topic_id, len(records), part_isr, end_offset, bytes(records[CRC]), one, request.acks
                )
            )
    return found


def sent_parts(call: Call, response_class: Any) -> list[Part]:
    """The parts of a Produce that nobody answers, as acks=0 asks for, with the errors of what a fault refuses."""
    entry, injected = response_class.Topic.Partition, call.injected
    found: list[Part] = []
    for topic in call.request.topic_data:
        known = topic_of(call.cluster, topic.name, topic.topic_id)
        name, topic_id, isr = facts_of(known, topic.name, topic.topic_id)
        for one in topic.partition_data:
            records = one.records or b""
            part_isr = isr if known is None or isr is None else isr_of(known, one.index)
            code = injected.error_of(name, one.index) if injected is not None and name else None
            made = entry(index=one.index, error_code=code or 0)
            found.append(
                ProducedPart(
                    name or "",
                    topic_id,
                    len(records),
                    part_isr,
                    NO_OFFSET,
                    bytes(records[CRC]),
                    made,
                    call.request.acks,
                )
            )
    return found


def fetched_parts(call: Call, response: Any) -> list[Part]:
    """A part for each partition that was answered."""
    is_share = call.api_key == SHARE_FETCH
    asked = {} if is_share else {one.key: one.fetch_offset for one in call.wanted}
    found: list[Part] = []
    for topic in response.responses:
        given = None if is_share else topic.topic
        known = topic_of(call.cluster, given, topic.topic_id)
        name, topic_id, isr = facts_of(known, given, topic.topic_id)
        for one in topic.partitions:
            index = one.partition_index
            records = one.records or b""
            offset = asked.get((given or topic.topic_id, index), NO_OFFSET)
            first, behind = offsets_in(records, offset)
            found.append(
                FetchedPart(
                    name or None,
                    topic_id,
                    index,
                    len(records),
                    isr if known is None or isr is None else isr_of(known, index),
                    one.error_code,
                    NO_REPLICA if is_share else one.preferred_read_replica,
                    offset,
                    first,
                    behind,
                    NO_OFFSET if is_share else one.high_watermark,
                )
            )
    return found


def topic_of(cluster: Cluster, name: str | None, topic_id: bytes) -> Topic | None:
    """The topic that an answer names by its name or its id, where it is known."""
    return cluster.topics.get(name) if name else cluster.topic_by_id.get(topic_id)


def facts_of(
    known: Topic | None, name: str | None, topic_id: bytes
) -> tuple[str | None, bytes, tuple[int, ...] | None]:
    """Name, id and replicas in sync, None of a diskless topic, as far as a topic is known."""
    if known is None:
        return name, topic_id, ()
    return known.name, known.id, None if known.diskless else ()


def isr_of(topic: Topic, index: int) -> tuple[int, ...]:
    """The replicas in sync, none where the partition is not known yet."""
    return topic.partitions[index].isr if 0 <= index < len(topic.partitions) else ()


def is_batch(records: Any) -> bool:
    """Whether records begin with a batch of today's format."""
    return len(records) >= HEAD_BYTES and records[MAGIC_AT] == MAGIC_OF_BATCHES


def records_in(batches: Any, at: int = 0) -> int:
    """How many offsets the batch takes that begins there."""
    return int(LAST_OFFSET_DELTA.unpack_from(batches, at + LAST_OFFSET_DELTA_AT)[0]) + 1


def offsets_in(records: Any, asked: int) -> tuple[int, int]:
    """The first offset of some batches, and the one behind the last; what was asked for where there are none.

    A batch at the end may be cut off; of older formats the end is not looked for.
    """
    if not is_batch(records):
        return asked, NO_OFFSET if len(records) else asked
    first: int = BASE_OFFSET.unpack_from(records)[0]
    behind = NO_OFFSET
    at, end = 0, len(records)
    while at + HEAD_BYTES <= end and records[at + MAGIC_AT] == MAGIC_OF_BATCHES:
        after = at + 12 + LENGTH.unpack_from(records, at + LENGTH_AT)[0]
        if after > end or after <= at:
            break
        behind = BASE_OFFSET.unpack_from(records, at)[0] + records_in(records, at)
        at = after
    return first, behind
