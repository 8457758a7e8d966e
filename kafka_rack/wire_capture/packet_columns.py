"""The packets of a file many at once, as columns, as far as they are plain.

Headers that lead to each other are followed in a window of the file. What is no plain packet there - damage, a time far
from the one before, a section or another block - ends it, and is read by :func:`.packets.read_packets`, which says what
packets are.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np

from kafka_rack.wire_capture.files import DecompressedFile
from kafka_rack.wire_capture.json_fields import LATEST
from kafka_rack.wire_capture.packets import (
    ENHANCED_PACKET,
    FILE_HEADER_BYTES,
    MAX_PACKET_BYTES,
    OWN_COMMENT,
    US,
    Format,
    Interface,
    Packet,
    headers_of,
    near,
    packet_of,
    read_packets,
)
from kafka_rack.wire_capture.segment_columns import EndsCache, Numbers, PacketColumns, SegmentColumns, segments_of
from kafka_rack.wire_capture.segments import TcpSegment, segment_in

WINDOW_BYTES = 2 << 20
ODD_BYTES = 1 << 16
"""That are read packet by packet behind what is not plain."""
BLOCK_HEAD_BYTES, BLOCK_BYTES = 28, 32
"""Of an enhanced packet block: before its packet, and in all without it."""
MIN_COMMENT_BYTES = 4 + len(OWN_COMMENT)


def read_many(
    source: DecompressedFile, file_format: Format, end: int | None, damaged: list[tuple[int, str]]
) -> Iterator[Packet | SegmentColumns]:
    """The packets that begin before ``end``, as :func:`.packets.read_packets` has them; of plain ones the segments."""
    ends_by = EndsCache()
    is_next_generation = file_format.is_next_generation
    window_of = blocks_in if is_next_generation else records_in
    if not is_next_generation and source.position == FILE_HEADER_BYTES and begins_odd(source, file_format):
        yield from read_packets(source, file_format, end, damaged)
        return
    while end is None or source.position < end:
        window = source.peek(WINDOW_BYTES)
        found = window_of(window, source.position, len(window) < WINDOW_BYTES, file_format, end)
        if found is None:
            if not window and source.damage is None:
                return
            before = source.position
            odd_end = before + ODD_BYTES if end is None else min(end, before + ODD_BYTES)
            yield from read_packets(source, file_format, odd_end, damaged)
            if source.position == before:
                return
            continue
        packets, size = found
        source.read(size)
        yield segments_of(packets, ends_by, AloneReader(packets, file_format, damaged))


def begins_odd(source: DecompressedFile, file_format: Format) -> bool:
    """Whether a pcap's first packet has no header, so that it may be given up."""
    return headers_of(file_format).fault_ahead(source, None) is not None


class AloneReader:
    """Reads packets of a window by themselves."""

    def __init__(self, packets: PacketColumns, file_format: Format, damaged: list[tuple[int, str]]) -> None:
        self.packets, self.file_format, self.damaged = packets, file_format, damaged

    def __call__(self, row: int) -> TcpSegment | None:
        packets, start, size = self.packets, int(self.packets.start[row]), int(self.packets.size[row])
        offset, order = int(packets.offset[row]), self.file_format.order
        packet: Packet | None
        if self.file_format.is_next_generation:
            at = start - BLOCK_HEAD_BYTES
            (length,) = struct.unpack_from(order + "I", packets.data, at + 4)
            packet = packet_of(ENHANCED_PACKET, packets.data[at + 8 : at + length - 4], offset, self.file_format)
        else:
            data, link_type = packets.data[start : start + size], int(packets.link_type[row])
            packet = Packet(offset, int(packets.ts[row]), link_type, data, int(packets.wire_bytes[row]))
        return segment_in(packet, self.file_format, self.damaged) if packet is not None else None


