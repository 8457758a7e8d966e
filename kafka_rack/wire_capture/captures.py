"""The frames of a capture file of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from kafka_rack.wire_capture.connections import LINGER_BYTES, PartialFrame, TcpConnection, TcpConnections
from kafka_rack.wire_capture.files import CaptureFile, DamagedCapture, DecompressedFile, capture_name, scope_of
from kafka_rack.wire_capture.frames import (
    MAX_ASKED,
    MAX_ASKED_BYTES,
    CapturedConnection,
    Frame,
    ObservedCluster,
    PendingRequest,
    Problem,
    ReadingState,
    acks_of,
    kind_of,
)
from kafka_rack.wire_capture.learning import learn_from
from kafka_rack.wire_capture.lines import read_lines
from kafka_rack.wire_capture.packets import Format, read_format, read_packets
from kafka_rack.wire_capture.reassembly import Direction, InOrderBytes
from kafka_rack.wire_capture.segments import TAGGED, UNTAGGED, segment_in
from protocol.backends import core

MAX_KEPT_BYTES = 64 << 20
"""Limit of the frames that are stored in memory; a file with more is read twice."""


class Options(msgspec.Struct, frozen=True):
    """The user's facts about packets: the brokers' ports and addresses.

    ``brokers``: (broker id, rack or None, host or None, port).
    """

    ports: frozenset[int] = frozenset()
    brokers: tuple[tuple[int, str | None, str | None, int], ...] = ()

    @classmethod
    def parse(cls, ports: str | None, brokers: str | None) -> Options:
        """Read ``9092,9093`` and ``0:az-a=host:9092,1:az-b=:9093``. Raises ValueError.

        >>> Options.parse(None, "0:az-a=:9092").brokers
        ((0, 'az-a', None, 9092),)
        """
        known = []
        for text in filter(None, (part.strip() for part in (brokers or "").split(","))):
            name, equals, address = text.partition("=")
            number, _, rack = name.partition(":")
            host, colon, port = address.rpartition(":")
            if not (
                equals and colon and number.isdecimal() and len(number) < 11 and int(number) < 1 << 31 and is_port(port)
            ):
                raise ValueError(f"addresses: expected ID[:RACK]=[HOST]:PORT, got {text!r}")
            known.append((int(number), rack or None, host.strip("[]") or None, int(port)))
        numbers = [part.strip() for part in (ports or "").split(",") if part.strip()]
        if not all(map(is_port, numbers)):
            raise ValueError(f"ports: expected numbers between commas, as 9092,9093, got {ports!r}")
        return cls(frozenset([*map(int, numbers)]), tuple(known))

    def known(self) -> ObservedCluster:
        known = ObservedCluster()
        for broker, rack, host, port in self.brokers:
            if rack is not None:
                known.racks[broker] = rack
            known.endpoints[host or "", port] = broker
        return known


def joined_captures(files: Iterable[CaptureFile]) -> list[CaptureFile]:
    """The captures of files: rotated files of packets are one capture, in the order of their first packets."""
    found: dict[str, list[CaptureFile]] = {}
    for file in files:
        found.setdefault(scope_of(file.path) if file.kind == "packets" else file.path, []).append(file)
    return [
        parts[0]._replace(
            path=path,
            size=sum(part.size for part in parts),
            parts=tuple(sorted((part.path for part in parts), key=first_time)) if len(parts) > 1 else (parts[0].path,),
        )
        for path, parts in sorted(found.items())
    ]


def first_time(path: str) -> tuple[int, str]:
    """The time of a file's first packet, 0 without one, and its path."""
    try:
        with DecompressedFile(path) as source:
            return next((packet.ts for packet in read_packets(source, read_format(source), [])), 0), path
    except DamagedCapture:
        return 0, path


def is_port(text: str) -> bool:
    return text.isdecimal() and len(text) < 6 and 0 < int(text) < 65536


def read_frames(file: CaptureFile, options: Options, problems: list[Problem]) -> tuple[ReadingState, Iterator[Frame]]:
    """The frames of a file, and the state of their reading; unreadable parts are added to ``problems``.

    A frame with index -1 is no frame: it has the requests that were unanswered when their connection ended.
    """
    if file.kind == "packets":
        return packet_frames(file, options, problems)
    state = ReadingState(capture_name(file.path), known=options.known())
    return state, read_lines(file.path, state, problems)


