"""A packet's TCP segment: Ethernet, loopback, Linux cooked and raw links; IPv4 and IPv6."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address
from struct import Struct
from typing import NamedTuple

from kafka_rack.wire_capture.lines import LATEST
from kafka_rack.wire_capture.packets import Format, Packet

# Source: the registry of link types, https://www.tcpdump.org/linktypes.html
NULL, ETHERNET, RAW_BSD, RAW_OPENBSD, RAW, LOOP = 0, 1, 12, 14, 101, 108
COOKED, IPV4, IPV6, COOKED_V2 = 113, 228, 229, 276
UNTAGGED = {NULL: 4, LOOP: 4, **dict.fromkeys((RAW_BSD, RAW_OPENBSD, RAW, IPV4, IPV6), 0)}
"""Link type -> the length of its header."""
TAGGED = {ETHERNET: (12, 14), COOKED: (14, 16), COOKED_V2: (0, 20)}
"""The same of links whose headers name the protocol that follows, and where they do."""
LINK_TYPES = (*UNTAGGED, *TAGGED)
VLAN_TYPES = (0x8100, 0x88A8, 0x9100)
INTERNET_TYPES = (0x0800, 0x86DD)
TCP = 6
EXTENSIONS = (0, 43, 60)
FRAGMENT, AUTHENTICATION = 44, 51
FIN, SYN, RST, ACK = 1, 2, 4, 16

TCP_HEADER = Struct(">HHIIBB")
"""Ports, sequence number, acknowledged number, length, flags."""
Endpoint = tuple[str, int]


class TcpSegment(NamedTuple):
    """One TCP segment. ``size`` bytes were sent; where the file holds fewer, ``data`` is shorter."""

    offset: int
    ts: int
    source: Endpoint
    target: Endpoint
    sequence: int
    flags: int
    data: bytes
    size: int


def segment_in(packet: Packet, file_format: Format, damaged: list[tuple[int, str]]) -> TcpSegment | None:
    """A packet's segment, None if it has no readable one; faults of the packet are added to ``damaged``."""
    if packet.link_type not in LINK_TYPES and packet.link_type not in file_format.strange_links:
        file_format.strange_links.append(packet.link_type)
        damaged.append((packet.offset, f"link type {packet.link_type} is not known here"))
    if not 0 <= packet.ts <= LATEST:
        damaged.append((packet.offset, f"a packet's time, {packet.ts} us since 1970, is no date"))
        packet = packet._replace(ts=min(max(packet.ts, 0), LATEST))
    return segment_of(packet)


def segment_of(packet: Packet) -> TcpSegment | None:
    """The TCP segment in a packet; None for other protocols, IP fragments, and segments that only acknowledge."""
    data = packet.data
    start = network_start(packet.link_type, data)
    if start is None or start >= len(data):
        return None
    version = data[start] >> 4
    if version == 4:
        return ipv4_segment(packet, start)
    if version == 6:
        return ipv6_segment(packet, start)
    return None


def network_start(link_type: int, data: bytes) -> int | None:
    """The place of the IP header; None if there is none."""
    if link_type not in TAGGED:
        return UNTAGGED.get(link_type)
    kind_at, at = TAGGED[link_type]
    kind = int.from_bytes(data[kind_at : kind_at + 2], "big")
    while kind in VLAN_TYPES:  # each tag ends with the protocol of what follows
        kind = int.from_bytes(data[at + 2 : at + 4], "big")
        at += 4
    return at if kind in INTERNET_TYPES else None


def ipv4_segment(packet: Packet, start: int) -> TcpSegment | None:
    data = packet.data
    if len(data) < start + 20 or data[start + 9] != TCP:
        return None
    if int.from_bytes(data[start + 6 : start + 8], "big") & 0x3FFF:  # a fragment
        return None
    header = (data[start] & 15) * 4
    if header < 20:
        return None
    total = int.from_bytes(data[start + 2 : start + 4], "big")
    if total == 0:  # segmentation left to the network card
        total = packet.wire_bytes - start
    source, target = address_text(data[start + 12 : start + 16]), address_text(data[start + 16 : start + 20])
    return tcp_segment(packet, start + header, start + total, source, target)


def ipv6_segment(packet: Packet, start: int) -> TcpSegment | None:
    data = packet.data
    if len(data) < start + 40:
        return None
    payload = int.from_bytes(data[start + 4 : start + 6], "big")
    end = start + 40 + payload if payload else packet.wire_bytes
    following, at = data[start + 6], start + 40
    while following != TCP:
        if following not in (*EXTENSIONS, FRAGMENT, AUTHENTICATION) or at + 8 > len(data):
            return None
        if following == FRAGMENT:
            if int.from_bytes(data[at + 2 : at + 4], "big") & 0xFFF9:
                return None
            size = 8
        else:
            size = (data[at + 1] + 2) * 4 if following == AUTHENTICATION else (data[at + 1] + 1) * 8
        following, at = data[at], at + size
    source, target = address_text(data[start + 8 : start + 24]), address_text(data[start + 24 : start + 40])
    return tcp_segment(packet, at, end, source, target)


@lru_cache(maxsize=10_000)
def address_text(address: bytes) -> str:
    """An address of IPv4 or IPv6 as text, by its bytes."""
    return ".".join(map(str, address)) if len(address) == 4 else str(IPv6Address(address))


def tcp_segment(packet: Packet, start: int, end: int, source: str, target: str) -> TcpSegment | None:
    data = packet.data
    if len(data) < start + 20:
        return None
    header = (data[start + 12] >> 4) * 4
    if header < 20:
        return None
    size = max(0, end - start - header)
    from_port, to_port, sequence, _, _, flags = TCP_HEADER.unpack_from(data, start)
    if not size and not flags & (SYN | FIN | RST):
        return None
    payload = data[start + header : end]  # an Ethernet packet may be padded after its end
    ends = (source, from_port), (target, to_port)
    return TcpSegment(packet.offset, packet.ts, *ends, sequence, flags, payload, size)
