"""The record batches of many records fields at once: what :mod:`.record_sizes` has of each, as arrays.

Whatever is not a whole batch of magic 2 that adds up makes its field odd: those go to :mod:`.record_sizes`, which tells
what is wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafka_rack.wire_tables.record_sizes import count_records
from protocol.compiler.column_reading import MIN_LIVE, Flags, Numbers, Views, joined
from protocol.records import CompressionCodec, RecordError, decompress
from protocol.records.batches import BATCH_HEADER, BATCH_HEADER_SIZE, CODEC_MASK, CRC_COVERS_FROM, LOG_OVERHEAD
from protocol.records.checksum import crc32c_of_part

MAX_HELD_BYTES = 16 << 20
"""Of decompressed records that wait to be counted together."""
MIN_TOGETHER = 40
"""Batches whose next records are worth counting together; fewer are counted one by one."""
MAX_ALIKE_BYTES, MAX_PLAIN_ALIKE_BYTES = 1 << 20, 2 << 10
"""Of a batch that later ones are compared with; one that is not compressed is counted as fast as it is compared."""
MAX_KNOWN_BYTES = 8 << 20
"""Of batches that are known, in each of two generations."""
CRC_AT = 17
"""Where a batch's checksum stands. What comes before is the broker's: the offset, the length, the leader's epoch."""
CODECS = tuple(CompressionCodec)


class Batches(NamedTuple):
    """Batches in their order; ``field`` is the number of the records field that each is in.

    ``odd`` has one element a field. ``keyed`` is whether any record has a key.
    """

    odd: Flags
    field: Numbers
    base_offset: Numbers
    producer_id: Numbers
    attributes: Numbers
    size: Numbers
    records: Numbers
    key_bytes: Numbers
    value_bytes: Numbers
    headers: Numbers
    keyed: Flags

    def of_good_fields(self) -> Batches:
        """Without the batches of odd fields."""
        good = ~self.odd[self.field]
        return self if good.all() else self.where(good)

    def where(self, kept: Flags) -> Batches:
        """These batches only."""
        return Batches(self.odd, **{name: column[kept] for name, column in self._asdict().items() if name != "odd"})


class BatchCounts(NamedTuple):
    """What the records of a batch hold that adds up."""

    key_bytes: int
    value_bytes: int
    headers: int
    keyed: bool


class KnownBatches:
    """What batches held, by their bytes from the checksum on.

    What a producer sends once, followers and consumers fetch as it is: most batches of a capture were in it before.
    """

    def __init__(self) -> None:
        self.recent: dict[bytes, BatchCounts] = {}
        self.older: dict[bytes, BatchCounts] = {}
        self.recent_bytes = 0

    def get(self, key: bytes) -> BatchCounts | None:
        found = self.recent.get(key)
        if found is None and (found := self.older.get(key)) is not None:
            self.add(key, found)
        return found

    def add(self, key: bytes, found: BatchCounts) -> None:
        """Keep what a batch holds; of what is kept the oldest half is forgotten when it is too much."""
        if self.recent_bytes + len(key) > MAX_KNOWN_BYTES:
            self.recent, self.older, self.recent_bytes = {}, self.recent, 0
        self.recent[key] = found
        self.recent_bytes += len(key)

    def keep(self, numbers: dict[bytes, int], counter: BatchCounter) -> None:
        """Keep what was counted of batches by these numbers, where it adds up."""
        columns = (column.tolist() for column in (*counter.columns(), counter.wrong))
        rows = list(zip(*columns, strict=True))
        for key, number in numbers.items():
            *counted, wrong = rows[number]
            if not wrong:
                self.add(key, BatchCounts(*counted))


