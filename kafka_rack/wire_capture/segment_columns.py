"""Many TCP segments at once, as columns: what :func:`.segments.segment_of` gives packet by packet.

The plain case, IPv4 or IPv6 without extensions, behind some VLAN tags at most, is read by operations on arrays. Any
other packet goes through :func:`.segments.segment_of` by itself, and stands among the others in its place.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_rack.wire_capture.segments import (
    AUTHENTICATION,
    COOKED,
    COOKED_V2,
    ETHERNET,
    EXTENSIONS,
    FIN,
    FRAGMENT,
    INTERNET_TYPES,
    LINK_TYPES,
    LOOP,
    NULL,
    RST,
    SYN,
    TCP,
    VLAN_TYPES,
    Endpoint,
    TcpSegment,
    ipv4_text,
    ipv6_text,
)

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]
ALONE = 256
"""Beside a segment's flags: its bytes are in ``alone``."""
IPV4_ENDS, IPV6_ENDS = 12, 36
"""Bytes of addresses and ports, which stand together: both addresses, both ports."""
MAX_ENDS = 100_000
MAX_TAGS = 4
"""VLAN tags that are passed over many packets at once: switches put one, or two within another's network."""
PADDING = bytes(64)
SEGMENT = np.dtype(
    [
        ("offset", "<i8"),
        ("ts", "<i8"),
        ("size", "<i8"),
        ("sequence", "<u4"),
        ("kept", "<u4"),
        ("said", "<u4"),
        ("number", "<u4"),
        ("flags", "u1"),
    ]
)
"""As :data:`.packet_ranges.SEGMENT`."""


Pair = tuple[Endpoint, Endpoint]


class Ends(NamedTuple):
    """Who sends to whom, and the connection's key: the same ends in order."""

    source: Endpoint
    target: Endpoint
    key: tuple[Endpoint, Endpoint]


def ends_of(source: Endpoint, target: Endpoint) -> Ends:
    return Ends(source, target, (source, target) if source <= target else (target, source))


class SegmentColumns(NamedTuple):
    """Segments in the file's order; every list has an element a segment.

    ``data``: what holds their bytes, those of a segment from ``start`` on, ``kept`` of the ``size`` that were sent.
    ``number``: its ends, in ``ends``. ``alone``: by row, segments whose
    bytes are not there.
    ``position``: where the packets begin; ``first_second``: the time of the first one.
    """

    data: bytes
    offset: list[int]
    ts: list[int]
    size: list[int]
    sequence: list[int]
    flags: list[int]
    start: list[int]
    kept: list[int]
    number: list[int]
    ends: list[Ends]
    alone: dict[int, TcpSegment]
    position: int = 0
    first_second: int = 0

    def segment(self, row: int) -> TcpSegment:
        """The segment of a row."""
        if self.flags[row] & ALONE:
            return self.alone[row]
        start, ends = self.start[row], self.ends[self.number[row]]
        data = self.data[start : start + self.kept[row]]
        return TcpSegment(
            self.offset[row],
            self.ts[row],
            ends.source,
            ends.target,
            self.sequence[row],
            self.flags[row],
            data,
            self.size[row],
        )


class EndsCache:
    """Ends by the bytes that they have in packets."""

    def __init__(self) -> None:
        self.known: dict[bytes, Ends] = {}

    def __call__(self, packed: bytes) -> Ends:
        found = self.known.get(packed)
        if found is None:
            if len(self.known) >= MAX_ENDS:
                self.known.clear()
            width = 4 if len(packed) == IPV4_ENDS else 16
            text = ipv4_text if width == 4 else ipv6_text
            ports = packed[2 * width :]
            found = self.known[packed] = ends_of(
                (text(packed[:width]), int.from_bytes(ports[:2], "big")),
                (text(packed[width : 2 * width]), int.from_bytes(ports[2:], "big")),
            )
        return found


class PacketColumns(NamedTuple):
    """Packets in a file's order: where each begins in the file, its time in us, link type, where its ``size`` bytes
    begin in ``data``, and its length on the wire.

    ``alone``: packets that are to be read by themselves.
    """

    data: bytes
    position: int
    first_second: int
    offset: Numbers
    ts: Numbers
    link_type: Numbers
    start: Numbers
    size: Numbers
    wire_bytes: Numbers
    alone: Flags


