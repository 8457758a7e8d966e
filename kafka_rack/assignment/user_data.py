"""The user data that sticky assignors put into a subscription, and how a leader reads it.

Big-endian, no compression: ``sticky`` writes an array of (topic string with int16 length, array of int32 partitions),
then an int32 generation, which older clients leave out; ``cooperative-sticky`` writes an int32 generation only.

Source: StickyAssignor and CooperativeStickyAssignor, Apache Kafka 4.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kafka_rack.assignment.members import TopicPartition

NO_GENERATION = -1
"""The generation of a member that was never part of a stable group."""


class _UnreadableError(Exception):
    """Malformed bytes."""


def read_sticky(data: bytes | None) -> tuple[list[TopicPartition], int | None]:
    """The partitions that a member claims to own, and their generation.

    Returns: (partitions, generation). The generation is None without data, or with data of the older form; unreadable
    bytes give no partitions and generation -1. Trailing bytes are ignored.
    """
    if not data:
        return [], None
    try:
        partitions, offset = _read_topics(data)
    except _UnreadableError:
        return [], NO_GENERATION
    if len(data) - offset < 4:
        return partitions, None
    return partitions, _int32(data, offset)


def write_sticky(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """The user data of a ``sticky`` member that owns ``partitions`` since ``generation``."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(partition)
    parts = [struct.pack(">i", len(by_topic))]
    for topic, numbers in by_topic.items():
        name = topic.encode()
        parts.append(struct.pack(f">h{len(name)}si{len(numbers)}i", len(name), name, len(numbers), *numbers))
    parts.append(struct.pack(">i", generation))
    return b"".join(parts)


def read_cooperative(data: bytes | None) -> int | None:
    """The generation in the user data of a ``cooperative-sticky`` member: None without data, -1 if unreadable."""
    if data is None:
        return None
    return _int32(data, 0) if len(data) >= 4 else NO_GENERATION


def write_cooperative(generation: int) -> bytes:
    """The user data of a ``cooperative-sticky`` member."""
    return struct.pack(">i", generation)


def _read_topics(data: bytes) -> tuple[list[TopicPartition], int]:
    partitions: list[TopicPartition] = []
    topics, offset = _read_count(data, 0)
    for _ in range(topics):
        if len(data) - offset < 2:
            raise _UnreadableError
        (length,) = struct.unpack_from(">h", data, offset)
        offset += 2
        if not 0 <= length <= len(data) - offset:
            raise _UnreadableError
        topic = data[offset : offset + length].decode("utf-8", "replace")
        count, offset = _read_count(data, offset + length)
        if count * 4 > len(data) - offset:
            raise _UnreadableError
        partitions += [(topic, number) for number in struct.unpack_from(f">{count}i", data, offset)]
        offset += count * 4
    return partitions, offset


def _read_count(data: bytes, offset: int) -> tuple[int, int]:
    """An array's count; it is unreadable if negative or larger than the remaining bytes."""
    if len(data) - offset < 4:
        raise _UnreadableError
    count = _int32(data, offset)
    if not 0 <= count <= len(data) - offset - 4:
        raise _UnreadableError
    return count, offset + 4


def _int32(data: bytes, offset: int) -> int:
    value: int = struct.unpack_from(">i", data, offset)[0]
    return value
