"""Arrays of records that repeat the shape of their predecessor, read by a loop made for that shape.

The partitions of a Metadata response nearly all have as many replicas, as many of them in sync and none offline. Once
two neighbours agree in the lengths of all their strings and arrays, the rest is guessed to agree as well: with every
length fixed, a whole record is one fixed run of bytes, and one ``struct`` takes all of it. The lengths met are compared
with those expected; at the first difference the loop stops before that record, and the general code reads on.

Only the length of ``bytes`` and ``records`` stays open, as it hardly ever repeats.
"""

from collections.abc import Callable, Iterator
from typing import Any

from construct import Construct

from ..wire import (
    Absent,
    Blob,
    Boolean,
    CountedArray,
    Fixed,
    Length,
    NullableRecord,
    Record,
    TaggedFields,
    Text,
    UuidConstruct,
    unsigned_varint,
)
from . import reading
from .sizes import width
from .source import Source

Loop = Callable[[bytes, int, int, list[Any]], tuple[int, int]]
Shape = tuple[int, ...]

FEWEST = 3  # records up to which no loop is entered
WORTHWHILE = 16  # records, and message bytes below, for which a loop is compiled: that takes as long as reading 1,000
WORTHWHILE_BYTES = 4096
FIXED_WORTHWHILE_BYTES = 256  # the same where one loop will serve for ever; compiling takes 60 KB for a moment
MOST_LOOPS = 16  # shapes of one array that are kept
MOST_VALUES = 64  # values of one record that a loop takes apart


class Misfit(Exception):
    """A shape for which there is no loop."""


def repeats(construct: Record) -> bool:
    """Whether a record of this construct can be of one shape with its neighbour."""
    return all(
        not isinstance(part, CountedArray) or not isinstance(part.subcon, Record) or part.length.nullable
        for part in variable_parts(construct)
    )


def variable_parts(construct: Record) -> Iterator[Construct]:
    """The parts of a record whose lengths make its shape, in order."""
    for sub in construct.subcons:
        part = sub.subcon
        if isinstance(part, Record):
            yield from variable_parts(part)
        elif isinstance(part, (Text, CountedArray, NullableRecord)):
            yield part


def alike_reader(
    construct: Record, *, sparing: bool
) -> Callable[[Shape | None, bytes, int, int, list[Any]], tuple[int, int]]:
    """``(shape, b, p, count, found) -> (count, p)``: reads records of a shape as long as they come.

    A shape of None stands for the one that served last. What was read is appended to ``found``; the count that is
    left and the position behind the last record are given back. ``sparing`` is said in :func:`.decode.decoder_source`.
    """
    loops: dict[Shape | None, Loop | None] = {}
    if not any(variable_parts(construct)):
        return fixed_reader(construct, sparing)

    def read(shape: Shape | None, b: bytes, p: int, count: int, found: list[Any]) -> tuple[int, int]:
        loop = loops.get(shape)
        if loop is None:
            if shape is None or count < WORTHWHILE or len(b) < WORTHWHILE_BYTES or len(loops) > MOST_LOOPS:
                return count, p
            if shape in loops:
                return count, p
            try:
                loop = loops[shape] = LoopWriter(sparing).loop(construct, shape)
            except Misfit:
                loops[shape] = None
                return count, p
        loops[None] = loop
        return loop(b, p, count, found)

    return read


def fixed_reader(
    construct: Record, sparing: bool
) -> Callable[[Shape | None, bytes, int, int, list[Any]], tuple[int, int]]:
    """The same for records that always have the same width, so that one loop serves for all."""
    made: list[Loop] = []

    def read(_: Shape | None, b: bytes, p: int, count: int, found: list[Any]) -> tuple[int, int]:
        if not made:
            if len(b) < FIXED_WORTHWHILE_BYTES:
                return count, p
            made.append(LoopWriter(sparing).loop(construct, ()))
        return made[0](b, p, count, found)

    return read


