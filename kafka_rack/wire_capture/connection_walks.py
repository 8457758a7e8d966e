"""Connections of a file of packets, each walked for itself, and what of them all of the file's have to know."""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from kafka_rack.wire_capture import frames
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.connections import TcpConnection, TcpConnections
from kafka_rack.wire_capture.files import CaptureFile, capture_name
from kafka_rack.wire_capture.frames import Frame, Problem, ReadingState
from kafka_rack.wire_capture.learning import TELLING_REQUESTS, TELLING_RESPONSES
from kafka_rack.wire_capture.packet_ranges import Pair, segments_in
from kafka_rack.wire_capture.segments import Endpoint, TcpSegment

AT_THE_END = 1 << 62
"""Added to the offset of its connection's first packet, for a frame that is known when no more packets come."""


class Telling(NamedTuple):
    """A frame that tells of the cluster, by the packet that completes it; ``content`` is a digest."""

    trigger: int
    within: int
    content: bytes


class Content(NamedTuple):
    """What frames of one content have: the request's head, and the frame with a correlation id of 0."""

    is_request: bool
    head: bytes
    data: bytes


class WalkSummary(msgspec.Struct):
    """What one worker's connections bring to what all share. ``frames``: how many, by block.

    ``asked_bytes``: the most that requests without an answer took where that is looked at.
    """

    creations: array[int]
    servers: dict[Endpoint, int]
    tellings: list[Telling]
    contents: dict[bytes, Content]
    waiting: set[int]
    frames: list[int]
    asked_bytes: int = 0


class ResumePointPart(msgspec.Struct):
    """What one worker's connections bring to the place at a block's start.

    ``waiting``: of each request without an
    answer, by its number here, the packet that completed it and its number among those that did.
    """

    conversations: list[tuple[Pair, TcpConnection]]
    waiting: dict[int, tuple[int, int]]


def walk_connections(
    chunks: Iterable[bytes],
    file: CaptureFile,
    options: Options,
    starts: Sequence[int],
    servers: dict[Endpoint, int],
) -> Iterator[tuple[int, bytes]]:
    """Walk the connections of one worker: of each of n blocks their ResumePointPart as number 0 to n, the packets that
    completed their frames as n to 2n, and a WalkSummary as number 2n.

    Args:
        chunks: in the file's order.
        starts: where the blocks begin, or a packet soon behind.
        servers: the brokers, and where it shows that they are.
    """
    walk = ConnectionWalk(file, options, servers, len(starts))
    for chunk in chunks:
        yield from walk.take_chunk(chunk, starts)
    while walk.block + 1 < len(starts):
        yield from walk.next_block()
    yield walk.block + len(starts), walk.end_block()
    walk.finish()
    yield 2 * len(starts), pickle.dumps(walk.summary)


