"""What tcpdump would have seen of a capture of lines: its connections as TCP, in any cut, on any link.

Written from the RFCs (791, 8200, 9293), the registry of link types and the drafts of pcap and pcapng, apart from the
reader that it tests; ``tshark`` finds its checksums right. All chance comes from a Random handed in.
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from random import Random

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
WHOLE = 1 << 32
BROKER_HOSTS = {4: "10.1.0.{}", 6: "fd00:1::{}"}
Address = tuple[str, int]


@dataclass(frozen=True)
class RecordedFrame:
    """A frame of the capture of lines. ``client`` as the packets have it."""

    ts: int
    client: Address
    server: Address
    is_request: bool
    data: bytes


@dataclass(frozen=True)
class Seg:
    """A TCP segment; ``kept`` of its payload's bytes are in the file, all if None."""

    ts: int
    source: Address
    target: Address
    sequence: int
    acknowledged: int
    flags: int
    data: bytes = b""
    kept: int | None = None


def recorded(path: Path, version: int = 4, limit: int | None = None) -> list[RecordedFrame]:
    """The frames of a capture of lines that belong to opened connections, at addresses of this IP version."""
    opened: dict[int, tuple[Address, Address]] = {}
    frames: list[RecordedFrame] = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line.get("ev") == "open":
                port = int(line["client"].rpartition(":")[2])
                client = ("10.9.0.7" if version == 4 else "fd00:9::7", port)
                opened[line["conn"]] = (client, (BROKER_HOSTS[version].format(line["broker"] + 1), 9092))
            elif "dir" in line and line["conn"] in opened:
                data = base64.b64decode(line["data"])
                frames.append(RecordedFrame(line["t"], *opened[line["conn"]], line["dir"] == "req", data))
                if limit is not None and len(frames) >= limit:
                    break
    return frames


