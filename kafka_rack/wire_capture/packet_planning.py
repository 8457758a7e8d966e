"""A large file of packets planned by many workers, with the blocks that a single walk over it would give.

Each worker reads the packets of a range of bytes. Its first packet is found by headers that lead to each other, and
right if the range before ends there: else all are read once more from where those before them ended. Segments go to
workers by connection, in the file's order. There each connection is walked for itself, and what reading carries along
is written down at every block's start. What connections share is put together from all of them by the packets'
offsets: their numbers, the frames' numbers, which servers are brokers, what the cluster has told.
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Protocol, TypeVar

import msgspec

from kafka_rack.storage import Location
from kafka_rack.wire_capture import frames
from kafka_rack.wire_capture.captures import Options, ResumePoint, beginning, brokers_told, hear
from kafka_rack.wire_capture.connection_walks import (
    Content,
    ResumePointPart,
    Telling,
    WalkSummary,
    ranked,
    walk_connections,
)
from kafka_rack.wire_capture.connections import TcpConnection, TcpConnections, is_forgotten
from kafka_rack.wire_capture.files import CaptureFile, capture_name
from kafka_rack.wire_capture.frames import (
    CapturedConnection,
    Frame,
    ObservedCluster,
    PendingRequest,
    ReadingState,
    kind_of,
)
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_capture.lines import DECODER
from kafka_rack.wire_capture.packet_ranges import (
    ChunkKey,
    PacketRange,
    Pair,
    RangeRead,
    alike,
    cold,
    follows,
    head_of_file,
    ranges_of,
    read_range,
)
from kafka_rack.wire_capture.packets import MAX_SAID_BYTES, Format
from kafka_rack.wire_capture.segments import Endpoint
from kafka_rack.wire_capture.splits import CaptureBlock

MAX_ROUNDS = 4
"""So often is a file read, or its connections are walked, before it is left to a single walk."""
OF_THE_CLUSTER = {"capture", "topic"}
"""What sections' heads say that is about no connection."""
Result = TypeVar("Result")


class Workers(Protocol):
    """Who carries out a plan; what is handed to them pickles."""

    count: int

    def read(
        self, ranges: Sequence[PacketRange], read: Callable[[PacketRange], Iterator[tuple[ChunkKey, bytes]]]
    ) -> list[bytes]:
        """Read ranges and keep their chunks, by worker and in order; gives those of worker number ``count``."""

    def walk(self, walk: Callable[[Iterable[bytes]], Iterator[tuple[int, bytes]]], targets: int) -> list[bytes]:
        """Have each worker walk its chunks, and keep what it says by target; gives what the last target got."""

    def at(self, targets: range, work: Callable[[int, list[bytes]], Result]) -> list[Result]:
        """Do something with what each of some targets got, given its number."""


class SharedPlan(msgspec.Struct):
    """What the connections of a file share, and what was found at the starts of its ranges.

    ``starts``: where the ranges begin as planned; ``frames``: how many frames come before each; ``heard``: what
    sections say, before which packet; ``ranks``: how many frames others have completed before some packets.
    """

    file: CaptureFile
    options: Options
    starts: list[int]
    formats: list[Format | None]
    places: list[int | None]
    frames: list[int]
    creations: list[int]
    servers: dict[Endpoint, int]
    tellings: list[Telling]
    contents: dict[bytes, Content]
    heard: list[tuple[int, list[bytes]]]
    ranks: dict[int, int] = msgspec.field(default_factory=dict)


def plan_packets(
    file: CaptureFile, options: Options, block_bytes: int, workers: Workers, folder: Location
) -> list[CaptureBlock] | None:
    """The blocks of a file of packets; what they carry along is written below ``folder``.

    None where a single walk has to find out: the file cannot be read all the way, or is like no other.
    """
    head = head_of_file(file, options)
    if head is None:
        return None
    file_format, servers = head
    ranges = ranges_of(file, block_bytes, file_format)
    reads = read_all(file, options, ranges, workers)
    if reads is None or not are_plain([said for read in reads for _, said in read.said]):
        return None
    starts = [wanted.number * block_bytes for wanted in ranges]
    summaries = walk_all(file, options, starts, servers, workers)
    if summaries is None:
        return None
    shared = shared_by(file, options, starts, reads, summaries)
    known = known_before(1 << 63, shared)
    if known.is_full or sum(one.asked_bytes for one in summaries) > frames.MAX_ALL_ASKED_BYTES:
        return None  # what there is room for depends on all connections in their order
    waiting = sorted(set().union(*(one.waiting for one in summaries)))
    cuts = [bisect_left(waiting, start) for start in [*starts, 1 << 63]]
    by_block = [waiting[low:high] for low, high in pairwise(cuts)]
    blocks = len(starts)
    for ranks in workers.at(range(blocks, 2 * blocks), partial(ranks_of_block, blocks, shared.frames, by_block)):
        shared.ranks.update(ranks)
    paths = workers.at(range(1, blocks), partial(write_place, shared, folder))
    told = pickle.dumps(brokers_told(known, options))
    found = [(start, path) for start, path in zip(shared.places, [None, *paths], strict=True) if start is not None]
    ends = [start for start, _ in found[1:]] + [file.size]
    first = pickle.dumps(beginning(file, options))
    return [
        CaptureBlock(file, start, end, first if path is None else None, told=told, place_path=path)
        for (start, path), end in zip(found, ends, strict=True)
    ]


