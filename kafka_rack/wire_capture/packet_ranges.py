"""The packets of a range of a file, as segments on their way to those who walk their connections."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from kafka_rack.wire_capture.captures import Options, beginning, packet_reader, read_frames
from kafka_rack.wire_capture.files import CaptureFile, DamagedCapture, DecompressedFile
from kafka_rack.wire_capture.packets import Format, Packet, find_packets, near, read_format
from kafka_rack.wire_capture.segments import Endpoint, TcpSegment, segment_in

if TYPE_CHECKING:
    from kafka_rack.wire_capture.segment_columns import SegmentColumns

HEAD_BYTES = 4 << 20
"""Of a file, that are read for its interfaces and for the brokers that it shows early."""
CHUNK_BYTES, CHUNK_SEGMENTS = 1 << 18, 4_000
"""Of one worker's segments, that go there together."""
SEGMENT = Struct("<qqqIIIIB")
"""Offset, time, size, sequence number, bytes kept, bytes said, number of its ends, flags."""
Pair = tuple[Endpoint, Endpoint]
ChunkKey = tuple[int, int, int]
"""Which worker's, of which range, which of these."""


class PacketRange(msgspec.Struct):
    """Bytes whose packets one worker reads: those that begin at ``start`` or later and before ``end``.

    ``format``: what the file has said by then, None at its beginning; ``is_exact``: a packet begins at ``start``.
    """

    number: int
    start: int
    end: int
    format: Format | None
    is_exact: bool


class RangeRead(msgspec.Struct):
    """What was found: where the first packet of the range and the first one behind it begin, and the latter's format.

    ``start`` is None where none begins in the range, ``said`` what sections said of their own, before which packet.
    """

    number: int
    start: int | None = None
    end: int = 0
    first_second: int | None = None
    format: Format | None = None
    said: list[tuple[int, list[bytes]]] = msgspec.field(default_factory=list)
    is_damaged: bool = False


def head_of_file(file: CaptureFile, options: Options) -> tuple[Format, dict[Endpoint, int]] | None:
    """The format behind a file's head, and the brokers that it shows; None if it cannot be read."""
    place = beginning(file, options)
    for _ in read_frames(file, place, options, [], min(HEAD_BYTES, file.size - 1)):
        pass
    if place.format is None or place.traffic is None:
        return None
    return place.format, place.traffic.servers


def ranges_of(file: CaptureFile, block_bytes: int, file_format: Format) -> list[PacketRange]:
    """The ranges to begin with; only of the first it is known where its packets begin."""
    starts = range(0, file.size, block_bytes)
    found = cold(file_format)
    return [
        PacketRange(number, start, min(start + block_bytes, file.size), found if start else None, not start)
        for number, start in enumerate(starts)
    ]


def cold(file_format: Format) -> Format:
    """What the file has said by a place of which it is not known what came right before."""
    return msgspec.structs.replace(file_format, second=None, second_before=0, strange_links=[], said=[])


def alike(one: Format, other: Format | None) -> bool:
    """Whether packets are read the same way by two formats, whatever time it is."""
    if other is None:
        return False
    return (one.order, one.is_next_generation, one.interfaces) == (
        other.order,
        other.is_next_generation,
        other.interfaces,
    )


def follows(before: RangeRead, wanted: PacketRange, read: RangeRead) -> bool:
    """Whether a range was read as who had read all before it would have: the format's clock included."""
    told, used = before.format, wanted.format
    if told is None or used is None or read.start != before.end:
        return False
    if not alike(told, used) or told.said != used.said:
        return False
    if (told.second, told.second_before) == (used.second, used.second_before):
        return True
    if told.is_next_generation:
        return True
    first = read.first_second
    if used.second is not None or told.second is None or first is None:
        return False
    return near(first, told.second) or near(first, told.second_before)


def read_range(
    file: CaptureFile, wanted: PacketRange, options: Options, workers: int
) -> Iterator[tuple[ChunkKey, bytes]]:
    """A range's segments in chunks for those who have their connections, and behind them all a RangeRead."""
    read = RangeRead(wanted.number, end=wanted.start, format=wanted.format)
    try:
        with DecompressedFile(file.path, wanted.start) as source:
            yield from segments_of_range(source, wanted, read, options, workers, file.size)
    except DamagedCapture:
        read.is_damaged = True
    yield (workers, wanted.number, 0), pickle.dumps(read)


