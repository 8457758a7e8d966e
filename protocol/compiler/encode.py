"""Encoders: one function a message version, ``encode(m) -> bytes``; when it fails it calls ``explain``.

Neighbouring fields of fixed width, with a length behind them, become one ``pack``. A compact length takes one byte
nearly always, so the pack that holds it has a twin without, for the long case.
"""

from typing import Any

from construct import Construct

from ..wire import (
    Absent,
    Blob,
    CountedArray,
    Fixed,
    NullableRecord,
    Record,
    TaggedFields,
    Text,
    UuidConstruct,
)
from . import writing
from .source import Source


def encoder_source(construct: Record) -> Source:
    """The source of an encoder for ``construct``."""
    writer = EncoderWriter()
    source = writer.source
    with source.block("def encode(m):"):
        source.add("out = []", "w = out.append")
        with source.block("try:"):
            writer.record(construct, "m")
            writer.flush()
            source.add("return b''.join(out)")
        source.add("except Exception:", "    return explain(m)")
    return source


class EncoderWriter:
    """Emits the encoder of a record and all that nests in it; ``run`` gathers values of fixed width."""

    def __init__(self) -> None:
        self.source = Source("encode")
        self.source.namespace |= writing.NAMES
        self.run: list[tuple[str, str]] = []

    # -- runs --------------------------------------------------------------------------------------------------------

    def fixed(self, code: str, value: str) -> None:
        """Have a value of fixed width written with the present run."""
        self.run.append((code, value))

    def packed(self, run: list[tuple[str, str]]) -> str:
        """The expression that packs a run."""
        pack = self.source.struct("pack", "".join(code for code, _ in run))
        return f"{pack}({', '.join(value for _, value in run)})"

    def flush(self) -> None:
        """Write the run."""
        if self.run:
            self.source.add(f"w({self.packed(self.run)})")
            self.run = []

    def compact_length(self, count: str) -> None:
        """Write the run, then ``count`` (a variable, null is -1) plus one as a varint."""
        source, run = self.source, self.run
        self.run = []
        with source.block(f"if {count} < 127:"):
            source.add(f"w({self.packed([*run, ('B', f'{count} + 1')])})")
        with source.block("else:"):
            if run:
                source.add(f"w({self.packed(run)})")
            source.add(f"w(varint({count} + 1))")

    def length(self, construct: Any, count: str) -> None:
        """Write the run and the length ``count``."""
        if construct.compact:
            self.compact_length(count)
        else:
            self.fixed(construct.subcon.code, count)
            self.flush()

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
            case Record():
                name = self.source.fresh("r")
                self.source.add(f"{name} = {value}")
                self.record(construct, name)
            case _:
                raise NotImplementedError(construct)

    def absent(self, construct: Absent, value: str) -> None:
        """A field that the version lacks has its default, or may be dropped."""
        if not construct.ignorable:
            default = self.source.literal(construct.default)
            self.source.add(f"if {value} != {default}:", "    raise Refused")

    def sized(self, construct: Text | Blob, value: str) -> None:
        """A string or bytes behind its length."""
        source, length = self.source, construct.length
        data, count = source.fresh("s"), source.fresh("n")
        encode = ".encode()" if isinstance(construct, Text) else ""
        if length.nullable:
            source.add(f"{data} = {value}")
            source.add(f"if {data} is None:", f"    {count} = -1", f"    {data} = b''")
            with source.block("else:"):
                if encode:
                    source.add(f"{data} = {data}{encode}")
                source.add(f"{count} = len({data})")
        else:
            source.add(f"{data} = {value}{encode}", f"{count} = len({data})")
        if isinstance(construct, Text) and length.compact:
            source.add(f"if {count} > {writing.MAX_STRING_BYTES}:", "    raise Refused")
        self.length(length, count)
        source.add(f"w({data})")

    def array(self, construct: CountedArray, value: str) -> None:
        """Items behind their count."""
        source, length, item = self.source, construct.length, construct.subcon
        items, count = source.fresh("a"), source.fresh("n")
        source.add(f"{items} = {value}")
        if length.nullable:
            source.add(f"if {items} is None:", f"    {count} = -1", f"    {items} = ()", "else:")
            source.add(f"    {count} = len({items})")
        else:
            source.add(f"{count} = len({items})")
        self.length(length, count)
        if isinstance(item, Fixed):
            packers = source.refer("packers", writing.PACKERS[item.code])
            source.add(f"if {count} > 0:", f"    w({packers}[{count}](*{items}))")
            return
        one = source.fresh("i")
        with source.block(f"for {one} in {items}:"):
            self.value(item, one)
            self.flush()

    # -- records -----------------------------------------------------------------------------------------------------

    def nullable_record(self, construct: NullableRecord, value: str) -> None:
        """A record behind the marker that says whether it is there."""
        source = self.source
        name = source.fresh("r")
        code, null = ("B", 0) if construct.compact else ("b", -1)
        self.flush()
        source.add(f"{name} = {value}")
        with source.block(f"if {name} is None:"):
            self.fixed(code, str(null))
            self.flush()
        with source.block("else:"):
            self.fixed(code, "1")
            self.record(construct.subcon, name)
            self.flush()

    def record(self, construct: Record, name: str) -> None:
        """Every field, then the tagged ones."""
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                self.tagged(sub.subcon, name)
            else:
                self.value(sub.subcon, f"{name}.{sub.name}")

    def tagged(self, construct: TaggedFields, name: str) -> None:
        """The tagged fields; nearly always there are none, and one zero byte ends the run."""
        source = self.source
        unknown = source.fresh("t")
        source.add(f"{unknown} = {name}.unknown_tagged_fields")
        if not construct.known:
            self.tag_count(f"if {unknown}:", f"tagged_fields({unknown}, (), ())")
            return
        chosen = source.fresh("t")
        source.add(f"{chosen} = []")
        for tag, field in construct.known.items():
            value = source.fresh("v")
            default = source.tagged_default(field.subcon, construct.defaults[field.name])
            source.add(f"{value} = {name}.{field.name}")
            with source.block(f"if {value} != {default}:"):
                writer = source.refer("tag", tag_writer(field.subcon))
                source.add(f"{chosen}.append(({tag}, {writer}({value})))")
        known = tuple(construct.known)
        self.tag_count(f"if {chosen} or {unknown}:", f"tagged_fields({unknown}, {chosen}, {known})")

    def tag_count(self, condition: str, tags: str) -> None:
        """Write the run with a zero behind it, or the run and then the tagged fields."""
        source, run = self.source, self.run
        self.run = []
        with source.block(condition):
            if run:
                source.add(f"w({self.packed(run)})")
            source.add(f"w({tags})")
        with source.block("else:"):
            source.add(f"w({self.packed([*run, ('B', '0')])})")


def tag_writer(construct: Construct) -> Any:
    """A function that gives the bytes of a tagged field's value."""
    writer = EncoderWriter()
    source = writer.source
    with source.block("def tag(v):"):
        source.add("out = []", "w = out.append")
        writer.value(construct, "v")
        writer.flush()
        source.add("return b''.join(out)")
    source.entry = "tag"
    return source.run("tag")
