"""The frames of a capture file, of whatever kind, from its start or from a place that was planned before."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from kafka_rack.wire_capture.connections import TcpConnections
from kafka_rack.wire_capture.files import CaptureFile, DamagedCapture, DecompressedFile, capture_name
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.forms import form_of
from kafka_rack.wire_capture.frames import Frame, ObservedCluster, Problem, ReadingState, TakeFrames, TakeMany, no_frame
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_capture.lines import DECODER, event
from kafka_rack.wire_capture.packets import MAX_SAID_BYTES, Format, Packet, read_format, read_packets
from kafka_rack.wire_capture.segments import Endpoint, segment_in

if TYPE_CHECKING:
    from kafka_rack.wire_capture.segment_columns import SegmentColumns

FRAMES_TOGETHER = 5_000
"""Of those that are kept, that go together."""
MAX_KEPT_BYTES = 64 << 20
"""Of a file's frames that are kept in memory instead of reading the file twice."""


class Options(msgspec.Struct, frozen=True):
    """What a user may say about packets: the brokers' ports, and which broker listens where.

    ``brokers``: (broker id, rack or None, host or None, port).
    """

    ports: frozenset[int] = frozenset()
    brokers: tuple[tuple[int, str | None, str | None, int], ...] = ()

    @classmethod
    def parse(cls, ports: str | None, brokers: str | None) -> Options:
        """Read ``9092,9093`` and ``0@az-a=host:9092,1@az-b=:9093``. Raises ValueError.

        >>> Options.parse(None, "0@az-a=:9092").brokers
        ((0, 'az-a', None, 9092),)
        """
        known = []
        for text in filter(None, (part.strip() for part in (brokers or "").split(","))):
            name, equals, address = text.partition("=")
            number, _, rack = name.partition("@")
            host, colon, port = address.rpartition(":")
            if not (equals and colon and number.isdecimal() and int(number) < 1 << 31 and is_port(port)):
                raise ValueError(f"brokers: expected ID[@RACK]=[HOST]:PORT, got {text!r}")
            known.append((int(number), rack or None, host.strip("[]") or None, int(port)))
        numbers = [part.strip() for part in (ports or "").split(",") if part.strip()]
        if not all(map(is_port, numbers)):
            raise ValueError(f"ports: expected numbers between commas, as 9092,9093, got {ports!r}")
        return cls(frozenset([*map(int, numbers)]), tuple(known))

    @property
    def given(self) -> dict[Endpoint, tuple[int, str | None]]:
        """(host or nothing, port) -> broker id and rack."""
        return {(host or "", port): (broker, rack) for broker, rack, host, port in self.brokers}

    def known(self) -> ObservedCluster:
        known = ObservedCluster()
        for broker, rack, host, port in self.brokers:
            if rack is not None:
                known.racks[broker] = rack
            known.endpoints[host or "", port] = broker
        return known


def is_port(text: str) -> bool:
    return text.isdecimal() and 0 < int(text) < 65536


class ResumePoint(msgspec.Struct):
    """A place in a file that reading can begin at. ``traffic``, ``format`` and ``said`` are for packets.

    ``said`` is what kafka-rack's own captures say of the cluster at their heads. ``by_checkpoints``, but not of
    packets: the state comes from the file's own checkpoints, and reading goes on to the first at its end or later;
    ``from_checkpoint``: it begins with the first one too. ``wanted``: only what has times within these is.
    ``told``, for packets: what all of the file tells of the brokers, since nothing else does.
    """

    start: int = 0
    by_checkpoints: bool = False
    from_checkpoint: bool = False
    wanted: FrameFilters | None = None
    state: ReadingState = msgspec.field(default_factory=ReadingState)
    traffic: TcpConnections | None = None
    format: Format | None = None
    said: list[bytes] = msgspec.field(default_factory=list)
    told: ObservedCluster | None = None

    def hear_of_brokers(self, told: ObservedCluster) -> None:
        """Take what a file of packets tells of the brokers, at any place, as if it had been known from the start."""
        known = self.state.known
        racks, known.racks = known.racks, dict(told.racks)
        for broker, rack in racks.items():
            known.name_rack(broker, rack)
        known.endpoints = told.endpoints | known.endpoints
        self.told = told
        if self.traffic is not None:
            self.traffic.told = told
            for connection in self.state.connections.values():
                self.traffic.name_broker(connection)


