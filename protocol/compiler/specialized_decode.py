"""Arrays of records that repeat the shape of their predecessor, read by a loop specialized to that shape.

The partitions of a Metadata response nearly all have as many replicas, as many of them in sync and none offline. Once
two neighbours agree in the lengths of all their strings and arrays, the rest is guessed to agree as well: with every
length fixed, a whole record is one fixed run of bytes. The bytes of the lengths then repeat at a fixed stride, where
one comparison checks them for many records at a time, and ``iter_unpack`` takes the rest. At the first record that
differs the loop stops, and the general code reads on. For partitions with three replicas of which none is offline::

    def loop(b, p, n, found):
        step = 64
        while True:
            most = min(step, n, max(len(b) - p, 0) // 42)
            fit = matching(b, p, most, 42, ((14, b"\\x04"), (27, b"\\x04"), (40, b"\\x01"), (41, b"\\x00")))
            part = memoryview(b)[p : p + fit * 42]
            found += [
                Partition(v1, v2, v3, v4, [v5, v6, v7], [v8, v9, v10], [], ())
                for v1, v2, v3, v4, v5, v6, v7, v8, v9, v10 in iter_unpack(part)
            ]  # ">hlllxlllxlllxx"
            n -= fit
            p += fit * 42
            if fit < step:
                return n, p
            step = min(step * 8, 4096)

The length of ``bytes`` and ``records`` hardly ever repeats, so it stays open in the usual loop, which goes from record
to record and reads what lies between two open lengths by one ``unpack_from``. Where it does repeat, as in the
subscriptions of a group's members, it is guessed as well. For the partitions of a Fetch response without aborted
transactions::

    def loop(b, p, n, found):
        append = found.append
        limit = len(b) - 36
        while n and p <= limit:
            q = p
            v1, v2, v3, v4, v5, k6, v7, n9 = unpack_from(b, q)  # ">lhqqqBlB"
            if k6:
                break
            q += 36
            ...  # the rest of the varint n9, then the records s8, which it is the length of
            k14 = b[q]
            if k14:
                break
            q += 1
            append(Partition(v1, v2, v3, v4, v5, EpochEndOffset(), LeaderIdAndEpoch(), SnapshotId(), None, v7, s8, ()))
            n -= 1
            p = q
        return n, p
"""

from collections.abc import Callable, Iterator
from typing import Any

from construct import Construct

from ..wire import (
    Blob,
    CountedArray,
    Fixed,
    Length,
    NullableRecord,
    RecordStruct,
    TaggedFields,
    Text,
    UuidConstruct,
    unsigned_varint,
)
from . import decoder_functions
from .decoded_values import ValueReadWriter
from .sizes import width
from .source import GeneratedSource

Loop = Callable[[bytes, int, int, list[Any]], tuple[int, int]]
Shape = tuple[int, ...]
Reader = Callable[[Shape | None, Shape | None, bytes, int, int, list[Any]], tuple[int, int]]

MIN_RECORDS = 3  # records up to which no loop is entered
MIN_RECORDS_TO_COMPILE = 16  # with fewer records, or message bytes than these, none is compiled:
MIN_BYTES = 4096  # that takes as long as reading 1,000 records
MIN_BYTES_FIXED = 256  # the same where one loop will serve for ever; compiling takes 60 KB for a moment
MAX_LOOPS = 16  # shapes of one array that are kept
MAX_VALUES = 64  # values of one record that a loop takes apart
FIRST_STEP, MAX_STEP = 64, 4096  # records whose lengths are checked at once: few at first, as the next may differ
MAX_BLOB_BYTES = 1024  # bytes of open length above which their repetition is not worth a loop


class NotSpecializable(Exception):
    """A shape for which there is no loop."""


def repeats(construct: RecordStruct) -> bool:
    """Whether a record of this construct can be of one shape with its neighbour."""
    return all(
        not isinstance(part, CountedArray) or not isinstance(part.subcon, RecordStruct) or part.length.nullable
        for part in variable_parts(construct)
    )


def variable_parts(construct: RecordStruct) -> Iterator[Construct]:
    """The parts of a record whose lengths make its shape, in order."""
    for sub in construct.subcons:
        part = sub.subcon
        if isinstance(part, RecordStruct):
            yield from variable_parts(part)
        elif isinstance(part, (Text, CountedArray, NullableRecord)):
            yield part


def has_blobs(construct: RecordStruct) -> bool:
    """Whether there are bytes in a record itself, or in one that stands in it."""
    parts = [sub.subcon for sub in construct.subcons]
    return any(isinstance(part, Blob) or (isinstance(part, RecordStruct) and has_blobs(part)) for part in parts)


