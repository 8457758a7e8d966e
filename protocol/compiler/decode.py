"""Decoders: one function a message version, ``decode(b, p) -> (message, p)``; when it fails it calls ``explain``.

Neighbouring fields of fixed width, with the first byte or bytes of a length behind them, become one ``unpack_from``.
Slices are taken without looking whether the bytes are there: a cut-off input leaves the position behind the end, which
every later read and the last line notice. Only counts are checked at once, as they would be believed by a loop.

For a Metadata v0 request, which is an array of topic names::

    def decode(b, p=0):
        start = p
        size = len(b)
        try:
            (n2,) = unpack_from(b, p)  # ">l", the count
            p += 4
            if n2 == 0:
                n2 = 0
                a1 = []
            else:
                if n2 < 0 or n2 * 2 > size - p:
                    raise Refused
                ...  # as many topics: a string each
            if p > size:
                raise Refused
            return MetadataRequest(a1, True, False, False, ""), p  # what version 0 lacks has its default
        except Exception:
            return explain(b, start)

A message with lists in lists makes thousands of them, all alive until it is read. The garbage collector would set out
at every 700th, find nothing, and now and then walk over all else that lives in the process: three times the work where
that is much. So the decoder of such a message holds the collector off while it reads one of more than ``PAUSE_FROM``
bytes. The collector is a process's, not a thread's: other threads' garbage waits those milliseconds, too; while several
threads decode it may be on; and if one thread switches it off while another decodes, it is on again afterwards. Making
the records untracked (``gc=False``, see :func:`protocol.declare.build`) does not suffice, as lists cannot be;
``gc.freeze`` and thresholds would have to be undone as well, over what other code has set.
"""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from construct import Construct

from ..wire import (
    Absent,
    Blob,
    Boolean,
    CountedArray,
    Fixed,
    NullableRecord,
    RecordStruct,
    TaggedFields,
    Text,
    UuidConstruct,
)
from . import decoder_functions
from .sizes import min_size, width
from .source import GeneratedSource

INTERN_FROM = 1 << 20  # bytes of a message from which on the same number is kept once only
PAUSE_FROM = 4096  # bytes of a message from which on the garbage collector waits until it is read


def decoder_source(construct: RecordStruct, *, with_views: bool = False, counting: bool = False) -> GeneratedSource:
    """The source of a decoder for ``construct``.

    A large message whose records hold arrays of numbers goes to a second decoder. That one gives the same broker id
    as the same object wherever it stands: the ids of brokers are small in number and sometimes large in value, and
    could else take more memory than all the rest.

    ``with_views``: bytes fields are views of the input, and not copies. ``counting``: the decoder takes a limit too,
    and refuses a message whose arrays have more elements in all, before it makes these.
    """
    writer = DecoderWriter(pausing=has_nested_arrays(construct), with_views=with_views, counting=counting)
    if has_numbers(construct) and not with_views and not counting:
        writer.large = writer.source.refer("large", large_decoder(writer.source, construct))
    return writer.whole(construct)


def large_decoder(source: GeneratedSource, construct: RecordStruct) -> Callable[[bytes, int], Any]:
    """The decoder for large messages, made when the first one comes."""
    made: list[Callable[..., Any]] = []

    def decode_large(b: bytes, p: int) -> Any:
        if not made:
            interning = DecoderWriter(interning=True, pausing=True).whole(construct)
            interning.namespace["explain"] = source.namespace["explain"]
            made.append(interning.run("decode_large"))
        return made[0](b, p)

    return decode_large


def has_numbers(construct: Construct) -> bool:
    """True if there are arrays of numbers in arrays of records."""
    if isinstance(construct, RecordStruct):
        return any(has_numbers(sub.subcon) for sub in construct.subcons)
    if not isinstance(construct, CountedArray) or not isinstance(construct.subcon, RecordStruct):
        return False
    parts = [sub.subcon for sub in construct.subcon.subcons]
    return any(isinstance(one, CountedArray) and isinstance(one.subcon, Fixed) for one in parts) or any(
        map(has_numbers, parts)
    )