class BatchCounter:
    """What the records of batches hold, in arrays with one element a batch."""

    def __init__(self, count: int) -> None:
        self.key_bytes = np.zeros(count, np.int64)
        self.value_bytes = np.zeros(count, np.int64)
        self.headers = np.zeros(count, np.int64)
        self.keyed = np.zeros(count, np.bool_)
        self.wrong = np.zeros(count, np.bool_)

    def columns(self) -> tuple[NDArray[Any], ...]:
        """As :class:`BatchCounts` has them."""
        return self.key_bytes, self.value_bytes, self.headers, self.keyed

    def copy(self, again: list[tuple[int, int]], found_before: list[tuple[int, BatchCounts]]) -> None:
        """Fill in batches that are like others here, or before: pairs of a number and the other's number or counts."""
        if found_before:
            numbers, known = zip(*found_before, strict=True)
            for column, values in zip(self.columns(), zip(*known, strict=True), strict=True):
                column[[*numbers]] = values
        if again:
            numbers, firsts = zip(*again, strict=True)
            for column in (*self.columns(), self.wrong):
                column[[*numbers]] = column[[*firsts]]

    def count(self, views: Views, numbers: Numbers, at: Numbers, end: Numbers, records: Numbers) -> None:
        """Walk the records of batches: the first of each, the second of each that has one, and so on."""
        at = at.copy()
        turn = 0
        self.wrong[numbers[(records == 0) & (at != end)]] = True
        live = np.flatnonzero(records > 0)
        while live.size:
            if live.size < MIN_TOGETHER:
                for one in live.tolist():
                    self.count_one(views.data, int(numbers[one]), int(at[one]), int(end[one]), int(records[one]) - turn)
                return
            at[live], good = self.turn(views, numbers[live], at[live], end[live])
            turn += 1
            live = live[good]
            last = records[live] == turn
            if last.any():
                done = live[last]
                self.wrong[numbers[done[at[done] != end[done]]]] = True
                live = live[~last]

    def turn(self, views: Views, numbers: Numbers, at: Numbers, end: Numbers) -> tuple[Numbers, Flags]:
        """One record of each batch; gives where the next ones begin, and which batches go on."""
        size, at = varint(views, at, end)
        following = at + (size >> 1)
        wrong = (size & 1 != 0) | (following > end)
        at = behind_varint(views, behind_varint(views, at + 1, end), end)
        key, at = varint(views, at, end)
        keyed = key & 1 == 0
        key = np.where(keyed, key >> 1, 0)
        value, at = varint(views, np.minimum(at + key, end), end)
        value = np.where(value & 1 == 0, value >> 1, 0)
        headers, at = varint(views, np.minimum(at + value, end), end)
        wrong |= (headers & 1 != 0) | (at > following) | ((headers == 0) & (at != following))
        self.key_bytes[numbers] += key
        self.value_bytes[numbers] += value
        self.headers[numbers] += headers >> 1
        self.keyed[numbers] |= keyed
        self.wrong[numbers[wrong]] = True
        return np.minimum(following, end), ~wrong

    def count_one(self, data: bytes, number: int, at: int, end: int, records: int) -> None:
        """The rest of one batch."""
        found = count_records(data, at, end, records)
        if found is None:
            self.wrong[number] = True
            return
        self.key_bytes[number] += found.key_bytes
        self.value_bytes[number] += found.value_bytes
        self.headers[number] += found.headers
        self.keyed[number] |= found.keyed


TOO_LONG = 1
"""As a varint's value: odd, so negative, and refused as such."""


def varint(views: Views, p: Numbers, end: Numbers) -> tuple[Numbers, Numbers]:
    """Varints of 32 bits as they stand, lowest bit for the sign; of more than five bytes ``TOO_LONG``."""
    number = views.bytes[p].astype(np.int64)
    p = p + 1
    long = np.flatnonzero(number > 127)
    if not long.size:
        return number, p
    number[long] &= 127
    for shift in (7, 14, 21, 28):
        p[long] = np.minimum(p[long], end[long])
        byte = views.bytes[p[long]].astype(np.int64)
        p[long] += 1
        number[long] |= (byte & 127) << shift
        long = long[byte > 127]
        if not long.size:
            return number, p
    number[long] = TOO_LONG
    return number, p


def behind_varint(views: Views, p: Numbers, end: Numbers) -> Numbers:
    """The positions behind varints of any value."""
    p = np.minimum(p, end)
    long = np.flatnonzero(views.bytes[p] > 127)
    while long.size:
        p[long] += 1
        long = long[(p[long] < end[long]) & (views.bytes[p[long]] > 127)]
    p += 1
    return np.minimum(p, end)


