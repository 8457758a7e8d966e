"""Encoders: one function a message version, ``encode(m) -> bytes``; when it fails it calls ``explain``.

Neighbouring fields of fixed width, with a length behind them, become one ``pack``. A compact length takes one byte
nearly always, so the pack that holds it has a twin without, for the long case. For a Heartbeat v4 response::

    def encode(m):
        out = []
        w = out.append
        try:
            if m.unknown_tagged_fields:
                w(pack_lh(m.throttle_time_ms, m.error_code))
                w(tags(m))
            else:
                w(pack_lhB(m.throttle_time_ms, m.error_code, 0))
            return b"".join(out)
        except Exception:
            return explain(m)
"""

from contextlib import nullcontext
from typing import Any, NamedTuple

from construct import Construct

from ..wire import (
    Absent,
    Blob,
    CountedArray,
    Fixed,
    Length,
    NullableRecord,
    RecordStruct,
    TaggedFields,
    Text,
    UuidConstruct,
)
from . import writing
from .source import GeneratedSource


def encoder_source(construct: RecordStruct, *, in_pieces: bool = False) -> GeneratedSource:
    """The source of an encoder for ``construct``.

    ``in_pieces``: it gives its bytes as a list, large values of bytes as they are, of which ``Pieces`` are several, and
    all between joined.
    """
    writer = EncoderWriter(in_pieces=in_pieces)
    source = writer.source
    with source.block("def encode(m):"):
        source.add("out = []", "w = out.append")
        with source.block("try:"):
            writer.record(construct, "m")
            writer.flush()
            source.add("return few_pieces(out)" if in_pieces else "return b''.join(out)")
        source.add("except Exception:", "    return explain(m)")
    return source


class Packed(NamedTuple):
    """A value of fixed width in a run; or an array of numbers behind its count, which is in the variable ``counted``.

    The ``code`` is as :mod:`struct` has it, of an array ``count*item``, where ``B`` is a compact count.
    """

    code: str
    value: str
    counted: str = ""

    def argument(self) -> str:
        """The argument of ``pack`` for it."""
        if not self.counted:
            return self.value
        return f"{self.counted}{' + 1' * self.code.startswith('B*')}, *{self.value}"


