"""A pcap of any size, made of the real ones: in each copy the clients have an address of their own.

Only that address, the IP header's checksum that follows from it, and the time of a packet differ from what tcpdump saw.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench.pipeline.inputs import Input
from tests.fixture_data import CAPTURES

NAMES = ("aiokafka", "confluent-classic", "java41-range", "kafkajs")
"""Those recorded as pcap, all by Ethernet and IPv4 on one machine's loopback."""
BROKER_PORTS = range(22100, 22103)
ETHERNET, IP, ADDRESSES = 14, 20, 26
US = 1_000_000
START_S = 1_700_000_000


class Packet(NamedTuple):
    """A captured packet; ``ts`` in microseconds from the round's beginning."""

    ts: int
    data: bytes
    from_client: bool


def packets_of(target: Path, size_mb: float) -> Input:
    """The pcap files one behind the other, in the whole rounds that come nearest to a size. Frames are not counted."""
    packets, span = one_round()
    size = sum(len(packet.data) + 16 for packet in packets)
    rounds = max(1, round(size_mb * US / size))
    head = gzip.decompress((CAPTURES / f"{NAMES[0]}.pcap.gz").read_bytes())[:24]
    with target.open("wb", buffering=1 << 20) as file:
        file.write(head)
        for number in range(rounds):
            address = bytes((127, 1 + (number >> 16), (number >> 8) & 255, number & 255))
            for packet in packets:
                ts, length = number * span + packet.ts, len(packet.data)
                file.write(struct.pack("<IIII", START_S + ts // US, ts % US, length, length))
                file.write(with_client(packet, address))
    return Input(target, target.stat().st_size, 0)


def one_round() -> tuple[list[Packet], int]:
    """The packets of all files and how long they take, in microseconds."""
    packets: list[Packet] = []
    ts = 0
    for name in NAMES:
        found = list(read_packets(gzip.decompress((CAPTURES / f"{name}.pcap.gz").read_bytes())))
        first = found[0].ts
        packets += [packet._replace(ts=ts + packet.ts - first) for packet in found]
        ts = max(packet.ts for packet in packets) + 10 * US
    return packets, ts


def read_packets(data: bytes) -> Iterator[Packet]:
    """The packets of a pcap in little-endian order with microseconds, Ethernet, IPv4 and TCP throughout."""
    magic, _, _, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, link) == (0xA1B2C3D4, 1)
    at = 24
    while at < len(data):
        seconds, us, captured, _ = struct.unpack_from("<IIII", data, at)
        packet = data[at + 16 : at + 16 + captured]
        assert packet[12:15] == b"\x08\x00\x45"
        to_port = int.from_bytes(packet[ETHERNET + IP + 2 : ETHERNET + IP + 4], "big")
        yield Packet(seconds * US + us, packet, to_port in BROKER_PORTS)
        at += 16 + captured


def with_client(packet: Packet, address: bytes) -> bytes:
    """A packet to or from another client's address."""
    data = bytearray(packet.data)
    at = ADDRESSES if packet.from_client else ADDRESSES + 4
    data[at : at + 4] = address
    data[ETHERNET + 10 : ETHERNET + 12] = b"\0\0"
    total = sum(struct.unpack_from(">10H", data, ETHERNET))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    struct.pack_into(">H", data, ETHERNET + 10, ~total & 0xFFFF)
    return bytes(data)
