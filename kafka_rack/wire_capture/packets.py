"""The packets of pcap and pcapng files. Source: the drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from kafka_rack.wire_capture.files import DamagedCapture, DecompressedFile

INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 1, 2, 3, 6
SECTION_BYTES = b"\n\r\r\n"
RESOLUTION_OPTION, OFFSET_OPTION = 9, 14
MAX_PACKET_BYTES = 1 << 24
MAX_INTERFACES = 1 << 16
MIN_SNAP_BYTES = 1 << 18
FILE_HEADER_BYTES = 24
HEADERS_IN_A_ROW = 3
"""The number of consecutive headers that prove where packets begin."""
WINDOW_BYTES, WINDOW_KEPT_BYTES = 4 << 20, 1 << 20
MAX_BYTES_WITHOUT_TIME = 1 << 20
DAY = 86_400
US = 1_000_000


class Packet(NamedTuple):
    """One packet. ``wire_bytes`` is its length on the wire, of which the file may hold less; ``ts`` is in us."""

    offset: int
    ts: int
    link_type: int
    data: bytes
    wire_bytes: int


class Interface(msgspec.Struct):
    """The properties that packets of one interface share."""

    link_type: int
    snap_bytes: int
    ticks_per_second: int = US
    later_seconds: int = 0


class Format(msgspec.Struct):
    """The facts at the start of the file, without which its packets cannot be read, and those that followed.

    ``strange_links``: unreadable link types that have been reported.
    """

    order: str
    is_next_generation: bool
    interfaces: list[Interface]
    second: int | None = None
    second_before: int = 0
    strange_links: list[int] = msgspec.field(default_factory=list)

    def pass_time(self, second: int) -> None:
        """Note a packet's time: ``second`` is that of the last packet which has another near it."""
        if self.second is None or near(second, self.second) or near(second, self.second_before):
            self.second = second
        self.second_before = second


NO_MAGIC = "which neither pcap nor pcapng has"


def read_format(source: DecompressedFile) -> Format:
    """The head of a file. Raises DamagedCapture."""
    start = source.read(4)
    if start == SECTION_BYTES:
        source.give_back(start)
        order = order_of_section(source.peek(12))
        if not order:
            raise DamagedCapture(0, "a section header without its byte order")
        return Format(order, True, [])
    for order in "<>":
        magic = struct.unpack(order + "I", start)[0] if len(start) == 4 else 0
        if magic in (0xA1B2C3D4, 0xA1B23C4D):
            rest = source.read(20)
            if len(rest) < 20:
                raise DamagedCapture(source.position, "the file ends within its header")
            snap_bytes, link_type = struct.unpack(order + "4x4x4xII", rest)
            ticks = US if magic == 0xA1B2C3D4 else 1000 * US
            return Format(order, False, [Interface(link_type & 0xFFFF, snap_bytes, ticks)])
    raise DamagedCapture(0, f"magic {start.hex()}, {NO_MAGIC}")


def read_packets(source: DecompressedFile, file_format: Format, damaged: list[tuple[int, str]]) -> Iterator[Packet]:
    """The packets of a file.

    At damage in the file, offset and reason are added to ``damaged``, and reading continues at the next certain start
    of packets.

    Raises DamagedCapture: no more bytes of the file can be read.
    """
    reading = next_generation_packets if file_format.is_next_generation else classic_packets
    yield from reading(source, file_format, damaged)