def segments_of_range(
    source: DecompressedFile, wanted: PacketRange, read: RangeRead, options: Options, workers: int, size: int
) -> Iterator[tuple[ChunkKey, bytes]]:
    file_format = read_format(source) if wanted.format is None else msgspec.structs.replace(wanted.format)
    file_format.strange_links, file_format.said = list(file_format.strange_links), list(file_format.said)
    file_format.interfaces = list(file_format.interfaces)
    read.format = file_format
    if not wanted.is_exact and not find_packets(source, file_format):
        return
    if source.position >= wanted.end:
        return
    read.start = wanted.start if wanted.format is None else source.position
    chunks = SegmentBuffers(wanted.number, options, workers)
    damaged: list[tuple[int, str]] = []
    last = None if wanted.end >= size else wanted.end
    for packet in packet_reader()(source, file_format, last, damaged):
        if read.first_second is None:
            read.first_second = file_format.second_before if isinstance(packet, Packet) else packet.first_second
        if file_format.said:
            read.said.append((packet.offset if isinstance(packet, Packet) else packet.position, file_format.said))
            file_format.said = []
        if not isinstance(packet, Packet):
            damaged.clear()
            yield from chunks.add_many(packet)
            continue
        segment = segment_in(packet, file_format, damaged)
        damaged.clear()
        if segment is not None:
            yield from chunks.add(segment)
    yield from chunks.rest()
    read.end = source.position


class SegmentBuffers:
    """Segments on their way to those who have their connections."""

    def __init__(self, number: int, options: Options, workers: int) -> None:
        self.number, self.ports, self.workers = number, options.ports, workers
        self.worker_of: dict[Pair, int] = {}
        self.open: list[SegmentBuffer] = [SegmentBuffer() for _ in range(workers)]

    def worker(self, ends: Pair) -> int:
        """Whose connection it is that has these ends."""
        worker = self.worker_of.get(ends)
        if worker is None:
            if len(self.worker_of) > 100_000:
                self.worker_of.clear()
            worker = self.worker_of[ends] = crc32(repr(min(ends, ends[::-1])).encode()) % self.workers
        return worker

    def is_wanted(self, ends: Pair) -> bool:
        """Whether anybody looks at what is sent between two ends."""
        return not self.ports or ends[0][1] in self.ports or ends[1][1] in self.ports

    def add_many(self, segments: SegmentColumns) -> Iterator[tuple[ChunkKey, bytes]]:
        """Take segments that come many at once; gives their chunks, behind those of the segments before."""
        from kafka_rack.wire_capture.segment_columns import packed_by_worker

        for worker, packed in packed_by_worker(segments, self.worker, self.is_wanted):
            chunk = self.open[worker]
            if chunk.data:
                yield (worker, self.number, chunk.count), chunk.packed()
            yield (worker, self.number, chunk.count), packed
            chunk.begin()

    def add(self, segment: TcpSegment) -> Iterator[tuple[ChunkKey, bytes]]:
        """Take a segment; gives the chunk that it fills."""
        ends = segment.source, segment.target
        worker = self.worker(ends)
        if not self.is_wanted(ends):
            segment = segment._replace(data=b"")  # nobody looks at it
        chunk = self.open[worker]
        chunk.add(segment, ends)
        if chunk.size >= CHUNK_BYTES or len(chunk.data) >= CHUNK_SEGMENTS:
            yield (worker, self.number, chunk.count), chunk.packed()

    def rest(self) -> Iterator[tuple[ChunkKey, bytes]]:
        for worker, chunk in enumerate(self.open):
            if chunk.data:
                yield (worker, self.number, chunk.count), chunk.packed()


class SegmentBuffer:
    """Segments that are not packed yet; ``count`` is that of the chunks before them."""

    def __init__(self) -> None:
        self.count = -1
        self.begin()

    def begin(self) -> None:
        self.count += 1
        self.size = 0
        self.ends: dict[Pair, int] = {}
        self.heads: list[bytes] = []
        self.data: list[bytes] = []

    def add(self, segment: TcpSegment, ends: Pair) -> None:
        offset, ts, _, _, sequence, flags, data, size, said = segment
        number = self.ends.setdefault(ends, len(self.ends))
        self.heads.append(SEGMENT.pack(offset, ts, size, sequence, len(data), len(said), number, flags))
        self.data.append(data + said if said else data)
        self.size += len(data) + len(said)

    def packed(self) -> bytes:
        """All of them as bytes; and none are left."""
        packed = pickle.dumps((list(self.ends), b"".join(self.heads), b"".join(self.data)))
        self.begin()
        return packed


def segments_in(chunk: bytes) -> Iterator[TcpSegment]:
    ends, heads, data = pickle.loads(chunk)  # noqa: S301 - our own
    at = 0
    for offset, ts, size, sequence, kept, said, number, flags in SEGMENT.iter_unpack(heads):
        source, target = ends[number]
        middle = at + kept
        yield TcpSegment(
            offset, ts, source, target, sequence, flags, data[at:middle], size, data[middle : middle + said]
        )
        at = middle + said