def records_in(
    window: bytes, position: int, is_all: bool, file_format: Format, end: int | None
) -> tuple[PacketColumns, int] | None:
    """The plain packets of a pcap at the start of a window, and their bytes; None if there are none.

    Behind the last of them a plain header follows, or the file's end: what else follows is found out by who reads it.
    """
    (interface,) = file_format.interfaces
    headers = headers_of(file_format)
    head_bytes = headers.header.size
    size_at = struct.Struct(file_format.order + "I").unpack_from
    max_bytes = min(headers.max_bytes, MAX_PACKET_BYTES)
    places: list[int] = []
    at, length = 0, len(window)
    while at + head_bytes <= length:
        (size,) = size_at(window, at + 8)
        if size > max_bytes:
            break
        places.append(at)
        at += head_bytes + size
    if not places:
        return None
    start: Numbers = np.array(places)
    fields = np.ndarray((length - 3,), file_format.order + "u4", window, 0, (1,))
    seconds, fraction, size_, wire_bytes = (fields[start + 4 * number].astype(np.int64) for number in range(4))
    before = seconds[0] if file_format.second is None else file_format.second
    is_near = np.array([near(int(seconds[0]), int(before)), *(np.abs(np.diff(seconds)) <= 86_400)])
    plain = (size_ <= wire_bytes) & (fraction < interface.ticks_per_second) & (wire_bytes > 0) & is_near
    count = int(plain.size if plain.all() else np.argmin(plain))
    ends_here = count == plain.size and is_all and places[-1] + head_bytes + int(size_[-1]) == length
    if not ends_here:
        count -= 1  # a header that is plain follows the packets before the last
    if end is not None:
        count = min(count, int(np.searchsorted(start, end - position)))
    if count < 1:
        return None
    start, size_ = start[:count], size_[:count]
    ts = seconds[:count] * US + fraction[:count] // (interface.ticks_per_second // US)
    first_second = int(seconds[0])
    file_format.second = file_format.second_before = int(seconds[count - 1])
    packets = PacketColumns(
        window,
        position,
        first_second,
        start + position,
        ts,
        np.full(count, interface.link_type),
        start + head_bytes,
        size_,
        wire_bytes[:count],
        ts > LATEST,
    )
    return packets, int(start[-1] + head_bytes + size_[-1])


def blocks_in(
    window: bytes, position: int, is_all: bool, file_format: Format, end: int | None
) -> tuple[PacketColumns, int] | None:
    """The enhanced packet blocks at the start of a window of a pcapng, and their bytes; None if there are none."""
    heads = struct.Struct(file_format.order + "II").unpack_from
    trailer = struct.Struct(file_format.order + "I").unpack_from
    places: list[int] = []
    lengths: list[int] = []
    at, limit = 0, len(window)
    while at + BLOCK_BYTES <= limit and (end is None or position + at < end):
        kind, length = heads(window, at)
        if kind != ENHANCED_PACKET or length < BLOCK_BYTES or length % 4 or length > MAX_PACKET_BYTES:
            break
        if at + length > limit or trailer(window, at + length - 4)[0] != length:
            break
        places.append(at)
        lengths.append(length)
        at += length
    interfaces = file_format.interfaces
    if not places or not interfaces:
        return None
    start: Numbers = np.array(places)
    block: Numbers = np.array(lengths)
    fields = np.ndarray((limit - 3,), file_format.order + "u4", window, 0, (1,))
    number, high, low, size, wire_bytes = (fields[start + 8 + 4 * field].astype(np.int64) for field in range(5))
    fits = (number < len(interfaces)) & (BLOCK_BYTES + size <= block)
    count = int(fits.size if fits.all() else np.argmin(fits))
    if not count:
        return None
    start, block, number, size = start[:count], block[:count], number[:count], size[:count]
    ticks = high[:count] << 32 | low[:count]
    per_us = np.array([ticks_per_us(one) for one in interfaces])[number]
    later = np.array([one.later_seconds if ticks_per_us(one) else 0 for one in interfaces])[number]
    ts = ticks // np.maximum(per_us, 1) + later * US
    padded = BLOCK_BYTES + (size + 3) // 4 * 4
    alone = (per_us == 0) | (high[:count] >= 1 << 30) | (ts < 0) | (ts > LATEST)
    alone |= block - padded >= MIN_COMMENT_BYTES
    packets = PacketColumns(
        window,
        position,
        file_format.second_before,
        start + position,
        ts,
        np.array([one.link_type for one in interfaces])[number],
        start + BLOCK_HEAD_BYTES,
        size,
        wire_bytes[:count],
        alone,
    )
    return packets, int(start[-1] + block[-1])


def ticks_per_us(interface: Interface) -> int:
    """Ticks a microsecond of an interface's clock; 0 where its times are no whole number of them, or too far away."""
    per_us, rest = divmod(interface.ticks_per_second, US)
    return 0 if rest or per_us >= 1 << 62 or abs(interface.later_seconds) > LATEST // US else per_us