def beginning(file: CaptureFile, options: Options) -> ResumePoint:
    """The start of a file, where nothing is known but what the user says."""
    return ResumePoint(state=ReadingState(capture_name(file.path), known=options.known()))


def brokers_told(known: ObservedCluster, options: Options) -> ObservedCluster:
    """What a file has told of the brokers by its end, and above it what the user says."""
    given = options.known()
    return ObservedCluster(racks={**known.racks, **given.racks}, endpoints={**known.endpoints, **given.endpoints})


def hear(place: ResumePoint, options: Options) -> None:
    """Take what a capture of kafka-rack's own says of the cluster; what the user says stands above it."""
    state = place.state
    for one in place.said:
        try:
            event(DECODER.decode(one), state)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    known = options.known()
    state.known.racks.update(known.racks)
    state.known.endpoints.update(known.endpoints)


def whole_file(
    file: CaptureFile,
    options: Options,
    problems: list[Problem],
    end: int | None = None,
    take_frames: TakeFrames | None = None,
) -> tuple[ResumePoint, Iterator[Frame]]:
    """The start of a file, as :func:`beginning` has it, and its frames.

    Of packets they are kept until all have told of the brokers, so that a file is read once; a large one is read again.

    Args:
        take_frames: as in :func:`read_frames`.
    """
    if file.kind != "packets":
        place = beginning(file, options)
        return place, read_frames(file, place, options, problems, end)
    place = beginning(file, options)
    state = place.state
    found: list[Problem] = []
    kept: list[Frame] = []
    kept_bytes = 0
    for frame in read_frames(file, place, options, found, end):
        learn_from(frame, state.known)
        kept_bytes += len(frame.data)
        if kept_bytes <= MAX_KEPT_BYTES:
            kept.append(frame)
        elif kept:
            kept = []
    told = brokers_told(state.known, options)
    if kept_bytes > MAX_KEPT_BYTES:
        place = beginning(file, options)
        place.hear_of_brokers(told)
        return place, read_frames(file, place, options, problems, end, take_frames=take_frames)
    problems += found
    state.known = options.known()
    place.hear_of_brokers(told)
    hear(place, options)
    assert place.traffic is not None
    for connection in {frame.connection.number: frame.connection for frame in kept}.values():
        place.traffic.name_broker(connection)
    return place, iter(kept) if take_frames is None else given_together(kept, take_frames)


def given_together(kept: list[Frame], take_frames: TakeFrames) -> Iterator[Frame]:
    """Frames given away; in the place of many comes one that is none."""
    for at in range(0, len(kept), FRAMES_TOGETHER):
        take_frames(kept[at : at + FRAMES_TOGETHER])
        yield no_frame()


def read_frames(
    file: CaptureFile,
    place: ResumePoint,
    options: Options,
    problems: list[Problem],
    end: int | None = None,
    take_many: TakeMany | None = None,
    take_frames: TakeFrames | None = None,
) -> Iterator[Frame]:
    """The frames from ``place`` to before ``end``; the place goes along and stands at the end afterwards.

    A frame with index -1 is none: it only brings the requests that a connection's end leaves without an answer.

    Args:
        take_many: is given lines or rows before their frames come one by one; see :func:`.lines.read_lines`.
        take_frames: is given frames of packets that come many at once, of a place that knows the file's brokers, so
            that it does not matter when frames are learned from. A frame that is none comes in their place.
    """
    if file.compressed:
        end = None  # its size says nothing about the bytes inside, and it is read whole
    if file.kind != "packets":
        place.start = yield from line_frames(file, place, options, problems, end, take_many)
    else:
        place.start = yield from packet_frames(file, place, options, problems, end, take_frames)


def line_frames(
    file: CaptureFile,
    place: ResumePoint,
    options: Options,
    problems: list[Problem],
    end: int | None,
    take_many: TakeMany | None,
) -> Generator[Frame, None, int]:
    form = form_of(file.kind)
    if not place.by_checkpoints or end is None:
        read = partial(form.read, given=options.known(), can_go_back=not file.compressed, take_many=take_many)
        return (yield from read(file.path, place.state, problems, place.start, end))
    if not stand_at_checkpoint(file, place, options, end):
        return place.start
    at = place.start
    for start, checkpoint_from in wanted_parts(file, at, end, place.wanted):
        at = yield from form.read(
            file.path,
            place.state,
            problems,
            start,
            file.size,
            checkpoint_from=checkpoint_from,
            given=options.known(),
            take_many=take_many,
        )
    return at