def segments_of(
    packets: PacketColumns, ends_by: EndsCache, alone: Callable[[int], TcpSegment | None]
) -> SegmentColumns:
    """The segments in packets.

    Args:
        alone: gives the segment of a packet that is not plain, by its number.
    """
    data, length = packets.data, packets.size
    octets = np.frombuffer(data + PADDING, np.uint8)
    begin, limit = packets.start, packets.start + length
    last = len(data)

    def octet(at: Numbers) -> Numbers:
        return octets[np.minimum(at, last)].astype(np.int64)

    def two(at: Numbers) -> Numbers:
        at = np.minimum(at, last)
        return octets[at].astype(np.int64) << 8 | octets[at + 1]

    ip, odd = internet_starts(packets, two)
    odd |= packets.alone
    there = (ip >= 0) & (ip < limit) & ~odd
    first = octet(ip)
    version = first >> 4
    is_v4 = there & (version == 4) & (ip + 20 <= limit) & (octet(ip + 9) == TCP) & (two(ip + 6) & 0x3FFF == 0)
    header4 = (first & 15) * 4
    is_v4 &= header4 >= 20
    is_v6 = there & (version == 6) & (ip + 40 <= limit)
    following = octet(ip + 6)
    odd |= is_v6 & np.isin(following, (*EXTENSIONS, FRAGMENT, AUTHENTICATION))
    is_v6 &= following == TCP
    total4, total6 = two(ip + 2), two(ip + 4)
    tcp = ip + np.where(is_v4, header4, 40)
    end = np.where(is_v4, ip + total4, ip + 40 + total6)
    end = np.where(np.where(is_v4, total4, total6) == 0, begin + packets.wire_bytes, end)
    header = (octet(tcp + 12) >> 4) * 4
    flags = octet(tcp + 13)
    payload = tcp + header
    size = np.maximum(end - payload, 0)
    is_one = (is_v4 | is_v6) & (tcp + 20 <= limit) & (header >= 20)
    is_one &= ~odd & ((size > 0) | (flags & (SYN | FIN | RST) != 0))
    kept = np.maximum(np.minimum(end, limit) - payload, 0)
    sequence = two(tcp + 4) << 16 | two(tcp + 6)
    found = {row: one for row in np.flatnonzero(odd).tolist() if (one := alone(row)) is not None}
    is_one[[*found]] = True
    for row, one in found.items():
        size[row], sequence[row], flags[row] = one.size, one.sequence, one.flags | ALONE
        payload[row], kept[row] = 0, len(one.data)
    ts = packets.ts.copy()
    ts[[*found]] = [one.ts for one in found.values()]
    rows = np.flatnonzero(is_one)
    addresses = np.where(is_v4, ip + 12, ip + 8)[rows].tolist()
    stops = np.where(is_v4, ip + 12 + IPV4_ENDS, ip + 8 + IPV6_ENDS)[rows].tolist()
    keys: list[bytes | Ends] = [data[at:stop] for at, stop in zip(addresses, stops, strict=True)]
    for row in np.flatnonzero((tcp > ip + 20)[rows] & is_v4[rows]).tolist():  # options stand before the ports
        ports = int(tcp[rows[row]])
        keys[row] = data[addresses[row] : addresses[row] + 8] + data[ports : ports + 4]
    by_itself = {int(np.searchsorted(rows, row)): one for row, one in found.items()}
    for at, one in by_itself.items():
        keys[at] = ends_of(one.source, one.target)
    numbers: dict[bytes | Ends, int] = {}
    number = [numbers.setdefault(key, len(numbers)) for key in keys]
    return SegmentColumns(
        data,
        packets.offset[rows].tolist(),
        ts[rows].tolist(),
        size[rows].tolist(),
        sequence[rows].tolist(),
        flags[rows].tolist(),
        payload[rows].tolist(),
        kept[rows].tolist(),
        number,
        [ends_by(key) if isinstance(key, bytes) else key for key in numbers],
        by_itself,
        packets.position,
        packets.first_second,
    )


def internet_starts(packets: PacketColumns, two: Callable[[Numbers], Numbers]) -> tuple[Numbers, Flags]:
    """Where each packet's IP header begins, -1 where there is none, and which links' headers are to be read alone.

    Args:
        two: the number in the two bytes at a place.
    """
    begin = packets.start
    odd = np.zeros(begin.size, np.bool_)
    ip = np.full(begin.size, -1, np.int64)
    for link_type in np.unique(packets.link_type).tolist():
        mine = packets.link_type == link_type
        link = link_header(link_type)
        if link is None:
            odd |= mine
            continue
        kind_at, link_bytes = link
        behind_link = begin + link_bytes
        if kind_at is not None:
            kind = two(begin + kind_at)
            for _ in range(MAX_TAGS):
                tagged = mine & np.isin(kind, VLAN_TYPES)
                if not tagged.any():
                    break
                kind = np.where(tagged, two(behind_link + 2), kind)
                behind_link = np.where(tagged, behind_link + 4, behind_link)
            odd |= mine & np.isin(kind, VLAN_TYPES)
            mine &= np.isin(kind, INTERNET_TYPES)
        ip[mine] = behind_link[mine]
    return ip, odd