def read_all(
    file: CaptureFile, options: Options, ranges: list[PacketRange], workers: Workers
) -> list[RangeRead] | None:
    """Have all packets read, until each range begins where the one before it ends."""
    read = partial(read_range, file, options=options, workers=workers.count)
    for _ in range(MAX_ROUNDS):
        reads = sorted(map(range_read, workers.read(ranges, read)), key=lambda one: one.number)
        if any(one.is_damaged for one in reads):
            return None
        again = corrected(ranges, reads, ranges[0].end)
        if again is None:
            return reads
        ranges = again
    return None


def range_read(packed: bytes) -> RangeRead:
    found: RangeRead = pickle.loads(packed)  # noqa: S301 - our own
    return found


def corrected(ranges: Sequence[PacketRange], reads: Sequence[RangeRead], range_bytes: int) -> list[PacketRange] | None:
    """The ranges with the starts and formats that those before them ended with; None if they had these.

    Behind one whose format was another than was thought, ranges begin as at first, with that format.
    """
    changed: Format | None = None
    before, again, are_right = reads[0], [ranges[0]], True
    for wanted, read in zip(ranges[1:], reads[1:], strict=True):
        if changed is None and before.format is not None and not alike(before.format, wanted.format):
            changed = before.format
            again.append(PacketRange(wanted.number, before.end, wanted.end, changed, is_exact=True))
        elif changed is not None and not alike(changed, wanted.format):
            start = wanted.number * range_bytes
            again.append(PacketRange(wanted.number, start, wanted.end, cold(changed), is_exact=False))
        else:
            again.append(PacketRange(wanted.number, before.end, wanted.end, before.format, is_exact=True))
        if read.start is None:
            are_right = are_right and before.end >= wanted.end
        else:
            are_right = are_right and follows(before, wanted, read)
            before = read
    return None if are_right else again


def are_plain(said: Iterable[list[bytes]]) -> bool:
    """Whether sections' heads say only what does not change connections, and not too much."""
    size = 0
    for one in (one for several in said for one in several):
        size += len(one)
        try:
            line = DECODER.decode(one)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if line.conn is not None and line.ev not in OF_THE_CLUSTER:
            return False
    return size <= MAX_SAID_BYTES


def walk_all(
    file: CaptureFile, options: Options, starts: list[int], servers: dict[Endpoint, int], workers: Workers
) -> list[WalkSummary] | None:
    """Have all connections walked, until they show the brokers that each of them was told of."""
    for _ in range(MAX_ROUNDS):
        walk = partial(walk_connections, file=file, options=options, starts=starts, servers=servers)
        summaries: list[WalkSummary] = [
            pickle.loads(packed)  # noqa: S301 - our own
            for packed in workers.walk(walk, 2 * len(starts) + 1)
        ]
        shown: dict[Endpoint, int] = {}
        for one in summaries:
            for server, offset in one.servers.items():
                shown[server] = min(offset, shown.get(server, offset))
        if shown == servers or options.ports:
            return summaries
        servers = shown
    return None