def wanted_parts(file: CaptureFile, start: int, end: int, wanted: FrameFilters | None) -> Iterator[tuple[int, int]]:
    """Where to read from, and from where on the next checkpoint ends that: all, or what may hold wanted times."""
    if wanted is None:
        yield start, end
        return
    while start < end:
        found = form_of(file.kind).next_checkpoint(file.path, start + 1, file.size)
        if found is None:
            yield start, end
            return
        following, checkpoint = found
        if checkpoint.after > start or wanted.may_want(checkpoint.t_min, checkpoint.t_max):
            yield start, following
        start = following


def stand_at_checkpoint(file: CaptureFile, place: ResumePoint, options: Options, end: int) -> bool:
    """Bring a place to where its frames begin, with the state that they need; False where none are its own."""
    form = form_of(file.kind)
    place.state.capture, place.state.known = capture_name(file.path), options.known()
    if not place.start:
        return True
    if place.from_checkpoint:
        found = form.next_checkpoint(file.path, place.start, end)
        place.start = found[0] if found is not None else end
        return found is not None
    before = form.last_checkpoint(file.path, place.start) or 0
    for frame in form.read(file.path, place.state, [], before, place.start, given=options.known()):
        learn_from(frame, place.state.known)
    place.state.known.full_at.clear()  # told by who reads them
    return True


def packet_frames(
    file: CaptureFile,
    place: ResumePoint,
    options: Options,
    problems: list[Problem],
    end: int | None,
    take_frames: TakeFrames | None = None,
) -> Generator[Frame, None, int]:
    path, capture = file.path, place.state.capture
    if place.traffic is None:
        place.traffic = TcpConnections(place.state, options.ports, options.given, place.told)
    traffic = place.traffic
    damaged: list[tuple[int, str]] = []
    at_the_end = end is None or end >= file.size
    position = place.start
    try:
        with DecompressedFile(path, position) as source:
            if place.format is None:
                place.format = read_format(source)
            for packet in packet_reader()(source, place.format, None if at_the_end else end, damaged):
                if place.format.said:
                    if sum(map(len, place.said)) + sum(map(len, place.format.said)) <= MAX_SAID_BYTES:
                        place.said += place.format.said
                    else:
                        reason = f"what sections say of their own is more than {MAX_SAID_BYTES} bytes, and not read"
                        damaged.append((packet.offset if isinstance(packet, Packet) else packet.position, reason))
                    place.format.said = []
                    hear(place, options)
                if not isinstance(packet, Packet):
                    completed = frames_of_many(packet, traffic, problems, path)
                    if take_frames is None or traffic.told is None:
                        yield from completed
                    else:
                        take_frames([*completed])
                        yield no_frame()
                    continue
                segment = segment_in(packet, place.format, damaged)
                if segment is not None:
                    yield from traffic.take(segment, problems, path)
            position = source.position
            if not at_the_end:
                yield from traffic.pass_offset(position, problems, path)
            if end is not None and position < end:
                damaged.append((position, f"the file has become shorter: it had {file.size} bytes when it was found"))
    except DamagedCapture as damage:
        position, at_the_end = damage.offset, True
        damaged.append((damage.offset, damage.reason))
    problems += [Problem(capture, path, offset, reason) for offset, reason in damaged]
    if at_the_end:
        yield from traffic.finish(problems, path)
    return position


PacketReader = Callable[
    [DecompressedFile, Format, int | None, list[tuple[int, str]]], "Iterator[Packet | SegmentColumns]"
]


def packet_reader() -> PacketReader:
    """What reads plain packets many at once where there is numpy, else one after the other."""
    try:
        from kafka_rack.wire_capture.packet_columns import read_many
    except ImportError:
        return read_packets
    return read_many


def frames_of_many(
    segments: SegmentColumns, traffic: TcpConnections, problems: list[Problem], path: str
) -> Iterator[Frame]:
    """The frames that many segments complete."""
    from kafka_rack.wire_capture.plain_segments import take_many

    for _, completed in take_many(traffic, segments, problems, path):
        yield from completed