def has_nested_arrays(construct: Construct, *, within_array: bool = False) -> bool:
    """True if there are arrays in arrays, so that one message can hold very many lists."""
    if isinstance(construct, CountedArray):
        return within_array or has_nested_arrays(construct.subcon, within_array=True)
    if isinstance(construct, RecordStruct):
        parts = [sub.subcon for sub in construct.subcons]
    elif isinstance(construct, TaggedFields):
        parts = [field.subcon for field in construct.known.values()]
    elif isinstance(construct, NullableRecord):
        parts = [construct.subcon]
    else:
        return False
    return any(has_nested_arrays(part, within_array=within_array) for part in parts)


class DecoderWriter:
    """Emits the decoder of a record and all that nests in it.

    ``run`` gathers fields of fixed width. The position is the variable ``base`` plus ``offset``; before a loop or a
    branch it is settled into ``p``. ``interning`` makes the same number the same object wherever it is.

    ``with_views`` has bytes fields be slices of ``view``, of all the input; in tagged fields they are copies as ever.
    ``counting`` gives it a third argument, how many elements all arrays may have, tagged fields among them; the
    variable ``items`` counts down from there, and ``explain`` gets that limit where there were more, else None.
    """

    def __init__(
        self, *, interning: bool = False, pausing: bool = False, with_views: bool = False, counting: bool = False
    ) -> None:
        self.interning, self.pausing, self.with_views, self.counting = interning, pausing, with_views, counting
        self.large = ""
        self.source = GeneratedSource("decode")
        self.source.namespace |= decoder_functions.NAMES
        self.run: list[tuple[str, str]] = []
        self.base, self.offset = "p", 0

    def whole(self, construct: RecordStruct) -> GeneratedSource:
        """The function for the outermost record."""
        source = self.source
        with source.block("def decode(b, p, limit):" if self.counting else "def decode(b, p=0):"):
            source.add("start = p", "size = len(b)")
            if self.counting:
                source.add("items = limit")
            if self.large:
                source.add(f"if size > {INTERN_FROM}:", f"    return {self.large}(b, p)")
            if self.with_views:
                source.add("view = memoryview(b)")
            if self.interning:
                source.add("interned.clear()")
            if self.pausing:
                source.add(f"paused = size > {PAUSE_FROM} and gc_isenabled()")
            with source.block("try:"):
                if self.pausing:
                    source.add("if paused:", "    gc_disable()")
                made = self.record(construct)
                self.settle()
                source.add("if p > size:", "    raise Refused", f"return {made}, p")
            with source.block("except Exception:"):
                if self.pausing:
                    source.add("if paused:", "    gc_enable()", "    paused = False")
                source.add(f"return explain(b, start{', limit if items < 0 else None' if self.counting else ''})")
            if self.pausing:
                source.add("finally:", "    if paused:", "        gc_enable()")
        return source

    # -- positions and runs ------------------------------------------------------------------------------------------

    def at(self, further: int = 0) -> str:
        """The position, and ``further`` bytes, as an expression."""
        offset = self.offset + further
        return f"{self.base} + {offset}" if offset > 0 else f"{self.base} - {-offset}" if offset else self.base

    def settle(self) -> None:
        """Read the run, and have the position in ``p``."""
        self.flush()
        if self.base != "p":
            self.source.add(f"p = {self.at()}")
        elif self.offset:
            self.source.add(f"p += {self.offset}")
        self.base, self.offset = "p", 0

    def fixed(self, code: str, stem: str = "v") -> str:
        """Have a field of fixed width read with the present run; give its variable."""
        name = self.source.fresh(stem)
        self.run.append((code, name))
        return name

    def flush(self) -> None:
        """Read the run."""
        if not self.run:
            return
        codes = "".join(code for code, _ in self.run)
        names = ", ".join(name for _, name in self.run)
        self.run = []
        if codes == "B":
            self.source.add(f"{names} = b[{self.at()}]")
        else:
            unpack = self.source.struct("unpack_from", codes)
            self.source.add(f"{names}{'' if ',' in names else ','} = {unpack}(b, {self.at()})")
        self.offset += width(codes)

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, construct: Construct) -> str:
        """Emit the read of one value; give the expression that holds it once what is pending is read."""
        match construct:
            case Boolean():
                return self.fixed("?")
            case Fixed():
                name = self.fixed(construct.code)
                return (
                    f"interned[{name}]"
                    if self.interning and construct.code in decoder_functions.INTERNED_CODES
                    else name
                )
            case UuidConstruct():
                return self.fixed("16s")
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
            case RecordStruct():
                return self.record(construct)
        raise NotImplementedError(construct)

    def text(self, construct: Text) -> str:
        """A string behind its length."""
        source, length = self.source, construct.length
        found, end = source.fresh("s"), source.fresh("e")
        count = self.fixed("B" if length.compact else length.subcon.code, "n")
        self.flush()
        with source.block(f"if 0 < {count} < 128:" if length.compact else f"if {count} >= 0:"):
            source.add(f"{end} = {self.at(-length.compact)} + {count}", f"{found} = b[{self.at()}:{end}].decode()")
        if length.compact:
            long = "long_nullable_string" if length.nullable else "long_string"
            source.add("else:", f"    {found}, {end} = {long}(b, {self.at()}, {count})")
        else:
            if length.nullable:
                source.add(f"elif {count} == -1:", f"    {found} = None", f"    {end} = {self.at()}")
            source.add("else:", "    raise Refused")
        self.base, self.offset = end, 0
        return found

    def blob(self, construct: Blob) -> str:
        """Bytes behind their length."""
        found = self.source.fresh("s")
        count = self.fixed("B" if construct.length.compact else construct.length.subcon.code, "n")
        self.settle()
        data = "view" if self.with_views else "b"
        self.source.add(*decoder_functions.blob_lines(construct.length, found, count, "p", data), "    raise Refused")
        return found

    def array(self, construct: CountedArray) -> str:
        """Items behind their count."""
        source, length, item = self.source, construct.length, construct.subcon
        found = source.fresh("a")
        count = self.fixed("B" if length.compact else length.subcon.code, "n")
        self.settle()
        with source.block(f"if {count} == {int(length.compact)}:"):
            source.add(f"{count} = 0", f"{found} = []")
        with source.block("else:"):
            if length.compact:
                source.add(*decoder_functions.varint_rest(count, "p"), f"{count} -= 1")
            if length.nullable:
                source.add(f"if {count} == -1:", f"    {found} = None")
            with source.block("else:") if length.nullable else nullcontext():
                self.items(item, found, count)
        return found

    def items(self, item: Construct, found: str, count: str) -> None:
        """Read ``count`` items, at least one, into the list ``found``."""
        source = self.source
        self.count(count)
        if isinstance(item, Fixed):
            code = "?" if isinstance(item, Boolean) else item.code
            unpackers = source.refer("unpackers", decoder_functions.UNPACKERS[code])
            numbers = f"{unpackers}[{count}](b, p)"
            kept = f"list({numbers})"
            if self.interning and item.code in decoder_functions.INTERNED_CODES:
                kept = f"[*map(interned.__getitem__, {numbers})][:]"  # the copy has no room to grow
            source.add(f"{found} = {kept}", f"p += {count} * {item.length}")
            return  # an impossible count is refused by struct
        source.add(f"if {count} < 0 or {count} * {min_size(item)} > size - p:", "    raise Refused")
        if isinstance(item, UuidConstruct):
            position, end = source.fresh("q"), source.fresh("e")
            one = f"b[{position} : {position} + 16]"
            source.add(
                f"{end} = p + {count} * 16",
                f"{found} = [{f'bytes({one})' if self.with_views else one} for {position} in range(p, {end}, 16)]",
                f"p = {end}",
            )
            return
        append = source.fresh("append")
        source.add(f"{found} = []", f"{append} = {found}.append")
        with source.block(f"for _ in range({count}):"):
            source.add(f"{append}({self.item(item)})")

    def count(self, count: str) -> None:
        """Refuse so many items more where that is more than are allowed."""
        if self.counting:
            self.source.add(f"items -= {count}", "if items < 0:", "    raise Refused")

    def item(self, item: Construct) -> str:
        """Read one item; give the expression that holds it."""
        made = self.value(item)
        self.settle()
        return made

    # -- records -----------------------------------------------------------------------------------------------------

    def nullable_record(self, construct: NullableRecord) -> str:
        """A record behind the marker that says whether it is there."""
        source = self.source
        found = source.fresh("r")
        mark = self.fixed("B" if construct.compact else "b", "n")
        self.settle()
        if construct.compact:
            source.add(*decoder_functions.varint_rest(mark, "p"))
        source.add(f"if {mark} {'== 0' if construct.compact else '< 0'}:", f"    {found} = None")
        with source.block("else:"):
            made = self.record(construct.subcon)
            self.settle()
            source.add(f"{found} = {made}")
        return found

    def record(self, construct: RecordStruct) -> str:
        """Every field, then the tagged ones; gives an expression that makes the typed record, the run flushed."""
        source = self.source
        values: dict[str, str] = {}
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                values |= self.tagged(sub.subcon)
            else:
                values[sub.name] = self.value(sub.subcon)
        self.flush()
        fields = construct.record.__struct_fields__  # type: ignore[attr-defined]
        arguments = [values[name] for name in fields if name in values]
        return f"{source.refer(construct.record.__name__, construct.record)}({', '.join(arguments)})"

    def tagged(self, construct: TaggedFields) -> dict[str, str]:
        """The tagged fields, by name; nearly always there are none, so their reader is a function of its own."""
        source = self.source
        count = self.fixed("B", "n")
        self.settle()
        names = {field.name: source.fresh("t") for field in construct.known.values()}
        unknown = source.fresh("t")
        found = ", ".join([*names.values(), unknown])
        with source.block(f"if {count}:"):
            source.add(*decoder_functions.varint_rest(count, "p"))
            self.count(count)
            reader = source.refer("tags", tag_reader(construct, counting=self.counting))
            counted = ", items" if self.counting and construct.known else ""
            source.add(f"{found}, p = {reader}(b, p, {count}{counted})")
        with source.block("else:"):
            for field in construct.known.values():
                default = source.tagged_default(field.subcon, construct.defaults[field.name])
                source.add(f"{names[field.name]} = {default}")
            source.add(f"{unknown} = ()")
        return {**names, "unknown_tagged_fields": unknown}