def read_batches(views: Views, starts: Numbers, lengths: Numbers, known: KnownBatches | None = None) -> Batches:
    """The batches of records fields, which lie at ``starts``; null ones have a length of -1.

    Args:
        known: what was counted before, to which these are added.
    """
    odd = np.zeros(starts.size, np.bool_)
    fields, positions, sizes, turns = [], [], [], []
    at, end, turn = starts.copy(), starts + lengths, 0
    live = np.flatnonzero(lengths > 0)
    while live.size:
        if turn and live.size < MIN_LIVE:
            for one in live.tolist():
                found = batches_behind(views.data, int(at[one]), int(end[one]))
                if found is None:
                    odd[one] = True
                    continue
                fields.append(np.full(len(found), one))
                positions.append(np.array([position for position, _ in found]))
                sizes.append(np.array([size for _, size in found]))
                turns.append(turn + np.arange(len(found)))
            turn += 1
            break
        p = at[live]
        size = views.number("l", p + 8) + LOG_OVERHEAD
        good = (views.bytes[p + 16] == 2) & (size >= BATCH_HEADER_SIZE) & (size <= end[live] - p)
        good &= (views.number("h", p + 21) & CODEC_MASK) < len(CODECS)
        good &= views.number("l", p + 57) >= 0
        odd[live[~good]] = True
        live, p, size = live[good], p[good], size[good]
        fields.append(live)
        positions.append(p)
        sizes.append(size)
        turns.append(np.full(live.size, turn))
        at[live] = p + size
        live = live[at[live] < end[live]]
        turn += 1
    if not fields:
        none = np.zeros(0, np.int64)
        return Batches(odd, none, none, none, none, none, none, none, none, none, np.zeros(0, np.bool_))
    field, position, size = np.concatenate(fields), np.concatenate(positions), np.concatenate(sizes)
    if turn > 1:
        order = np.lexsort((np.concatenate(turns), field))
        field, position, size = field[order], position[order], size[order]
    records, attributes = views.number("l", position + 57), views.number("h", position + 21)
    counted = counts(views, position, size, attributes & CODEC_MASK, records, known or KnownBatches())
    odd[field[counted.wrong]] = True
    return Batches(
        odd,
        field,
        views.number("q", position),
        views.number("q", position + 43),
        attributes,
        size,
        records,
        counted.key_bytes,
        counted.value_bytes,
        counted.headers,
        counted.keyed,
    ).of_good_fields()


def batches_behind(data: bytes, at: int, end: int) -> list[tuple[int, int]] | None:
    """The places and sizes of the batches of one field from a place on; None where one is odd."""
    found = []
    while at < end:
        if end - at < BATCH_HEADER_SIZE:
            return None
        _, length, _, magic, _, attributes, *_, records = BATCH_HEADER.unpack_from(data, at)
        size = length + LOG_OVERHEAD
        if magic != 2 or not BATCH_HEADER_SIZE <= size <= end - at or records < 0:
            return None
        if attributes & CODEC_MASK >= len(CODECS):
            return None
        found.append((at, size))
        at += size
    return found


def counts(
    views: Views, position: Numbers, size: Numbers, codecs: Numbers, records: Numbers, known: KnownBatches
) -> BatchCounter:
    """Check the batches' sums, and count their records, those of compressed ones a few megabytes at a time."""
    counter = BatchCounter(position.size)
    data = views.data
    expected = views.number("L", position + CRC_AT).tolist()
    bodies: list[bytes] = []
    numbers: list[int] = []
    firsts: dict[bytes, int] = {}
    again: list[tuple[int, int]] = []
    found_before: list[tuple[int, BatchCounts]] = []
    held = 0

    def count_held() -> None:
        if bodies:
            inner, starts, ends = joined(bodies)
            these = np.array(numbers)
            counter.count(inner, these, starts, ends, records[these])
            bodies.clear()
            numbers.clear()

    plain = []
    rows: Any = zip(position.tolist(), (position + size).tolist(), expected, codecs.tolist(), strict=True)
    for number, (start, end, crc, codec) in enumerate(rows):
        if end - start <= (MAX_ALIKE_BYTES if codec else MAX_PLAIN_ALIKE_BYTES):
            key = data[start + CRC_AT : end]
            if (before := known.get(key)) is not None:
                found_before.append((number, before))
                continue
            if (first := firsts.setdefault(key, number)) != number:
                again.append((number, first))
                continue
        if crc32c_of_part(data, start + CRC_COVERS_FROM, end) != crc:
            counter.wrong[number] = True
        elif codec:
            try:
                body = decompress(CODECS[codec], data[start + BATCH_HEADER_SIZE : end])
            except RecordError:
                counter.wrong[number] = True
                continue
            bodies.append(body)
            numbers.append(number)
            held += len(body)
            if held > MAX_HELD_BYTES:
                count_held()
                held = 0
        else:
            plain.append(number)
    count_held()
    if plain:
        these = np.array(plain)
        start, end = position[these] + BATCH_HEADER_SIZE, position[these] + size[these]
        counter.count(views, these, start, end, records[these])
    known.keep(firsts, counter)
    counter.copy(again, found_before)
    return counter
