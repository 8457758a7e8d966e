"""Arrays of records that repeat the shape of their predecessor, written by a loop specialized to that shape.

The mirror of :mod:`.specialized_decode`: once two neighbours agree in the lengths of all their strings and arrays, a
loop for those lengths goes on, which needs a single ``pack`` a record. It stops before the first record that differs.
For the partitions of an OffsetCommit request whose metadata is an empty string::

    def loop(records, index, count, write):
        out = []
        append = out.append
        end = min(count, index + 4096)
        for index in range(index, end):
            r = records[index]
            v1 = r.committed_metadata
            if not (v1 is not None):
                break
            v1 = v1.encode()
            if not (len(v1) == 0):
                break
            if not (not r.unknown_tagged_fields):
                break
            append(pack(r.partition_index, r.committed_offset, r.committed_leader_epoch, 256))  # ">lqlH"
        else:
            index = end
        write(b"".join(out))
        return index
"""

from collections.abc import Callable, Sequence
from typing import Any

from construct import Construct

from ..wire import (
    Absent,
    Blob,
    CountedArray,
    Fixed,
    NullableRecord,
    RecordStruct,
    TaggedFields,
    Text,
    UuidConstruct,
    unsigned_varint,
)
from .source import GeneratedSource
from .specialized_decode import MAX_LOOPS, MAX_VALUES, MIN_RECORDS_TO_COMPILE, NotSpecializable, Shape

Loop = Callable[[Sequence[Any], int, int, Callable[[bytes], None]], int]

RECORDS_JOINED = 4096  # records joined at a time: one string takes less memory than many


def packs_whole(construct: RecordStruct) -> bool:
    """Whether records of this construct can be written by one ``pack`` each: all but those with long bytes in them."""
    return not any(
        isinstance(sub.subcon, Blob)
        or (isinstance(sub.subcon, RecordStruct) and not packs_whole(sub.subcon))
        or (isinstance(sub.subcon, CountedArray) and isinstance(sub.subcon.subcon, RecordStruct))
        for sub in construct.subcons
    )


def specialized_writer(
    construct: RecordStruct,
) -> Callable[[Shape, Sequence[Any], int, int, Callable[[bytes], None]], int]:
    """``(shape, records, index, count, write) -> index``: writes records of a shape as long as they come."""
    loops: dict[Shape, Loop | None] = {}

    def write(shape: Shape, records: Sequence[Any], index: int, count: int, write: Callable[[bytes], None]) -> int:
        loop = loops.get(shape)
        if loop is None:
            if count - index < MIN_RECORDS_TO_COMPILE or len(loops) > MAX_LOOPS or shape in loops:
                return index
            try:
                loop = loops[shape] = EncodeLoopWriter().loop(construct, shape)
            except NotSpecializable:
                loops[shape] = None
                return index
        return loop(records, index, count, write)

    return write


class EncodeLoopWriter:
    """Emits the loop for one shape; ``codes`` and ``values`` are what each record packs."""

    def __init__(self) -> None:
        self.source = GeneratedSource("loop")
        self.body: list[str] = []
        self.codes: list[str] = []
        self.values: list[str] = []
        self.constant = b""

    def loop(self, construct: RecordStruct, shape: Shape) -> Loop:
        """The loop, compiled."""
        source, self.shape = self.source, iter(shape)
        self.record(construct, "r")
        self.end_constant()
        if len(self.values) > MAX_VALUES:
            raise NotSpecializable
        pack = source.struct("pack", "".join(self.codes))
        with source.block("def loop(records, index, count, write):"):
            source.add("out = []", "append = out.append", f"end = min(count, index + {RECORDS_JOINED})")
            with source.block("for index in range(index, end):"):
                source.add("r = records[index]", *self.body, f"append({pack}({', '.join(self.values)}))")
            source.add("else:", "    index = end", "write(b''.join(out))", "return index")
        return source.run("loop")

    def pack(self, code: str, value: str) -> None:
        """Have a value packed."""
        self.end_constant()
        self.codes.append(code)
        self.values.append(value)

    def end_constant(self) -> None:
        """Have the bytes that are the same in every record packed as few numbers."""
        data, self.constant = self.constant, b""
        while data:
            width = next(width for width in (8, 4, 2, 1) if width <= len(data))
            self.codes.append({8: "Q", 4: "L", 2: "H", 1: "B"}[width])
            self.values.append(str(int.from_bytes(data[:width])))
            data = data[width:]

    def value(self, construct: Construct, value: str) -> None:
        """Have one value packed, given as an expression."""
        match construct:
            case Fixed():
                self.pack(construct.code, value)
            case UuidConstruct():
                name = self.named(value)
                self.body += [f"if len({name}) != 16:", "    raise Refused"]
                self.pack("16s", name)
            case Absent():
                if not construct.ignorable:
                    self.body += [
                        f"if {value} != {self.source.constant(construct, construct.default)}:",
                        "    raise Refused",
                    ]
            case Text() | CountedArray():
                self.sized(construct, value)
            case NullableRecord():
                self.leave_unless(f"{value} is None")
                self.constant += bytes([0]) if construct.compact else b"\xff"
            case RecordStruct():
                self.record(construct, self.named(value))
            case _:
                raise NotSpecializable

    def named(self, value: str) -> str:
        """A variable for a value."""
        name = self.source.fresh("v")
        self.body.append(f"{name} = {value}")
        return name

    def leave_unless(self, condition: str) -> None:
        """End the loop before a record that differs."""
        self.body += [f"if not ({condition}):", "    break"]

    def sized(self, construct: Text | CountedArray, value: str) -> None:
        """A string, or an array of numbers or uuids, of known length."""
        length, count = construct.length, next(self.shape)
        prefix = (
            unsigned_varint(count + 1) if length.compact else count.to_bytes(length.subcon.length, "big", signed=True)
        )
        if count < 0:
            self.leave_unless(f"{value} is None")
            self.constant += prefix
            return
        name = self.named(value)
        if isinstance(construct, Text):
            if length.nullable:
                self.leave_unless(f"{name} is not None")
            self.body.append(f"{name} = {name}.encode()")
            self.leave_unless(f"len({name}) == {count}")
        else:
            self.leave_unless(f"type({name}) is list and len({name}) == {count}")
        self.constant += prefix
        if isinstance(construct, Text):
            if count:
                self.pack(f"{count}s", name)
        elif count:
            if not isinstance(construct.subcon, (Fixed, UuidConstruct)) or count > MAX_VALUES:
                raise NotSpecializable
            items = [self.source.fresh("v") for _ in range(count)]
            self.body.append(f"{', '.join(items)}, = {name}")
            for item in items:
                self.value(construct.subcon, item)

    def record(self, construct: RecordStruct, name: str) -> None:
        """Every field; tagged ones must be absent."""
        for sub in construct.subcons:
            if not isinstance(sub.subcon, TaggedFields):
                self.value(sub.subcon, f"{name}.{sub.name}")
                continue
            for field in sub.subcon.known.values():
                default = self.source.constant(field.subcon, sub.subcon.defaults[field.name])
                self.leave_unless(f"{name}.{field.name} == {default}")
            self.leave_unless(f"not {name}.unknown_tagged_fields")
            self.constant += b"\0"