def tag_reader(construct: TaggedFields, *, counting: bool = False) -> Any:
    """A function that reads ``count`` tagged fields: ``(b, p, count) -> (known values..., unknown, p)``.

    ``counting``: it takes ``items`` too, for the arrays in the fields that it knows, unless it knows none.
    """
    if not construct.known:
        return decoder_functions.unknown_tagged_fields
    writer = DecoderWriter(counting=counting)
    source = writer.source
    source.entry = "read_tags"
    names = {tag: source.fresh("t") for tag in construct.known}
    with source.block(f"def read_tags(b, p, count{', items' if counting else ''}):"):
        source.add("size = len(b)", "unknown = []", "seen = set()")
        for tag, field in construct.known.items():
            source.add(f"{names[tag]} = {source.tagged_default(field.subcon, construct.defaults[field.name])}")
        with source.block("for _ in range(count):"):
            source.add("tag, p, end = tag_and_end(b, p)")
            source.add("if end > size or tag in seen:", "    raise Refused", "seen.add(tag)")
            branch = "if"
            for tag, field in construct.known.items():
                with source.block(f"{branch} tag == {tag}:"):
                    made = writer.item(field.subcon)
                    source.add(f"{names[tag]} = {made}", "if p != end:", "    raise Refused")
                branch = "elif"
            source.add("else:", "    unknown.append((tag, b[p:end]))", "    p = end")
        source.add(f"return {', '.join([*names.values(), 'tuple(unknown)'])}, p")
    return source.run("read_tags")