def conversations(
    frames: Iterable[RecordedFrame], rng: Random, *, cut: int = 1448, handshake: bool = True, together: float = 0.7
) -> list[Seg]:
    """Each connection as TCP: opened, its frames in pieces of up to ``cut`` bytes (several frames to a piece where they
    follow each other in one direction, by the chance ``together``), closed. Sequence numbers begin anywhere.
    """
    by_connection: dict[tuple[Address, Address], list[RecordedFrame]] = {}
    for frame in frames:
        by_connection.setdefault((frame.client, frame.server), []).append(frame)
    segments: list[Seg] = []
    for (client, server), own in by_connection.items():
        following = {client: rng.choice([rng.randrange(WHOLE), WHOLE - rng.randrange(1, 3000)])}
        following[server] = rng.randrange(WHOLE)
        other = {client: server, server: client}
        out: list[Seg] = []

        def send(ts: int, source: Address, flags: int, data: bytes = b"", out=out, at=following, other=other) -> None:
            target = other[source]
            out.append(Seg(ts, source, target, at[source], at[target] if flags & ACK else 0, flags, data))
            at[source] = (at[source] + len(data) + bool(flags & (SYN | FIN))) % WHOLE

        begin = own[0].ts
        if handshake:
            send(begin - 30, client, SYN)
            send(begin - 20, server, SYN | ACK)
            send(begin - 10, client, ACK)
        at = 0
        while at < len(own):
            run = [own[at]]
            while (
                at + len(run) < len(own)
                and own[at + len(run)].is_request == own[at].is_request
                and rng.random() < together
            ):
                run.append(own[at + len(run)])
            at += len(run)
            source = client if run[0].is_request else server
            data = b"".join(struct.pack(">i", len(one.data)) + one.data for one in run)
            while data:
                size = rng.randint(1, cut)
                send(run[-1].ts, source, PSH | ACK, data[:size])
                data = data[size:]
            if rng.random() < 0.5:
                send(run[-1].ts, other[source], ACK)
        if handshake:
            send(own[-1].ts + 10, client, FIN | ACK)
            send(own[-1].ts + 20, server, FIN | ACK)
        segments += out
    return sorted(segments, key=lambda one: one.ts)


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def internet(one: Seg, rng: Random) -> bytes:
    """The IP packet, at times with options, extension headers and TCP options."""
    source, target = ip_address(one.source[0]), ip_address(one.target[0])
    options = rng.choice([b"", b"\1\1\x08\x0a" + struct.pack(">II", one.ts & 0xFFFFFFFF, 1)])
    if one.flags & SYN:
        options = b"\2\4\x05\xb4\4\2\1\3\3\7\0\0"
    offset = 5 + len(options) // 4
    head = struct.pack(
        ">HHIIBBHHH",
        one.source[1],
        one.target[1],
        one.sequence,
        one.acknowledged,
        offset << 4,
        one.flags,
        65000,
        0,
        0,
    )
    tcp = head + options + one.data
    pseudo = source.packed + target.packed
    if source.version == 4:
        summed = checksum(pseudo + struct.pack(">BBH", 0, 6, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack(">H", summed) + tcp[18:]
        words = rng.choice([5, 5, 5, 6])
        ip = struct.pack(">BBHHHBBH", 0x40 | words, 0, words * 4 + len(tcp), rng.randrange(65536), 0x4000, 64, 6, 0)
        ip += source.packed + target.packed + bytes([1] * (words * 4 - 20))
        return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp
    summed = checksum(pseudo + struct.pack(">II", len(tcp), 6) + tcp)
    tcp = tcp[:16] + struct.pack(">H", summed) + tcp[18:]
    following, between = rng.choice([(6, b""), (6, b""), (60, bytes([6, 0, 1, 4, 0, 0, 0, 0]))])
    return struct.pack(">IHBB", 6 << 28, len(between) + len(tcp), following, 64) + pseudo + between + tcp


def framed(link_type: int, packet: bytes, rng: Random, order: str) -> bytes:
    """An IP packet on a link."""
    version = packet[0] >> 4
    kind = struct.pack(">H", 0x0800 if version == 4 else 0x86DD)
    if link_type == 1:
        tags = rng.choice([b"", b"", b"\x81\0\0\x64", b"\x88\xa8\0\x07\x81\0\x20\x08"])
        return (bytes(6) + bytes(6) + tags + kind + packet).ljust(60, b"\0")
    if link_type == 113:
        tags = rng.choice([b"", b"\x81\0", b""])
        body = b"\0\x64" + kind if tags else kind
        return struct.pack(">HHH8s", rng.choice([0, 4]), 772, 6, bytes(8)) + tags + body + packet
    if link_type == 276:
        protocol, tag = rng.choice([(kind, b""), (kind, b""), (b"\x81\0", b"\0\x64" + kind)])
        return protocol + struct.pack(">HIHBB8s", 0, 1, 772, 0, 6, bytes(8)) + tag + packet
    if link_type in (0, 108):
        family = 2 if version == 4 else rng.choice([10, 24, 28, 30])
        return struct.pack((order if link_type == 0 else ">") + "I", family) + packet
    return packet


def pcap(segments: Iterable[Seg], rng: Random, *, link_type: int = 1, order: str = "<", ticks: int = 10**6) -> bytes:
    magic = {10**6: 0xA1B2C3D4, 10**9: 0xA1B23C4D}[ticks]
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link_type)]
    for one in segments:
        data, wire = on_wire(one, link_type, rng, order)
        seconds, us = divmod(one.ts, 10**6)
        fraction = us * ticks // 10**6 + (rng.randrange(1000) if ticks > 10**6 else 0)
        parts += [struct.pack(order + "IIII", seconds, fraction, len(data), wire), data]
    return b"".join(parts)


def on_wire(one: Seg, link_type: int, rng: Random, order: str) -> tuple[bytes, int]:
    data = framed(link_type, internet(one, rng), rng, order)
    wire = len(data)
    return (data if one.kept is None else data[: wire - len(one.data) + one.kept]), wire