def classic_packets(source: DecompressedFile, file_format: Format, damaged: list[tuple[int, str]]) -> Iterator[Packet]:
    (interface,) = file_format.interfaces
    per_us = interface.ticks_per_second // US
    header = struct.Struct(file_format.order + "IIII")
    headers = Headers(header, max(interface.snap_bytes, MIN_SNAP_BYTES), interface.ticks_per_second)
    if source.position == FILE_HEADER_BYTES and (fault := headers.fault_ahead(source, None)):
        damaged.append((source.position, fault))
        if not find_again(source, partial(headers.begin_at, last=None), MAX_BYTES_WITHOUT_TIME):
            return
    while True:
        offset = source.position
        head = source.read(header.size)
        if not head:
            return
        if len(head) < header.size:
            damaged.append((offset, "the file ends within a packet's header"))
            return
        seconds, fraction, size, wire_bytes = header.unpack(head)
        file_format.pass_time(seconds)
        data = source.read(size)
        if len(data) == size:
            yield Packet(offset, seconds * US + fraction // per_us, interface.link_type, data, wire_bytes)
            fault, at = headers.fault_ahead(source, file_format.second), source.position
        else:
            fault, at = f"the file ends within a packet: {len(data)} of {size} bytes", offset
        if fault is not None:
            damaged.append((at, fault))
            source.give_back(data)  # its size may be wrong, so that it contains other packets
            if not find_again(source, partial(headers.begin_at, last=file_format.second)):
                return


class Headers(NamedTuple):
    """The form of the headers of a pcap's packets."""

    header: struct.Struct
    max_bytes: int
    ticks_per_second: int

    def fault(self, head: bytes) -> str | None:
        """Why a complete header is invalid, None if it is valid."""
        _, fraction, size, wire_bytes = self.header.unpack(head)
        max_bytes = min(self.max_bytes, MAX_PACKET_BYTES, wire_bytes)
        if size > max_bytes or fraction >= self.ticks_per_second or not wire_bytes:
            return f"a packet header of {size} bytes, {wire_bytes} on the wire, and fraction {fraction} is none"
        return None

    def fault_ahead(self, source: DecompressedFile, last: int | None) -> str | None:
        """Why no packet's header follows; one with another time than ``last`` must lead to others."""
        head = source.peek(self.header.size)
        if len(head) < self.header.size:
            return None  # the end, or damage that the next read raises
        fault = self.fault(head)
        if fault is None and last is not None and not near(self.header.unpack(head)[0], last):
            window = source.peek(WINDOW_BYTES)
            if not self.lead_on(window, 0, len(window) < WINDOW_BYTES, None):
                return f"a packet header at second {self.header.unpack(head)[0]} is none"
        return fault

    def lead_on(self, data: bytes, at: int, is_all: bool, last: int | None) -> bool:
        """True if headers from here on lead to each other, with times near ``last``, or each other."""
        for _ in range(HEADERS_IN_A_ROW):
            if at == len(data):
                return is_all
            head = data[at : at + self.header.size]
            if len(head) < self.header.size or self.fault(head):
                return False
            seconds, _, size, _ = self.header.unpack(head)
            last = seconds if last is None else last
            if not size or not near(seconds, last):
                return False
            at += self.header.size + size
        return True

    def begin_at(self, data: bytes, is_all: bool, *, last: int | None) -> int | None:
        """The place of the first headers that lead to each other, with times near ``last``."""
        places = range(len(data) - self.header.size) if last is None else self.at_times(data, last)
        return next((at for at in places if self.lead_on(data, at, is_all, last)), None)

    def at_times(self, data: bytes, last: int) -> Iterator[int]:
        """The places in order that may hold seconds with the upper half of ``last`` or one beside it."""
        upper = 2 if self.header.format.startswith("<") else 0
        halves = [struct.pack(self.header.format[0] + "H", (last >> 16) + step & 0xFFFF) for step in (-1, 0, 1)]
        return (at - upper for at in places_of(halves, data) if at >= upper)


def near(second: int, other: int) -> bool:
    return abs(second - other) <= DAY


def find_again(
    source: DecompressedFile, begin_at: Callable[[bytes, bool], int | None], max_bytes: int | None = None
) -> bool:
    """Skip to the next place that ``begin_at`` finds; False at the end of the file."""
    passed = 0
    while max_bytes is None or passed < max_bytes:
        window = source.peek(WINDOW_BYTES)
        is_all = len(window) < WINDOW_BYTES
        at = begin_at(window, is_all)
        if at is not None or is_all:
            source.read(len(window) if at is None else at)
            return at is not None
        passed += len(window) - WINDOW_KEPT_BYTES
        source.read(len(window) - WINDOW_KEPT_BYTES)
    return False


def next_generation_packets(
    source: DecompressedFile, file_format: Format, damaged: list[tuple[int, str]]
) -> Iterator[Packet]:
    while True:
        offset = source.position
        head = source.peek(12)
        fault, length = fault_of_block(head, file_format.order)
        block = source.read(length) if fault is None else b""
        if not block and (not head or source.damage is not None):
            source.read(len(head) + 1)  # raises the damage
            return
        if fault is None and len(block) < length:
            fault = f"the file ends within a block of {length} bytes"
        elif fault is None and block[-4:] != head[4:8]:
            fault = f"a block says {length} bytes at its start and other at its end"
        if fault is not None:
            damaged.append((offset, fault))
            source.give_back(block)
            source.read(1)
            if not find_again(source, partial(blocks_begin_at, file_format=file_format)):
                return
            continue
        if block[:4] == SECTION_BYTES:
            file_format.order = order_of_section(block)
            file_format.interfaces = []
            continue
        order = file_format.order
        kind, body = struct.unpack_from(order + "I", block)[0], block[8:-4]
        if kind == INTERFACE and len(body) >= 8:
            link_type, snap_bytes = struct.unpack_from(order + "HxxI", body)
            if len(file_format.interfaces) >= MAX_INTERFACES:
                damaged.append((offset, f"a section of more than {MAX_INTERFACES} interfaces"))
                continue
            options = dict(reversed([*all_options(body[8:], order)]))  # the first of each number counts
            ticks, later_seconds = ticks_of(options), offset_of(options, order)
            file_format.interfaces.append(Interface(link_type, snap_bytes, ticks, later_seconds))
            continue
        try:
            packet = packet_of(kind, body, offset, file_format)
        except DamagedCapture as damage:
            damaged.append((damage.offset, damage.reason))
            continue
        if packet is not None:
            yield packet


def fault_of_block(head: bytes, order: str) -> tuple[str | None, int]:
    """Why no block begins with these 12 bytes, or None; and its length."""
    if head[:4] == SECTION_BYTES:
        order = order_of_section(head)
        if not order:
            return "a section header without its byte order", 0
    if len(head) < 12:
        return "the file ends within a block's header" if head else None, 0
    length = struct.unpack_from(order + "I", head, 4)[0]
    if length < 12 or length % 4 or length > MAX_PACKET_BYTES:
        return f"a block of {length} bytes is none", 0
    return None, length


def order_of_section(head: bytes) -> str:
    """The byte order in a section's header, empty if invalid."""
    return {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}.get(head[8:12], "")


def blocks_begin_at(data: bytes, is_all: bool, *, file_format: Format) -> int | None:
    """The place of the first block of a known kind whose two lengths agree and whose packet fits into it."""
    orders = {SECTION_BYTES: "<>"}
    orders |= {struct.pack(file_format.order + "I", kind): file_format.order for kind in (ENHANCED_PACKET, INTERFACE)}
    for at in places_of(orders, data):
        for order in orders[data[at : at + 4]]:
            if at + 12 > len(data):
                continue
            length = struct.unpack_from(order + "I", data, at + 4)[0]
            if (
                16 <= length <= len(data) - at
                and length % 4 == 0
                and data[at + length - 4 : at + length] == data[at + 4 : at + 8]
            ):
                return at
    return None


def places_of(patterns: Iterable[bytes], data: bytes) -> Iterator[int]:
    """The places of any of these bytes, in order; they may overlap."""
    found = {pattern: data.find(pattern) for pattern in patterns}
    while found := {pattern: at for pattern, at in found.items() if at >= 0}:
        first = min(found, key=found.__getitem__)
        yield found[first]
        found[first] = data.find(first, found[first] + 1)


def packet_of(kind: int, body: bytes, offset: int, file_format: Format) -> Packet | None:
    """The packet of a block, None if it contains none. Raises DamagedCapture: its lengths are wrong."""
    order, interfaces = file_format.order, file_format.interfaces
    if kind == ENHANCED_PACKET and len(body) >= 20:
        number, high, low, size, wire_bytes = struct.unpack_from(order + "IIIII", body)
        start = 20
    elif kind == OLD_PACKET and len(body) >= 20:
        number, high, low, size, wire_bytes = struct.unpack_from(order + "HxxIIII", body)
        start = 20
    elif kind == SIMPLE_PACKET and len(body) >= 4:
        (wire_bytes,) = struct.unpack_from(order + "I", body)
        kept = interfaces[0].snap_bytes if interfaces and interfaces[0].snap_bytes else wire_bytes
        number, high, low, size, start = 0, 0, 0, min(wire_bytes, kept, len(body) - 4), 4
    else:
        return None
    end = start + size
    if number >= len(interfaces) or end > len(body):
        raise DamagedCapture(offset, f"a packet of {size} bytes on interface {number} does not fit its block")
    interface = interfaces[number]
    ts = ((high << 32) + low) * US // interface.ticks_per_second + interface.later_seconds * US
    return Packet(offset, ts, interface.link_type, body[start:end], wire_bytes)


def all_options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """A block's options in their order."""
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0 or at + 4 + length > len(data):
            break
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def ticks_of(options: dict[int, bytes]) -> int:
    """Ticks a second of an interface's clock: a power of ten, or of two with the top bit; us by default."""
    value = options.get(RESOLUTION_OPTION, b"")[:1]
    if not value:
        return US
    power: int = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** (value[0] & 0x7F)
    return power


def offset_of(options: dict[int, bytes], order: str) -> int:
    """Seconds to add to an interface's times."""
    value = options.get(OFFSET_OPTION, b"")
    return int(struct.unpack(order + "q", value)[0]) if len(value) == 8 else 0
