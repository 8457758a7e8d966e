"""The packets of pcap and pcapng files. Source: the drafts draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kafka_rack.pipeline.files import Damage, Source

SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET = 0x0A0D0D0A, 1, 2, 3, 6
BYTE_ORDER_MAGIC = 0x1A2B3C4D
RESOLUTION_OPTION, OFFSET_OPTION = 9, 14
MOST_PACKET_BYTES = 1 << 24
US = 1_000_000


class Packet(NamedTuple):
    """One packet. ``wire_bytes`` is its length on the wire, of which the file may hold less; ``ts`` is in us."""

    offset: int
    ts: int
    link_type: int
    data: bytes
    wire_bytes: int


class Interface(msgspec.Struct):
    """What packets of one interface have in common."""

    link_type: int
    snap_bytes: int
    ticks_per_second: int = US
    later_seconds: int = 0


class Format(msgspec.Struct):
    """What the start of the file said, without which none of its packets can be read."""

    order: str
    is_next_generation: bool
    interfaces: list[Interface]


def read_format(source: Source) -> Format:
    """The head of a file. Raises Damage."""
    start = source.read(4)
    if int.from_bytes(start, "big") == SECTION:
        return Format(section_order(source), True, [])
    for order in "<>":
        magic = struct.unpack(order + "I", start)[0] if len(start) == 4 else 0
        if magic in (0xA1B2C3D4, 0xA1B23C4D):
            rest = source.read(20)
            if len(rest) < 20:
                raise Damage(source.position, "the file ends within its header")
            snap_bytes, link_type = struct.unpack(order + "4x4x4xII", rest)
            ticks = US if magic == 0xA1B2C3D4 else 1000 * US
            return Format(order, False, [Interface(link_type & 0xFFFF, snap_bytes, ticks)])
    raise Damage(0, f"magic {start.hex()}, which neither pcap nor pcapng has")


def section_order(source: Source) -> str:
    """Read a section's header block behind its type; gives the byte order."""
    head = source.read(8)
    for order in "<>":
        if len(head) == 8 and struct.unpack_from(order + "I", head, 4)[0] == BYTE_ORDER_MAGIC:
            length = struct.unpack_from(order + "I", head)[0]
            if 28 <= length <= MOST_PACKET_BYTES:
                source.read(length - 12)
                return order
    raise Damage(source.position - len(head), "a section header without its byte order")


def read_packets(source: Source, file_format: Format, end: int | None = None) -> Iterator[Packet]:
    """The packets that begin before ``end``. Raises Damage where the file cannot be read on."""
    reading = next_generation_packets if file_format.is_next_generation else classic_packets
    yield from reading(source, file_format, end)


def classic_packets(source: Source, file_format: Format, end: int | None) -> Iterator[Packet]:
    header = struct.Struct(file_format.order + "IIII")
    interface = file_format.interfaces[0]
    per_us = interface.ticks_per_second // US
    while end is None or source.position < end:
        offset = source.position
        head = source.read(16)
        if not head:
            return
        if len(head) < 16:
            raise Damage(offset, "the file ends within a packet's header")
        seconds, fraction, size, wire_bytes = header.unpack(head)
        if size > max(interface.snap_bytes, 1 << 18) or size > MOST_PACKET_BYTES or fraction >= US * per_us:
            raise Damage(offset, f"a packet header of {size} bytes and fraction {fraction} is none")
        data = source.read(size)
        if len(data) < size:
            raise Damage(offset, f"the file ends within a packet: {len(data)} of {size} bytes")
        yield Packet(offset, seconds * US + fraction // per_us, interface.link_type, data, wire_bytes)


def next_generation_packets(source: Source, file_format: Format, end: int | None) -> Iterator[Packet]:
    while end is None or source.position < end:
        offset = source.position
        head = source.read(4)
        if not head:
            return
        if int.from_bytes(head, "big") == SECTION:
            file_format.order = section_order(source)
            file_format.interfaces = []
            continue
        order = file_format.order
        head += source.read(4)
        if len(head) < 8:
            raise Damage(offset, "the file ends within a block's header")
        kind, length = struct.unpack(order + "II", head)
        if length < 12 or length % 4 or length > MOST_PACKET_BYTES:
            raise Damage(offset, f"a block of {length} bytes is none")
        body = source.read(length - 12)
        trailer = source.read(4)
        if len(trailer) < 4:
            raise Damage(offset, f"the file ends within a block of {length} bytes")
        if struct.unpack(order + "I", trailer)[0] != length:
            raise Damage(offset, f"a block says {length} bytes at its start and other at its end")
        if kind == INTERFACE and len(body) >= 8:
            link_type, snap_bytes = struct.unpack_from(order + "HxxI", body)
            options = options_of(body[8:], order)
            ticks, later_seconds = ticks_of(options), offset_of(options, order)
            file_format.interfaces.append(Interface(link_type, snap_bytes, ticks, later_seconds))
        else:
            packet = packet_of(kind, body, offset, file_format)
            if packet is not None:
                yield packet


def packet_of(kind: int, body: bytes, offset: int, file_format: Format) -> Packet | None:
    """The packet of a block, None if it holds none. Raises Damage: it does not hold what it says."""
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
    if number >= len(interfaces) or start + size > len(body):
        raise Damage(offset, f"a packet of {size} bytes on interface {number} does not fit its block")
    interface = interfaces[number]
    ts = ((high << 32) + low) * US // interface.ticks_per_second + interface.later_seconds * US
    return Packet(offset, ts, interface.link_type, body[start : start + size], wire_bytes)


def options_of(data: bytes, order: str) -> dict[int, bytes]:
    """A block's options: number -> value, of each number the first."""
    found: dict[int, bytes] = {}
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0 or at + 4 + length > len(data):
            break
        found.setdefault(code, data[at + 4 : at + 4 + length])
        at += 4 + (length + 3) // 4 * 4
    return found


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