def pcapng(
    segments: Iterable[Seg], rng: Random, *, link_types: Iterable[int] = (1, 113, 101), order: str = "<"
) -> bytes:
    """Several interfaces of different links and clocks, two sections of different byte order, blocks of other kinds."""
    segments = list(segments)
    half = len(segments) // 2
    other = {"<": ">", ">": "<"}[order]
    return section(segments[:half], rng, [*link_types], order) + section(segments[half:], rng, [*link_types], other)


def section(segments: list[Seg], rng: Random, link_types: list[int], order: str) -> bytes:
    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)

    def option(code: int, value: bytes) -> bytes:
        return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    end = struct.pack(order + "HH", 0, 0)
    comment = option(1, "a comment, ünïcode".encode())
    parts = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1) + comment + end)]
    clocks: list[tuple[int, int]] = []
    for link_type in link_types:
        exponent, ticks = rng.choice([(None, 10**6), (b"\x09", 10**9), (b"\x06", 10**6), (b"\x94", 1 << 20)])
        later = rng.choice([0, 0, 3600])
        options = option(2, b"eth0") + (option(9, exponent) if exponent else b"")
        if later:
            options += option(14, struct.pack(order + "q", later))
        parts.append(block(1, struct.pack(order + "HHI", link_type, 0, 262144) + options + end))
        clocks.append((ticks, later))
    for one in segments:
        if rng.random() < 0.1:
            parts.append(block(rng.choice([0xB, 0xBAD, 0x80000001]), rng.randbytes(rng.randrange(40))))
        number = rng.randrange(len(link_types))
        ticks, later = clocks[number]
        data, wire = on_wire(one, link_types[number], rng, order)
        stamp = -(-(one.ts - later * 10**6) * ticks // 10**6)
        head = struct.pack(order + "IIIII", number, stamp >> 32, stamp & 0xFFFFFFFF, len(data), wire)
        padded = data + bytes(-len(data) % 4)
        parts.append(block(6, head + padded + rng.choice([b"", option(2, b"\0\0\0\1") + end])))
    return b"".join(parts)


def disturbed(segments: list[Seg], rng: Random, *, delay_us: int = 400_000) -> list[Seg]:
    """What a busy network does without losing anything for good: packets out of order, sent again with other cuts,
    overlapping, twice, kept alive. What opens a connection stays in front of what follows.
    """
    streams: dict[tuple[Address, Address], list[Seg]] = {}
    for one in segments:
        streams.setdefault((one.source, one.target), []).append(one)
    moved: list[tuple[int, int, Seg]] = []
    for own in streams.values():
        payload = [one for one in own if one.data]
        for at, one in enumerate(own):
            late = rng.randrange(delay_us) if one.data and rng.random() < 0.2 else 0
            moved.append((one.ts + late, len(moved), replace(one, ts=one.ts + late)))
            if one.flags & SYN:
                if rng.random() < 0.3:
                    moved.append((one.ts, len(moved), one))
                continue
            if rng.random() < 0.15:
                moved.append((one.ts + late, len(moved), replace(one, ts=one.ts + late)))
            if one.data and rng.random() < 0.1:
                again = one.ts + rng.randrange(delay_us)
                moved.append((again, len(moved), replace(one, ts=again)))
            if one.data and rng.random() < 0.05:
                alive = replace(one, ts=one.ts, sequence=(one.sequence - 1) % WHOLE, data=b"\0", flags=ACK)
                if at and own[at - 1].data:
                    alive = replace(alive, data=own[at - 1].data[-1:])
                    moved.append((one.ts, len(moved), alive))
        for _ in range(len(payload) // 5):
            at = rng.randrange(len(payload))
            run = payload[at : at + rng.randint(2, 4)]
            joined = b"".join(one.data for one in run)
            skip = rng.randrange(len(run[0].data))
            ts = run[-1].ts + rng.randrange(delay_us)
            sequence = (run[0].sequence + skip) % WHOLE
            again = replace(
                run[0], ts=ts, sequence=sequence, data=joined[skip : len(joined) - rng.randrange(len(run[-1].data))]
            )
            moved.append((ts, len(moved), again))
    return [one for _, _, one in sorted(moved)]