def specialized_reader(construct: RecordStruct, *, interning: bool) -> Reader:
    """``(shape, blobs, b, p, count, found) -> (count, p)``: reads records of a shape as long as they come.

    A shape of None stands for the one that served last. ``blobs`` are the lengths of the bytes fields where two
    neighbours agree in them, too, else None. What was read is appended to ``found``; the count that is left and the
    position behind the last record are given back. ``interning`` is said in :func:`.decode.decoder_source`.
    """
    loops: dict[Any, Loop | None] = {}
    if not any(variable_parts(construct)):
        return fixed_reader(construct, interning)

    def specialized(shape: Shape, blobs: Shape | None, b: bytes, count: int) -> Loop | None:
        """The loop for a shape, if there is one or it is worth making."""
        known = (shape, blobs)
        if known in loops:
            return loops[known]
        if count < MIN_RECORDS_TO_COMPILE or len(b) < MIN_BYTES or len(loops) > MAX_LOOPS:
            return None
        try:
            loops[known] = DecodeLoopWriter(interning, blobs).loop(construct, shape)
        except NotSpecializable:
            loops[known] = None
        return loops[known]

    def read(
        shape: Shape | None, blobs: Shape | None, b: bytes, p: int, count: int, found: list[Any]
    ) -> tuple[int, int]:
        if shape is None:
            loop = loops.get(None)
            return loop(b, p, count, found) if loop is not None else (count, p)
        if blobs is not None and (loop := specialized(shape, blobs, b, count)) is not None:
            loops[None] = loop
            count, p = loop(b, p, count, found)
            if count <= MIN_RECORDS:
                return count, p
        if (loop := specialized(shape, None, b, count)) is not None:
            loops[None] = loop
            count, p = loop(b, p, count, found)
        return count, p

    return read


def fixed_reader(construct: RecordStruct, interning: bool) -> Reader:
    """The same for records that differ in the lengths of bytes fields at the most, so that one loop serves for all."""
    made: list[Loop] = []

    def read(_: Shape | None, __: Shape | None, b: bytes, p: int, count: int, found: list[Any]) -> tuple[int, int]:
        if not made:
            if len(b) < MIN_BYTES_FIXED:
                return count, p
            made.append(DecodeLoopWriter(interning, None).loop(construct, ()))
        return made[0](b, p, count, found)

    return read