def packet_frames(file: CaptureFile, options: Options, problems: list[Problem]) -> tuple[ReadingState, Iterator[Frame]]:
    """The frames of packets. Each has the broker and rack that frames anywhere in the file report.

    They are stored until all have been read, so a file is read once; a large file is read again.
    """
    found: list[Problem] = []
    reading = PacketReading(file, options, found)
    state = reading.state
    kept: list[Frame] = []
    kept_bytes = 0
    for frame in reading.frames():
        learn_from(frame, state.known)
        kept_bytes += len(frame.data)
        if kept_bytes <= MAX_KEPT_BYTES:
            kept.append(frame)
        elif kept:
            kept = []
    named = options.known()
    brokers = ObservedCluster(
        racks={**state.known.racks, **named.racks}, endpoints={**state.known.endpoints, **named.endpoints}
    )
    if kept_bytes > MAX_KEPT_BYTES:
        reading = PacketReading(file, options, problems, brokers)
        return reading.state, reading.frames()
    problems += found
    state.known = options.known()
    reading.know_brokers(brokers)
    for connection in {frame.connection.number: frame.connection for frame in kept}.values():
        reading.traffic.name_broker(connection)
    return state, iter(kept)


class PacketReading:
    """Reads the packets of a capture.

    Args:
        problems: unreadable parts are added here.
        brokers: the brokers that frames anywhere in the file report, if known.
    """

    def __init__(
        self, file: CaptureFile, options: Options, problems: list[Problem], brokers: ObservedCluster | None = None
    ) -> None:
        self.file, self.options = file, options
        self.state = ReadingState(capture_name(file.path), known=options.known())
        self.traffic = TcpConnections(self.state, problems, options.ports)
        self.bytes_before = 0
        self.native = packet_reader(self.traffic)
        if brokers is not None:
            self.know_brokers(brokers)

    def know_brokers(self, brokers: ObservedCluster) -> None:
        """Use the brokers that frames anywhere in the file report from the start."""
        known = self.state.known
        racks, known.racks = known.racks, dict(brokers.racks)
        known.changes += 1
        known.named += 1
        for broker, rack in racks.items():
            known.name_rack(broker, rack)
        known.endpoints = brokers.endpoints | known.endpoints
        self.traffic.brokers = brokers

    def frames(self) -> Iterator[Frame]:
        for path in self.file.parts or (self.file.path,):
            self.traffic.path = path
            yield from self.frames_of(path)
        self.traffic.path = self.file.path
        yield from self.traffic.finish()

    def frames_of(self, path: str) -> Iterator[Frame]:
        """The frames that a file completes; their offsets count from the start of the first file."""
        damaged: list[tuple[int, str]] = []
        before = self.bytes_before
        try:
            with DecompressedFile(path) as source:
                file_format = read_format(source)
                for packet in read_packets(source, file_format, damaged):
                    segment = segment_in(packet, file_format, damaged)
                    if segment is not None:
                        self.bytes_before = before + segment.offset
                        segment = segment._replace(offset=self.bytes_before) if before else segment
                        yield from self.traffic.take(segment)
                    if self.native is not None:
                        yield from self.plain_frames(source, file_format, before)
        except DamagedCapture as damage:
            damaged.append((damage.offset, damage.reason))
        for offset, reason in damaged:
            self.traffic.problem(offset, reason)

    def plain_frames(self, source: DecompressedFile, file_format: Format, before: int) -> Iterator[Frame]:
        """The frames of the packets that the reader in Rust takes, which are in memory."""
        reader = self.native
        while True:
            text, at = source.held()
            yield from reader.frames(text, at, before + source.position - at, file_format)
            source.take_up_to(reader.at)
            if reader.passed is not None:
                self.bytes_before = reader.passed
            if reader.rest is None:
                return
            found, half, ts, offset, begins = reader.rest
            yield from self.traffic.bytes_read(found, half, InOrderBytes(ts, offset, b""), begins)


def packet_reader(traffic: TcpConnections) -> Any:
    """The reader of plain packets in Rust, which adds to these connections; None where Python reads all."""
    if core is None:
        return None
    return core.PacketReader(
        traffic,
        (Frame, PendingRequest, CapturedConnection),
        (kind_of, acks_of),
        (MAX_ASKED, MAX_ASKED_BYTES),
        (TcpConnection, PartialFrame, Direction),
        [(link, None, end) for link, end in UNTAGGED.items()] + [(link, *places) for link, places in TAGGED.items()],
        LINGER_BYTES,
    )