class ConnectionWalk:
    """Connections that are walked for themselves.

    Their numbers are the negative offsets of their first packets here, and frames are counted among their own.
    """

    def __init__(self, file: CaptureFile, options: Options, servers: dict[Endpoint, int], blocks: int) -> None:
        self.path, self.blocks = file.path, blocks
        self.state = ReadingState(capture_name(file.path), known=options.known())
        self.traffic = TcpConnections(self.state, options.ports, options.given, servers_elsewhere=servers)
        self.summary = WalkSummary(array("q"), self.traffic.servers, [], {}, set(), [])
        self.told: dict[bytes, Telling] = {}
        self.problems: list[Problem] = []
        self.block = 0
        self.first_frame = 0
        self.triggers = array("q")
        self.waiting: dict[int, tuple[int, int]] = {}

    def take_chunk(self, chunk: bytes, starts: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Take a chunk's segments, many at once where there is numpy; gives what is told of blocks that end there."""
        try:
            from kafka_rack.wire_capture.plain_segments import take_many
            from kafka_rack.wire_capture.segment_columns import columns_in
        except ImportError:
            for segment in segments_in(chunk):
                while self.block + 1 < len(starts) and segment.offset >= starts[self.block + 1]:
                    yield from self.next_block()
                for frame in self.take(segment):
                    self.note(frame, segment.offset)
            return
        segments = columns_in(chunk)
        row, count = 0, len(segments.offset)
        while row < count:
            while self.block + 1 < len(starts) and segments.offset[row] >= starts[self.block + 1]:
                yield from self.next_block()
            end = bisect_left(segments.offset, starts[self.block + 1]) if self.block + 1 < len(starts) else count
            rows = range(row, end)
            for offset, completed in take_many(self.traffic, segments, self.problems, self.path, rows, self.take):
                for frame in completed:
                    self.note(frame, offset)
            self.problems.clear()
            row = end

    def take(self, segment: TcpSegment) -> Iterator[Frame]:
        """The frames that a segment completes."""
        traffic, offset = self.traffic, segment.offset
        part = offset // frames.CHECK_BYTES
        if part != self.state.checked:  # what all have together is not known here, so nothing is given up
            self.state.checked = part
            self.summary.asked_bytes = max(self.summary.asked_bytes, self.state.asked_bytes)
        traffic.numbers = before = -offset - 1
        yield from traffic.take(segment, self.problems, self.path)
        if traffic.numbers != before:
            self.summary.creations.append(offset)
        self.problems.clear()

    def note(self, frame: Frame, trigger: int) -> None:
        if frame.index < 0:
            return
        self.triggers.append(trigger)
        asked = frame.asked
        if asked is None or asked.kind.api_key not in (TELLING_REQUESTS if frame.is_request else TELLING_RESPONSES):
            return
        at = 4 if frame.is_request else 0
        data = frame.data[:at] + bytes(4) + frame.data[at + 4 :]
        content = Content(frame.is_request, asked.kind.head, data)
        digest = blake2b(pickle.dumps(tuple(content)), digest_size=16).digest()
        self.summary.contents.setdefault(digest, content)
        # Of frames that tell the same only the last of a block counts, behind all that others told in between.
        self.told[digest] = Telling(trigger, self.within(len(self.triggers) - 1), digest)

    def within(self, index: int) -> int:
        """How many frames the same packet had completed before one of this block's."""
        first = index
        while first and self.triggers[first - 1] == self.triggers[index]:
            first -= 1
        return index - first

    def next_block(self) -> Iterator[tuple[int, bytes]]:
        """What is to be told of the block that ends, and of where the next begins."""
        waiting = {}
        for found in self.traffic.conversations.values():
            for asked in () if found.connection is None else found.connection.asked.values():
                if asked.frame >= self.first_frame:
                    index = asked.frame - self.first_frame
                    waiting[asked.frame] = self.triggers[index], self.within(index)
                elif asked.frame >= 0:
                    waiting[asked.frame] = self.waiting[asked.frame]
        self.waiting = waiting
        self.summary.waiting.update(trigger for trigger, _ in waiting.values())
        yield self.block + self.blocks, self.end_block()
        self.block += 1
        yield self.block, pickle.dumps(ResumePointPart([*self.traffic.conversations.items()], waiting))

    def end_block(self) -> bytes:
        """The packets that completed the frames of the block that ends."""
        self.tell()
        self.summary.frames.append(len(self.triggers))
        self.first_frame += len(self.triggers)
        packed, self.triggers = self.triggers.tobytes(), array("q")
        return packed

    def finish(self) -> None:
        """What connections still held tells of the cluster too."""
        for found in self.traffic.conversations.values():
            for frame in self.traffic.end(found, self.problems, self.path):
                self.note(frame, AT_THE_END + found.offset)
            self.problems.clear()
        self.tell()

    def tell(self) -> None:
        self.summary.tellings += self.told.values()
        self.told.clear()


def ranked(parts: Iterable[bytes], triggers: Sequence[int]) -> list[tuple[int, int]]:
    """Of some packets how many frames others have completed before them, within one block.

    Args:
        parts: of each worker, in order, the packets that completed its frames of the block.
    """
    arrays = [longs(part) for part in parts]
    return [(trigger, sum(bisect_left(one, trigger) for one in arrays)) for trigger in triggers]


def longs(packed: bytes) -> array[int]:
    found = array("q")
    found.frombytes(packed)
    return found
