"""Captures of packets among the fixtures, taken apart as tcpdump rotates files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

from tests.fixture_data import CAPTURES


def packets_in(data: bytes) -> list[bytes]:
    """The packets of a classic capture with their headers."""
    found, at = [], 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at : at + 16 + size])
        at += 16 + size
    return found


def classic(name: str) -> tuple[bytes, list[bytes]]:
    """A capture's head, and its packets."""
    data = gzip.decompress((CAPTURES / name).read_bytes())
    assert data.startswith(b"\xd4\xc3\xb2\xa1")
    return data[:24], packets_in(data)


def rotate(folder: Path, name: str, parts: int) -> list[Path]:
    """Write a capture as ``x.pcap``, ``x.pcap1``, ...; returns the files in order."""
    head, packets = classic(name)
    files = [folder / f"x.pcap{part or ''}" for part in range(parts)]
    for part, file in enumerate(files):
        mine = packets[len(packets) * part // parts : len(packets) * (part + 1) // parts]
        file.write_bytes(head + b"".join(mine))
    return files