def shared_by(
    file: CaptureFile, options: Options, starts: list[int], reads: Sequence[RangeRead], summaries: Sequence[WalkSummary]
) -> SharedPlan:
    """What all connections share, but for the ranks of frames."""
    formats: list[Format | None] = [None]
    strange: list[int] = []
    before = reads[0]
    for read in reads[1:]:
        assert before.format is not None
        strange = [*strange, *(one for one in before.format.strange_links if one not in strange)]
        formats.append(msgspec.structs.replace(before.format, strange_links=strange))
        before = read if read.start is not None else before
    counts = [sum(counts) for counts in zip(*(one.frames for one in summaries), strict=True)]
    contents: dict[bytes, Content] = {}
    servers: dict[Endpoint, int] = {}
    for one in summaries:
        contents |= one.contents
        for server, offset in one.servers.items():
            servers[server] = min(offset, servers.get(server, offset))
    heard = [one for read in reads for one in read.said]
    tellings = without_repeats(sorted(told for one in summaries for told in one.tellings), [at for at, _ in heard])
    creations = sorted(offset for one in summaries for offset in one.creations)
    frames = [0, *accumulate(counts)][:-1]
    places = [read.start for read in reads]
    return SharedPlan(file, options, starts, formats, places, frames, creations, servers, tellings, contents, heard)


def without_repeats(tellings: Iterable[Telling], heard: Sequence[int]) -> list[Telling]:
    """What tells the same as the one before it tells nothing, unless a section's head stands between."""
    kept: list[Telling] = []
    for one in tellings:
        if kept and kept[-1].content == one.content:
            between = bisect_right(heard, kept[-1].trigger) < bisect_right(heard, one.trigger)
            if not between:
                continue
        kept.append(one)
    return kept


def ranks_of_block(
    blocks: int, frames: Sequence[int], waiting: Sequence[Sequence[int]], target: int, parts: list[bytes]
) -> dict[int, int]:
    """Of the packets that completed requests which wait at some block's start, how many frames there were before."""
    number = target - blocks
    return {trigger: frames[number] + rank for trigger, rank in ranked(parts, waiting[number])}


def write_place(shared: SharedPlan, folder: Location, number: int, parts: list[bytes]) -> str | None:
    """Put together what reading carries along at a block's start; gives where it has been written."""
    if shared.places[number] is None:
        return None
    place = place_of(shared, number, parts)
    path = folder / f"place-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(place))
    return str(path)


def place_of(shared: SharedPlan, number: int, parts: Iterable[bytes]) -> ResumePoint:
    """The place at a block's start, as a single walk would have it."""
    at, start, options = shared.starts[number], shared.places[number], shared.options
    assert start is not None
    state = ReadingState(
        capture_name(shared.file.path),
        shared.frames[number],
        start // frames.CHECK_BYTES,
        known=known_before(at, shared),
    )
    servers = {server: offset for server, offset in shared.servers.items() if offset < at}
    traffic = TcpConnections(state, options.ports, options.given, servers=servers)
    traffic.numbers = bisect_left(shared.creations, at)
    found: list[tuple[ResumePointPart, Pair, TcpConnection]] = []
    for packed in parts:
        part: ResumePointPart = pickle.loads(packed)  # noqa: S301 - our own
        found += [(part, *one) for one in part.conversations if not is_forgotten(one[1], start)]
    for part, ends, conversation in sorted(found, key=lambda one: one[2].offset):
        traffic.conversations[ends] = conversation
        if conversation.number < 0:
            conversation.number = bisect_left(shared.creations, -conversation.number) + 1
        connection = conversation.connection
        if connection is not None:
            connection.number = conversation.number
            state.connections[connection.number] = connection
            for asked in connection.asked.values():
                if asked.frame >= 0:
                    trigger, within = part.waiting[asked.frame]
                    asked.frame = shared.ranks[trigger] + within
    closed = [(one.closed_at, ends) for ends, one in traffic.conversations.items() if one.closed_at is not None]
    traffic.closed = {ends: closed_at for closed_at, ends in sorted(closed)}
    said = [one for offset, several in shared.heard if offset < at for one in several]
    return ResumePoint(start, state=state, traffic=traffic, format=shared.formats[number], said=said)


def known_before(offset: int, shared: SharedPlan) -> ObservedCluster:
    """What frames and sections have told by the packet at an offset."""
    place = beginning(shared.file, shared.options)
    known = place.state.known
    heard = iter([*shared.heard, (1 << 64, [])])
    hears_at, said = next(heard)
    for told in shared.tellings:
        while hears_at <= told.trigger and hears_at < offset:
            place.said += said
            hear(place, shared.options)
            hears_at, said = next(heard)
        if told.trigger >= offset:
            break
        is_request, head, data = shared.contents[told.content]
        asked = PendingRequest(0, 0, 0, data if is_request else b"", kind_of(head))
        learn_from(Frame(0, 0, CapturedConnection(0), is_request, data, asked, 0), known)
    while hears_at < offset:
        place.said += said
        hear(place, shared.options)
        hears_at, said = next(heard)
    return known