class EncoderWriter:
    """Emits the encoder of a record and all that nests in it.

    ``run`` gathers values of fixed width.
    """

    def __init__(self, *, in_pieces: bool = False) -> None:
        self.in_pieces = in_pieces
        self.source = GeneratedSource("encode")
        self.source.namespace |= writing.NAMES
        self.run: list[Packed] = []

    # -- runs --------------------------------------------------------------------------------------------------------

    def fixed(self, code: str, value: str) -> None:
        """Have a value of fixed width written with the present run."""
        self.run.append(Packed(code, value))

    def flush(self, *further: Packed) -> None:
        """Write the run, and ``further`` values with it, by one ``pack``."""
        run = [*self.run, *further]
        self.run = []
        if any(part.counted for part in run):
            self.flush_numbers(run)
        elif run == [("B", "0", "")]:
            self.source.add(r"w(b'\0')")
        elif run:
            pack = self.source.struct("pack", "".join(part.code for part in run))
            self.source.add(f"w({pack}({', '.join(part.value for part in run)}))")

    def flush_numbers(self, run: list[Packed]) -> None:
        """The same where arrays of numbers are in the run: their counts say which ``pack`` is meant."""
        source = self.source
        packers = source.refer("packers", writing.Packers([part.code for part in run]))
        counts = [part.counted for part in run if part.counted]
        arguments = ", ".join(part.argument() for part in run)
        short = " and ".join(f"{part.counted} < 127" for part in run if part.code.startswith("B*"))
        with source.block(f"if {short}:") if short else nullcontext():
            source.add(f"w({packers}[{', '.join(counts)}]({arguments}))")
        if short:
            codes = tuple(part.code for part in run)
            values = ", ".join(f"({part.counted}, {part.value})" if part.counted else part.value for part in run)
            source.add("else:", f"    w(long_run({codes}, ({values},)))")

    def length(self, length: Length, count: str) -> None:
        """Write the run and the length ``count``, a variable, with it; null is -1."""
        source, run = self.source, self.run
        if not length.compact:
            self.flush(Packed(length.subcon.code, count))
            return
        with source.block(f"if {count} < 127:"):
            if run:
                self.flush(Packed("B", f"{count} + 1"))
            else:
                source.add(f"w(short_length[{count}])")
        with source.block("else:"):
            self.run = run
            self.flush()
            source.add(f"w(varint({count} + 1))")

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, construct: Construct, value: str) -> None:
        """Emit the write of one value, given as an expression."""
        match construct:
            case Fixed():
                self.fixed(construct.code, value)
            case UuidConstruct():
                name = self.source.fresh("u")
                self.source.add(f"{name} = {value}", f"if len({name}) != 16:", "    raise Refused")
                self.fixed("16s", name)
            case Absent():
                self.absent(construct, value)
            case Text() | Blob():
                self.sized(construct, value)
            case CountedArray():
                self.array(construct, value)
            case NullableRecord():
                self.nullable_record(construct, value)
            case RecordStruct():
                name = self.source.fresh("r")
                self.source.add(f"{name} = {value}")
                self.record(construct, name)
            case _:
                raise NotImplementedError(construct)

    def absent(self, construct: Absent, value: str) -> None:
        """A field that the version lacks has its default, or may be dropped."""
        if not construct.ignorable:
            default = self.source.constant(construct, construct.default)
            self.source.add(f"if {value} != {default}:", "    raise Refused")

    def sized(self, construct: Text | Blob, value: str) -> None:
        """A string or bytes behind its length."""
        source, length, run = self.source, construct.length, self.run
        data, count = source.fresh("s"), source.fresh("n")
        source.add(f"{data} = {value}")
        if length.nullable:
            with source.block(f"if {data} is None:"):
                source.add(f"{count} = -1")
                self.flush(Packed("B", "0") if length.compact else Packed(length.subcon.code, "-1"))
            self.run = run
        with source.block("else:") if length.nullable else nullcontext():
            if isinstance(construct, Text):
                source.add(f"{data} = {data}.encode()")
            source.add(f"{count} = len({data})")
            if isinstance(construct, Text) and length.compact:
                source.add(f"if {count} > {writing.MAX_STRING_BYTES}:", "    raise Refused")
            self.length(length, count)
            if self.in_pieces and isinstance(construct, Blob):
                source.add(f"if type({data}) is Pieces:", f"    out.extend({data}.pieces)", "else:", f"    w({data})")
            else:
                source.add(f"w({data})")

    def array(self, construct: CountedArray, value: str) -> None:
        """Items behind their count."""
        source, length, item = self.source, construct.length, construct.subcon
        items, count = source.fresh("a"), source.fresh("n")
        source.add(f"{items} = {value}")
        source.add(f"if type({items}) is not list:", f"    {items} = sequence({items}, {length.nullable})")
        if length.nullable:
            source.add(f"if {items} is None:", f"    {count} = -1", f"    {items} = ()", "else:")
            source.add(f"    {count} = len({items})")
        else:
            source.add(f"{count} = len({items})")
        if isinstance(item, Fixed):
            self.run.append(Packed(f"{'B' if length.compact else length.subcon.code}*{item.code}", items, count))
            return
        self.length(length, count)
        one = source.fresh("i")
        with source.block(f"for {one} in {items}:"):
            self.item(item, one)

    def item(self, item: Construct, one: str) -> None:
        """Write one item of an array."""
        if isinstance(item, RecordStruct) and one.isidentifier():
            self.record(item, one)
        else:
            self.value(item, one)
        self.flush()

    # -- records -----------------------------------------------------------------------------------------------------

    def nullable_record(self, construct: NullableRecord, value: str) -> None:
        """A record behind the marker that says whether it is there."""
        source = self.source
        name = source.fresh("r")
        code, null = ("B", 0) if construct.compact else ("b", -1)
        source.add(f"{name} = {value}")
        run = self.run
        with source.block(f"if {name} is None:"):
            self.flush(Packed(code, str(null)))
        with source.block("else:"):
            self.run = [*run, Packed(code, "1")]
            self.item(construct.subcon, name)

    def record(self, construct: RecordStruct, name: str) -> None:
        """Every field, then the tagged ones."""
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                self.tagged(sub.subcon, name)
            else:
                self.value(sub.subcon, f"{name}.{sub.name}")

    def tagged(self, construct: TaggedFields, name: str) -> None:
        """The tagged fields; nearly always there are none, and one zero byte ends the run."""
        source, run = self.source, self.run
        present = [
            f"{name}.{field.name} != {source.constant(field.subcon, construct.defaults[field.name])}"
            for field in construct.known.values()
        ]
        with source.block(f"if {' or '.join([f'{name}.unknown_tagged_fields', *present])}:"):
            self.flush()
            source.add(f"w({source.refer('tags', tags_writer(construct))}({name}))")
        with source.block("else:"):
            self.run = run
            self.flush(Packed("B", "0"))


def tags_writer(construct: TaggedFields) -> Any:
    """A function that gives the bytes of a record's tagged fields, of which there are some."""
    if not construct.known:
        return writing.unknown_tagged_fields
    writer = EncoderWriter()
    source = writer.source
    source.entry = "write_tags"
    with source.block("def write_tags(r):"):
        source.add("chosen = []")
        for tag, field in construct.known.items():
            with source.block(f"if r.{field.name} != {source.constant(field.subcon, construct.defaults[field.name])}:"):
                source.add("out = []", "w = out.append")
                writer.item(field.subcon, f"r.{field.name}")
                source.add(f"chosen.append(({tag}, b''.join(out)))")
        source.add(f"return tagged_fields(r.unknown_tagged_fields, chosen, {tuple(construct.known)})")
    return source.run("write_tags")