def link_header(link_type: int) -> tuple[int | None, int] | None:
    """Where a link's header names the protocol of what follows, and its size; None for links that are not known."""
    if link_type == ETHERNET:
        return 12, 14
    if link_type == COOKED:
        return 14, 16
    if link_type == COOKED_V2:
        return 0, 20
    if link_type in (NULL, LOOP):
        return None, 4
    return (None, 0) if link_type in LINK_TYPES else None


def packed_by_worker(
    segments: SegmentColumns, worker_of: Callable[[Pair], int], is_wanted: Callable[[Pair], bool]
) -> Iterator[tuple[int, bytes]]:
    """Segments as chunks, one a worker that has any.

    Args:
        is_wanted: whether anybody looks at the bytes between two ends.
    """
    count = len(segments.offset)
    heads = np.zeros(count, SEGMENT)
    for name in ("offset", "ts", "size", "sequence", "kept", "number"):
        heads[name] = getattr(segments, name)
    heads["flags"] = np.array(segments.flags, np.int64) & 255
    heads["said"][[*segments.alone]] = [len(one.said) for one in segments.alone.values()]
    pairs = [(ends.source, ends.target) for ends in segments.ends]
    wanted, workers = np.array([*map(is_wanted, pairs)], np.bool_), np.array([*map(worker_of, pairs)], np.int64)
    numbers = heads["number"].astype(np.int64)
    heads["kept"][~wanted[numbers]] = 0
    starts = np.array(segments.start, np.int64)
    data, alone = segments.data, segments.alone
    for worker in np.unique(workers[numbers]).tolist():
        rows = np.flatnonzero(workers[numbers] == worker)
        mine = heads[rows]
        own, again = np.unique(mine["number"], return_inverse=True)
        mine["number"] = again
        ends = [pairs[number] for number in own.tolist()]
        stops = starts[rows] + mine["kept"]
        pieces = [data[start:stop] for start, stop in zip(starts[rows].tolist(), stops.tolist(), strict=True)]
        if alone:
            for at, row in enumerate(rows.tolist()):
                if row in alone:
                    pieces[at] = alone[row].data[: mine["kept"][at]] + alone[row].said
        yield worker, pickle.dumps((ends, mine.tobytes(), b"".join(pieces)))


def columns_in(chunk: bytes) -> SegmentColumns:
    """The segments of a chunk."""
    pairs, packed, data = pickle.loads(chunk)  # noqa: S301 - our own
    heads = np.frombuffer(packed, SEGMENT)
    lengths = heads["kept"].astype(np.int64) + heads["said"]
    starts = np.cumsum(lengths) - lengths
    ends = [ends_of(*pair) for pair in pairs]
    flags = heads["flags"].astype(np.int64)
    alone = {}
    for row in np.flatnonzero(heads["said"]).tolist():
        one, start = heads[row], int(starts[row])
        middle = start + int(one["kept"])
        source, target, _ = ends[one["number"]]
        alone[row] = TcpSegment(
            int(one["offset"]),
            int(one["ts"]),
            source,
            target,
            int(one["sequence"]),
            int(one["flags"]),
            data[start:middle],
            int(one["size"]),
            data[middle : middle + int(one["said"])],
        )
    flags[[*alone]] |= ALONE
    of = {name: heads[name].tolist() for name in ("offset", "ts", "size", "sequence", "kept", "number")}
    return SegmentColumns(
        data,
        of["offset"],
        of["ts"],
        of["size"],
        of["sequence"],
        flags.tolist(),
        starts.tolist(),
        of["kept"],
        of["number"],
        ends,
        alone,
    )


def are_plain(segments: SegmentColumns) -> Sequence[bool]:
    """By row, whether a segment carries bytes, all of which are here, and nothing else."""
    flags, size, kept = (np.array(column, np.int64) for column in (segments.flags, segments.size, segments.kept))
    found: list[bool] = ((flags & (SYN | FIN | RST | ALONE) == 0) & (size > 0) & (kept == size)).tolist()
    return found
