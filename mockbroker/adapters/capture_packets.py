"""A capture as packets: pcapng with the IP and TCP that would have carried the frames, for tshark and its like.

Connections have their real addresses and ports; the TCP parts, which are not visible here, are made up: a
handshake, sequence and acknowledged numbers, segments as large as loopback's, checksums, and an end. What packets
cannot say stands in comments, as JSON behind ``COMMENT``: at the head of a file what a capture of lines says at its
own, at a connection's first packet its number, its listener and how many bytes of requests follow that were in the file
before and wait for their answers. ``kafka_rack.pipeline`` reads both.
Source: draft-ietf-opsawg-pcapng; RFC 9293.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from struct import Struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.adapters.capture import Tap, UnansweredRequests

COMMENT = "kafka-rack "
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
BYTE_ORDER = 0x1A2B3C4D
RAW_IP = 101  # link type: packets begin with their IP header
COMMENT_OPTION, APPLICATION_OPTION = 1, 4
FIN, SYN, PSH, ACK = 1, 2, 8, 16
SEGMENT_BYTES = 65_000
"""A little less than loopback's 64 KiB have room for, with IPv6 too."""
WINDOW = 0xFFFF
SYN_OPTIONS = bytes((2, 4, 0xFF, 0xD7, 1, 3, 3, 14))
"""Segments up to 65,495 bytes, and windows counted in 16 KiB, so that nothing ever fills one."""
NO_FRAGMENTS = 0x4000
TCP, HOPS = 6, 64
FIRST_CLIENT_SEQUENCE, FIRST_SERVER_SEQUENCE = 1_000_000, 2_000_000
WHOLE = 1 << 32
LENGTH_BYTES = 4
MAX_OPTION_BYTES = 0xFFFF

BLOCK, END = Struct("<II"), Struct("<I")
SECTION_HEAD = Struct("<IHHq")
INTERFACE_HEAD = Struct("<HHI")
PACKET_HEAD = Struct("<IIIII")
OPTION = Struct("<HH")
IPV4, IPV6 = Struct(">BBHHHBBH4s4s"), Struct(">IHBB16s16s")
TCP_HEAD = Struct(">HHIIBBHHH")
PSEUDO_IPV4, PSEUDO_IPV6 = Struct(">4s4sBBH"), Struct(">16s16sII")
UNKNOWN_CLIENT, UNKNOWN_SERVER = "192.0.2.1", ("192.0.2.2", 9092)
"""For connections with unknown addresses: of the net for documentation (RFC 5737)."""


@dataclass(slots=True)
class TcpFlow:
    """One connection's TCP. Addresses are packed; ``sequences`` are the client's next number and the server's."""

    client: bytes
    client_port: int
    server: bytes
    server_port: int
    sequences: list[int]


class PacketForm:
    """Turns what is noted into blocks of pcapng."""

    def __init__(self) -> None:
        self._flows: dict[int, TcpFlow] = {}  # by the connection's number

    def file_start(self, told: Sequence[dict[str, Any]], conversations: Sequence[UnansweredRequests]) -> list[bytes]:
        """The head of a file, and the connections that are open; ``told`` are the events that a file of lines has."""
        said = [option(COMMENT_OPTION, comment_of(one)) for one in told if len(comment_of(one)) <= MAX_OPTION_BYTES]
        options = b"".join(said) + option(APPLICATION_OPTION, b"kafka-rack") + bytes(4)
        pieces = [
            block(SECTION, SECTION_HEAD.pack(BYTE_ORDER, 1, 0, -1) + options),
            block(INTERFACE, INTERFACE_HEAD.pack(RAW_IP, 0, 0)),
        ]
        self._flows.clear()
        for conversation in conversations:
            asked = conversation.unanswered()
            pieces += self.opened(conversation.tap, sum(LENGTH_BYTES + len(data) for _, data in asked))
            for at_us, data in asked:
                pieces += self.frame(at_us, conversation.tap, True, data)
        return pieces

    def opened(self, tap: Tap, asked_bytes: int = 0) -> list[bytes]:
        """A handshake. ``asked_bytes`` follow that were in the file before."""
        client, server = addresses_of(tap)
        flow = self._flows[tap.number] = TcpFlow(*client, *server, [FIRST_CLIENT_SEQUENCE, FIRST_SERVER_SEQUENCE])
        said: dict[str, Any] = {"ev": "open", "conn": tap.number, "broker": tap.broker, "listener": tap.listener}
        if asked_bytes:
            said["asked_bytes"] = asked_bytes
        return [
            packet(tap.opened, flow, True, SYN, comment=comment_of(said)),
            packet(tap.opened, flow, False, SYN | ACK),
            packet(tap.opened, flow, True, ACK),
        ]

    def frame(self, at_us: int, tap: Tap, is_request: bool, data: bytes) -> list[bytes]:
        """The segments of a frame; none after the end of its connection."""
        flow = self._flows.get(tap.number)
        if flow is None:
            return []
        whole = len(data).to_bytes(LENGTH_BYTES, "big") + data
        last = len(whole) - 1
        return [
            packet(
                at_us,
                flow,
                is_request,
                ACK | (PSH if start + SEGMENT_BYTES > last else 0),
                whole[start : start + SEGMENT_BYTES],
            )
            for start in range(0, len(whole), SEGMENT_BYTES)
        ]

    def closed(self, at_us: int, tap: Tap, _unread_bytes: int) -> list[bytes]:
        """The end of a connection, as if the client began it: that was not recorded."""
        flow = self._flows.pop(tap.number, None)
        if flow is None:
            return []
        return [
            packet(at_us, flow, True, FIN | ACK),
            packet(at_us, flow, False, FIN | ACK),
            packet(at_us, flow, True, ACK),
        ]

    def ended(self, _at_us: int) -> list[bytes]:
        """Packets say nothing of the end of a recording."""
        return []