class LoopWriter:
    """Emits the loop for one shape; ``parts`` are the stretches of known width between values of open length."""

    def __init__(self, sparing: bool) -> None:
        self.sparing = sparing
        self.source = Source("alike")
        self.source.namespace |= reading.NAMES
        self.codes: list[str] = []
        self.names: list[str] = []
        self.expected: list[tuple[str, int]] = []
        self.constant = b""
        self.body: list[str] = []
        self.opened = False
        self.first_width = 0
        self.values = 0

    def loop(self, construct: Record, shape: Shape) -> Loop:
        """The loop, compiled."""
        self.shape = iter(shape)
        made = self.record(construct)
        self.end_constant()
        if self.opened:
            self.stretch("q")
            return self.chained(made)
        return self.unpacked(made)

    # -- the two forms -----------------------------------------------------------------------------------------------

    def unpacked(self, made: str) -> Loop:
        """All lengths are known: ``iter_unpack`` takes record after record."""
        source = self.source
        codes = "".join(self.codes)
        names = ", ".join(self.names) + ("," if len(self.names) == 1 else "")
        unpack = source.struct("iter_unpack", codes)
        size = width(codes)
        with source.block("def alike(b, p, n, found):"):
            source.add("before = len(found)", "append = found.append")
            source.add(f"part = memoryview(b)[p : p + min(n, (len(b) - p) // {size}) * {size}]")
            with source.block(f"for {names} in {unpack}(part):"):
                source.add(*self.checks(), f"append({made})")
            source.add("done = len(found) - before", f"return n - done, p + done * {size}")
        return source.run("alike")

    def chained(self, made: str) -> Loop:
        """Some lengths are open: one ``unpack_from`` for each stretch between them."""
        source = self.source
        with source.block("def alike(b, p, n, found):"):
            source.add("append = found.append", f"limit = len(b) - {self.first_width}")
            with source.block("while n and p <= limit:"):
                source.add("q = p")
                source.add(*self.body)
                source.add(f"append({made})", "n -= 1", "p = q")
            source.add("return n, p")
        return source.run("alike")

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

    def take(self, code: str, stem: str = "v") -> str:
        """Have a value read; give its variable."""
        self.end_constant()
        self.values += 1
        if self.values > MOST_VALUES:
            raise Misfit
        name = self.source.fresh(stem)
        self.codes.append(code)
        self.names.append(name)
        return name

    def expect(self, data: bytes) -> None:
        """Have bytes read that must be these."""
        self.constant += data

    def end_constant(self) -> None:
        """Compare the expected bytes as few numbers."""
        data, self.constant = self.constant, b""
        while data:
            width = next(width for width in (8, 4, 2, 1) if width <= len(data))
            name = self.source.fresh("k")
            self.codes.append({8: "Q", 4: "L", 2: "H", 1: "B"}[width])
            self.names.append(name)
            self.expected.append((name, int.from_bytes(data[:width])))
            data = data[width:]

    def value(self, construct: Construct) -> str:
        """Have one value read; give the expression that makes it."""
        match construct:
            case Boolean():
                return self.take("?")
            case Fixed():
                name = self.take(construct.code)
                return f"same[{name}]" if self.sparing and construct.code in reading.SHARED else name
            case UuidConstruct():
                return self.take("16s")
            case Absent():
                return self.source.literal(construct.default)
            case Text():
                return self.text(construct)
            case Blob():
                return self.blob(construct)
            case CountedArray():
                return self.array(construct)
            case NullableRecord():
                return self.nullable_record(construct)
            case Record():
                return self.record(construct)
        raise NotImplementedError(construct)

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
            raise Misfit
        self.expect_length(construct.length, count)
        if count <= 0:
            return "''" if count == 0 else "None"
        return f"{self.take(f'{count}s', 's')}.decode()"

    def blob(self, construct: Blob) -> str:
        """Bytes of any length."""
        length, found = construct.length, self.source.fresh("s")
        count = self.take("B" if length.compact else length.subcon.code, "n")
        self.stretch("q")
        self.opened = True
        self.body += [*reading.blob_lines(length, found, count, "q"), "    break"]
        return found

    def array(self, construct: CountedArray) -> str:
        """An array of known length: of numbers or uuids, or of anything when it is empty."""
        count = next(self.shape)
        self.expect_length(construct.length, count)
        if count <= 0:
            return "[]" if count == 0 else "None"
        if not isinstance(construct.subcon, (Fixed, UuidConstruct)) or count > MOST_VALUES:
            raise Misfit
        return f"[{', '.join(self.value(construct.subcon) for _ in range(count))}]"

    def nullable_record(self, construct: NullableRecord) -> str:
        """A record that is null."""
        mark = next(self.shape)
        if mark != (0 if construct.compact else -1):
            raise Misfit
        self.expect(bytes([0]) if construct.compact else b"\xff")
        return "None"

    def record(self, construct: Record) -> str:
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
