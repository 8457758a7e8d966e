"""Packets to test with: TCP segments between a client and a broker, in any link type, as pcap or pcapng."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address

CLIENT, SERVER = ("127.0.0.1", 40000), ("127.0.0.1", 9092)
ETHERNET, NULL, RAW, COOKED, COOKED_V2 = 1, 0, 101, 113, 276


@dataclass(frozen=True)
class Sent:
    """One TCP segment on the wire."""

    ts: int
    source: tuple[str, int]
    target: tuple[str, int]
    sequence: int
    data: bytes = b""
    flags: int = 0x18


def packet(segment: Sent, link_type: int = ETHERNET) -> bytes:
    tcp = struct.pack(
        ">HHIIBBHHH", segment.source[1], segment.target[1], segment.sequence, 0, 0x50, segment.flags, 65535, 0, 0
    )
    payload = tcp + segment.data
    source, target = ip_address(segment.source[0]), ip_address(segment.target[0])
    if source.version == 4:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, 6, 0) + source.packed + target.packed
        kind = 0x0800
    else:
        ip = struct.pack(">IHBB", 6 << 28, len(payload), 6, 64) + source.packed + target.packed
        kind = 0x86DD
    link = {
        ETHERNET: bytes(12) + struct.pack(">H", kind),
        NULL: struct.pack("<I", 2 if source.version == 4 else 30),
        RAW: b"",
        COOKED: bytes(14) + struct.pack(">H", kind),
        COOKED_V2: struct.pack(">H", kind) + bytes(18),
    }[link_type]
    return link + ip + payload


def pcap(segments: Iterable[Sent], link_type: int = ETHERNET, order: str = "<", nanoseconds: bool = False) -> bytes:
    magic, scale = (0xA1B23C4D, 1000) if nanoseconds else (0xA1B2C3D4, 1)
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for one in segments:
        data = packet(one, link_type)
        seconds, us = divmod(one.ts, 1_000_000)
        parts += [struct.pack(order + "IIII", seconds, us * scale, len(data), len(data)), data]
    return b"".join(parts)


def pcapng(segments: Iterable[Sent], link_type: int = ETHERNET, order: str = "<") -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = len(body) + 12
        return struct.pack(order + "II", kind, length) + body + struct.pack(order + "I", length)

    parts = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    options = struct.pack(order + "HHB3xHH", 9, 1, 9, 0, 0)  # nanoseconds
    parts.append(block(1, struct.pack(order + "HHI", link_type, 0, 262144) + options))
    for one in segments:
        data = packet(one, link_type)
        ticks = one.ts * 1000
        head = struct.pack(order + "IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        parts.append(block(6, head + data))
    return b"".join(parts)