def packet(
    at_us: int, flow: TcpFlow, from_client: bool, flags: int, data: bytes = b"", *, comment: bytes = b""
) -> bytes:
    """A packet's block; the flow's sequence numbers continue after it."""
    mine, other = (0, 1) if from_client else (1, 0)
    sequence = flow.sequences[mine]
    acknowledged = flow.sequences[other] if flags & ACK else 0
    flow.sequences[mine] = (sequence + len(data) + (1 if flags & (SYN | FIN) else 0)) % WHOLE
    source, from_port, target, to_port = (
        (flow.client, flow.client_port, flow.server, flow.server_port)
        if from_client
        else (flow.server, flow.server_port, flow.client, flow.client_port)
    )
    options = SYN_OPTIONS if flags & SYN else b""
    words = (TCP_HEAD.size + len(options)) // 4
    head = TCP_HEAD.pack(from_port, to_port, sequence, acknowledged, words << 4, flags, WINDOW, 0, 0) + options
    size = len(head) + len(data)
    is_ipv4 = len(source) == 4
    pseudo = PSEUDO_IPV4.pack(source, target, 0, TCP, size) if is_ipv4 else PSEUDO_IPV6.pack(source, target, size, TCP)
    head = head[:16] + checksum(pseudo + head + data).to_bytes(2, "big") + head[18:]
    whole = (ipv4_head(source, target, size) if is_ipv4 else ipv6_head(source, target, size)) + head + data
    body = PACKET_HEAD.pack(0, at_us >> 32, at_us % WHOLE, len(whole), len(whole)) + padded(whole)
    if comment:
        body += option(COMMENT_OPTION, comment) + bytes(4)
    return block(PACKET, body)


def ipv4_head(source: bytes, target: bytes, size: int) -> bytes:
    head = IPV4.pack(0x45, 0, IPV4.size + size, 0, NO_FRAGMENTS, HOPS, TCP, 0, source, target)
    return head[:10] + checksum(head).to_bytes(2, "big") + head[12:]


def ipv6_head(source: bytes, target: bytes, size: int) -> bytes:
    return IPV6.pack(6 << 28, size, TCP, HOPS, source, target)


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071): the ones' complement sum of 16-bit words is their sum modulo 65,535.

    >>> hex(checksum(bytes.fromhex("45000073000040004011 0000 c0a80001c0a800c7")))
    '0xb861'
    """
    remainder = int.from_bytes(data + b"\0" if len(data) % 2 else data, "big") % 0xFFFF
    return 0xFFFF - remainder if remainder else 0


def block(kind: int, body: bytes) -> bytes:
    """A block of pcapng, its length at both ends."""
    size = BLOCK.size + len(body) + END.size
    return BLOCK.pack(kind, size) + body + END.pack(size)


def option(code: int, value: bytes) -> bytes:
    """An option of a block."""
    return OPTION.pack(code, len(value)) + padded(value)


def comment_of(said: dict[str, Any]) -> bytes:
    """A comment for ``kafka_rack.pipeline``."""
    return (COMMENT + json.dumps(said, separators=(",", ":"))).encode()


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def addresses_of(tap: Tap) -> tuple[tuple[bytes, int], tuple[bytes, int]]:
    """The addresses of a connection's two ends, packed alike: IPv4 only if both are."""
    ends = [end_of(tap.client) or (UNKNOWN_CLIENT, 1024 + tap.number % 60_000), end_of(tap.server) or UNKNOWN_SERVER]
    if any(":" in host for host, _ in ends):
        family, hosts = socket.AF_INET6, [host if ":" in host else f"::ffff:{host}" for host, _ in ends]
    else:
        family, hosts = socket.AF_INET, [host for host, _ in ends]
    client, server = (socket.inet_pton(family, host) for host in hosts)
    return (client, ends[0][1]), (server, ends[1][1])


def end_of(address: str) -> tuple[str, int] | None:
    """Host and port of an address as a tap has it, None where it has none; of IPv6 without its zone."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]").partition("%")[0]
    try:
        return (str(ip_address(host)), int(port))
    except ValueError:
        return None