class DecodeLoopWriter(ValueReadWriter):
    """Emits the loop for one shape, and lengths of bytes fields where those are given.

    ``codes`` and ``names`` are what is unpacked next, ``constant`` the bytes expected there. Where some length is open,
    ``body`` holds the lines for what was read before it.
    """

    def __init__(self, interning: bool, blobs: Shape | None) -> None:
        self.interning = interning
        self.blobs = None if blobs is None else iter(blobs)
        self.source = GeneratedSource("loop")
        self.source.namespace |= decoder_functions.NAMES
        self.codes: list[str] = []
        self.names: list[str] = []
        self.expected: list[tuple[str, int]] = []
        self.constant = b""
        self.body: list[str] = []
        self.open = False
        self.first_width = 0
        self.values = 0

    def loop(self, construct: RecordStruct, shape: Shape) -> Loop:
        """The loop, compiled."""
        self.open = self.blobs is None and has_blobs(construct)
        self.columns: list[tuple[int, bytes]] = []
        self.shape = iter(shape)
        made = self.record(construct)
        self.end_constant()
        if self.open:
            self.stretch("q")
            return self.chained(made)
        return self.strided(made)

    # -- the two forms -----------------------------------------------------------------------------------------------

    def strided(self, made: str) -> Loop:
        """All lengths are known: ``iter_unpack`` takes record after record."""
        source = self.source
        codes = "".join(self.codes)
        size = width(codes)
        columns = source.refer("columns", tuple(self.columns))
        with source.block("def loop(b, p, n, found):"):
            source.add(f"step = {FIRST_STEP}")
            with source.block("while True:"):
                # A cut-off string has left the position behind the end.
                source.add(f"most = min(step, n, max(len(b) - p, 0) // {size})")
                source.add(f"fit = matching(b, p, most, {size}, {columns})" if self.columns else "fit = most")
                source.add(f"part = memoryview(b)[p : p + fit * {size}]")
                if self.names:
                    names = ", ".join(self.names) + ("," if len(self.names) == 1 else "")
                    source.add(f"found += [{made} for {names} in {source.struct('iter_unpack', codes)}(part)]")
                else:
                    source.add(f"found += [{made} for _ in range(fit)]")
                source.add("n -= fit", f"p += fit * {size}")
                source.add("if fit < step:", "    return n, p", f"step = min(step * 8, {MAX_STEP})")
        return source.run("loop")

    def chained(self, made: str) -> Loop:
        """Some lengths are open: one ``unpack_from`` for each stretch between them."""
        source = self.source
        with source.block("def loop(b, p, n, found):"):
            source.add("append = found.append", f"limit = len(b) - {self.first_width}")
            with source.block("while n and p <= limit:"):
                source.add("q = p")
                source.add(*self.body)
                source.add(f"append({made})", "n -= 1", "p = q")
            source.add("return n, p")
        return source.run("loop")

    def checks(self) -> list[str]:
        """Leave the loop where a length differs from the expected one."""
        if not self.expected:
            return []
        differ = " or ".join(f"{name} != {value}" if value else name for name, value in self.expected)
        self.expected = []
        return [f"if {differ}:", "    break"]

    def stretch(self, position: str) -> None:
        """Read what was gathered since the last open length at ``position``, and move that."""
        if not self.codes:
            return
        codes = "".join(self.codes)
        self.first_width = self.first_width or width(codes)
        if codes == "B":
            self.body += [f"{self.names[0]} = b[{position}]", *self.checks(), f"{position} += 1"]
            self.codes, self.names = [], []
            return
        names = ", ".join(self.names) + ("," if len(self.names) == 1 else "")
        unpack = self.source.struct("unpack_from", codes)
        self.body += [f"{names} = {unpack}(b, {position})", *self.checks(), f"{position} += {width(codes)}"]
        self.codes, self.names = [], []

    # -- values ------------------------------------------------------------------------------------------------------

    def fixed(self, code: str, stem: str = "v") -> str:
        """Have a value read; give its variable."""
        self.end_constant()
        self.values += 1
        if self.values > MAX_VALUES:
            raise NotSpecializable
        name = self.source.fresh(stem)
        self.codes.append(code)
        self.names.append(name)
        return name

    def expect(self, data: bytes) -> None:
        """Have bytes read that must be these."""
        self.constant += data

    def end_constant(self) -> None:
        """Compare the expected bytes: as columns where records have a stride, else as few numbers."""
        data, self.constant = self.constant, b""
        if data and not self.open:
            offset = width("".join(self.codes))
            self.columns += [(offset + place, bytes([byte])) for place, byte in enumerate(data)]
            self.codes.append(f"{len(data)}x")
            return
        while data:
            size = next(size for size in (8, 4, 2, 1) if size <= len(data))
            name = self.source.fresh("k")
            self.codes.append({8: "Q", 4: "L", 2: "H", 1: "B"}[size])
            self.names.append(name)
            self.expected.append((name, int.from_bytes(data[:size])))
            data = data[size:]

    def expect_length(self, length: Length, count: int) -> None:
        """Expect the bytes of a length."""
        if length.compact:
            self.expect(unsigned_varint(count + 1))
        else:
            self.expect(count.to_bytes(length.subcon.length, "big", signed=True))

    def text(self, construct: Text) -> str:
        """A string of known length."""
        count = next(self.shape) - construct.length.compact
        if count > 126:  # the general code gives the first byte of longer compact lengths only
            raise NotSpecializable
        self.expect_length(construct.length, count)
        if count <= 0:
            return "''" if count == 0 else "None"
        return f"{self.fixed(f'{count}s', 's')}.decode()"

    def blob(self, construct: Blob) -> str:
        """Bytes of any length, or of a known one."""
        length = construct.length
        if self.blobs is not None:
            size = next(self.blobs) - length.compact
            if size > MAX_BLOB_BYTES:
                raise NotSpecializable
            self.expect_length(length, size)
            if size <= 0:
                return "b''" if size == 0 else "None"
            return self.fixed(f"{size}s", "s")
        found = self.source.fresh("s")
        count = self.fixed("B" if length.compact else length.subcon.code, "n")
        self.stretch("q")
        self.body += [*decoder_functions.blob_lines(length, found, count, "q"), "    break"]
        return found

    def array(self, construct: CountedArray) -> str:
        """An array of known length: of numbers or uuids, or of anything when it is empty."""
        count = next(self.shape)
        self.expect_length(construct.length, count)
        if count <= 0:
            return "[]" if count == 0 else "None"
        if not isinstance(construct.subcon, (Fixed, UuidConstruct)) or count > MAX_VALUES:
            raise NotSpecializable
        return f"[{', '.join(self.value(construct.subcon) for _ in range(count))}]"

    def nullable_record(self, construct: NullableRecord) -> str:
        """A record that is null."""
        mark = next(self.shape)
        if mark != (0 if construct.compact else -1):
            raise NotSpecializable
        self.expect(bytes([0]) if construct.compact else b"\xff")
        return "None"

    def record(self, construct: RecordStruct) -> str:
        """A record, tagged fields absent."""
        values: dict[str, str] = {}
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                self.expect(b"\0")
                for field in sub.subcon.known.values():
                    values[field.name] = self.source.tagged_default(field.subcon, sub.subcon.defaults[field.name])
                values["unknown_tagged_fields"] = "()"
            else:
                values[sub.name] = self.value(sub.subcon)
        fields = construct.record.__struct_fields__  # type: ignore[attr-defined]
        arguments = ", ".join(values[name] for name in fields if name in values)
        return f"{self.source.refer(construct.record.__name__, construct.record)}({arguments})"
