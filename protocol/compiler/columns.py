"""Column readers: one function a message version, which reads many frames at once into arrays of the wanted fields.

``columns(views, p, end) -> Columns`` takes the positions of all frames of a kind and goes through the message field by
field, each step for every frame by one operation on arrays. Fields that nobody wants are stepped over: where they are
of fixed width that costs nothing. The items of an array are gone through in turns: the first of every frame, the
second of those that have one, and so on.

It reads what is plain: ASCII, no tagged fields but known ones, nested records that may be null only where they are,
arrays of records that are not long. A frame that is anything else, or that is not the message at all, is marked odd,
and whoever calls reads it by the decoder, which knows everything and says what is wrong. What is not marked is exactly
what the decoder reads.

For a Metadata v0 request, which is an array of topic names, with the names wanted::

    def columns(views, p, end):
        odd = zeros(p.size, bool)
        at_B, at_h, at_l = views.at["B"], views.at["h"], views.at["l"]
        limit0, f0 = end + 1, arange(p.size)
        found1 = []
        p0 = p
        n2 = length(at_l[p0].astype(int64), 0, 64, odd, f0)
        p0 = p0 + 4
        i3 = 0
        live4 = flatnonzero((n2 > 0) & ~odd)
        while live4.size:
            if i3 and live4.size < 4:
                odd[f0[live4]] = True
                break
            p1, limit1, f1 = p0[live4], limit0[live4], f0[live4]
            k1 = f0[live4] * 64 + i3
            n5 = length(at_h[p1].astype(int64), 0, 255, odd, f1)
            p1 = p1 + 2
            s6 = p1
            plain_text(views, s6, n5, odd, f1)
            p1 = behind(s6, n5, 1, limit1)
            found1.append((k1, s6, n5))
            p0[live4] = minimum(p1, limit1)
            i3 += 1
            live4 = live4[n2[live4] > i3]
        ...

It needs numpy, which the rest of this package does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from construct import Construct

from ..layouts import layout
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
from . import column_reading
from .column_reading import MAX_ITEMS, MAX_TEXT_BYTES, MIN_LIVE, VIEWS, Columns, Numbers, Views
from .sizes import width
from .source import GeneratedSource

ColumnsReader = Callable[[Views, Numbers, Numbers], Columns]
MAX_COMPACT_TEXT = 126
"""The longest string whose compact length takes one byte."""
MAX_COUNT = 1 << 31


def compile_columns(message: Any, version: int, wanted: Collection[str] = ()) -> ColumnsReader:
    """The column reader of a message version for these fields, as ``topics.partitions.leader_id``.

    A field that the version lacks has no values. Only fields of fixed width, strings, bytes and uuids can be wanted. Of
    those in a tagged field there are rows where it is present: their frames stand under the tagged field's name.
    """
    return columns_source(layout(message, version), wanted).run(f"{message.name}_v{version}_columns")


def columns_source(construct: RecordStruct, wanted: Collection[str] = ()) -> GeneratedSource:
    """The source of a column reader."""
    return ColumnsWriter(frozenset(wanted)).whole(construct)


class ColumnsWriter:
    """Emits the reader. At depth d the rows' positions are ``p<d>``, and ``offset`` bytes more were read already."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.wanted = wanted
        self.source = GeneratedSource("columns")
        self.source.namespace |= column_reading.NAMES
        self.depth = 0
        self.offset = 0
        self.taken: list[dict[str, str]] = [{}]
        """By depth: a wanted field's name -> the expression for its values."""
        self.levels: dict[str, tuple[str, int, list[str]]] = {}
        """An array with wanted fields -> its list of rows, its depth, the fields in the rows' order."""

    def whole(self, construct: RecordStruct) -> GeneratedSource:
        """The function for the outermost record."""
        source = self.source
        with source.block("def columns(views, p, end):"):
            source.add("odd = zeros(p.size, bool)")
            source.add(*(f"at_{'o' if code == '?' else code} = views.at[{code!r}]" for code in VIEWS))
            source.add("limit0, f0, p0 = end + 1, arange(p.size), p + 0", "k0 = f0")
            lists = source.fresh("lists")
            position = len(source.lines)
            self.record(construct, "")
            self.settle()
            source.add("odd |= p0 > end")
            source.lines[position:position] = [f"    {found} = []" for found, _, _ in self.levels.values()]
            values = ", ".join(f"{name!r}: ({made})" for name, made in self.taken[0].items())
            source.add(f"keys, frames, values = {{}}, {{}}, {{{values}}}")
            for name, (found, depth, fields) in self.levels.items():
                source.add(f"{lists} = rows_of({found}, {depth}, odd)")
                with source.block(f"if {lists}:"):
                    source.add(f"keys[{name!r}], frames[{name!r}] = {lists}[:2]")
                    at = 2
                    for field in fields:
                        pair = field in self.pairs
                        source.add(f"values[{field!r}] = {lists}[{at}{f':{at + 2}' if pair else ''}]")
                        at += 1 + pair
            source.add("return Columns(p0, odd, frames, values, keys)")
        return source

    pairs: frozenset[str] = frozenset()
    """Fields whose values are a start and a length."""

    # -- positions ---------------------------------------------------------------------------------------------------

    def at(self) -> str:
        return f"p{self.depth} + {self.offset}" if self.offset else f"p{self.depth}"

    def settle(self) -> None:
        """Have the position in its variable."""
        if self.offset:
            self.source.add(f"p{self.depth} = p{self.depth} + {self.offset}")
        self.offset = 0

    def take(self, name: str, made: str, *, pair: bool = False) -> None:
        """Keep a wanted field's values."""
        self.taken[-1][name] = made
        if pair:
            self.pairs |= {name}

    def rows(self) -> str:
        """The arguments that every helper has at its end."""
        return f"odd, f{self.depth}"

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, construct: Construct, name: str) -> None:
        """Step over one value, and keep it where it is wanted."""
        match construct:
            case Fixed():
                if name in self.wanted:
                    found = self.source.fresh("v")
                    kept = "" if construct.code == "d" else ".astype(int64)"
                    self.source.add(f"{found} = at_{construct.code}[{self.at()}]{kept}")
                    self.take(name, found)
                self.offset += construct.length
            case UuidConstruct():
                if name in self.wanted:
                    found = self.source.fresh("u")
                    self.source.add(f"{found} = {self.at()}")
                    self.take(name, found)
                self.offset += 16
            case Absent():
                pass
            case Text():
                self.text(construct, name)
            case Blob():
                self.blob(construct, name)
            case CountedArray():
                self.array(construct, name)
            case NullableRecord():
                self.nullable_record(construct)
            case RecordStruct():
                self.record(construct, name)
            case _:
                raise NotImplementedError(construct)

    def short_count(self, prefix: Length, highest: int) -> str:
        """A length that is plain up to ``highest``; -1 where it is null."""
        source, found = self.source, self.source.fresh("n")
        lowest = -1 if prefix.nullable else 0
        code = "B" if prefix.compact else prefix.subcon.code
        number = f"at_{code}[{self.at()}].astype(int64){' - 1' if prefix.compact else ''}"
        source.add(f"{found} = length({number}, {lowest}, {highest}, {self.rows()})")
        self.offset += width(code)
        return found

    def any_count(self, prefix: Length) -> str:
        """A length of any size."""
        if not prefix.compact:
            return self.short_count(prefix, MAX_COUNT)
        self.settle()
        source, found, depth = self.source, self.source.fresh("n"), self.depth
        source.add(f"{found}, p{depth} = varint(views, p{depth}, {self.rows()})")
        lowest = -1 if prefix.nullable else 0
        source.add(f"{found} = length({found} - 1, {lowest}, {MAX_COUNT * 2}, {self.rows()})")
        return found

    def text(self, construct: Text, name: str) -> None:
        """A string behind its length."""
        compact = construct.length.compact
        count = self.short_count(construct.length, MAX_COMPACT_TEXT if compact else MAX_TEXT_BYTES)
        self.settle()
        start = self.source.fresh("s")
        self.source.add(f"{start} = p{self.depth}", f"plain_text(views, {start}, {count}, {self.rows()})")
        self.sized(name, start, count)

    def blob(self, construct: Blob, name: str) -> None:
        """Bytes behind their length."""
        count = self.any_count(construct.length)
        self.settle()
        start = self.source.fresh("s")
        self.source.add(f"{start} = p{self.depth}")
        self.sized(name, start, count)

    def sized(self, name: str, start: str, count: str) -> None:
        """Step behind bytes, and keep where they are."""
        self.source.add(f"p{self.depth} = behind({start}, {count}, 1, limit{self.depth})")
        if name in self.wanted:
            self.take(name, f"{start}, {count}", pair=True)

    def array(self, construct: CountedArray, name: str) -> None:
        """Items behind their count."""
        item = construct.subcon
        fixed = 16 if isinstance(item, UuidConstruct) else item.length if isinstance(item, Fixed) else 0
        if fixed:
            count = self.any_count(construct.length)
            self.settle()
            self.source.add(f"p{self.depth} = behind(p{self.depth}, {count}, {fixed}, limit{self.depth})")
            return
        count = self.short_count(construct.length, MAX_ITEMS)
        self.settle()
        source, depth, inner = self.source, self.depth, self.depth + 1
        turn, live = source.fresh("i"), source.fresh("live")
        source.add(f"{turn} = 0", f"{live} = flatnonzero(({count} > 0) & ~odd[f{depth}])")
        with source.block(f"while {live}.size:"):
            source.add(f"if {turn} and {live}.size < {MIN_LIVE}:", f"    odd[f{depth}[{live}]] = True", "    break")
            self.enter(live, turn)
            self.value(item, name)
            self.leave(name)
            source.add(
                f"p{depth}[{live}] = minimum(p{inner}, limit{inner})",
                f"{turn} += 1",
                f"{live} = {live}[{count}[{live}] > {turn}]",
            )

    # -- records -----------------------------------------------------------------------------------------------------

    def nullable_record(self, construct: NullableRecord) -> None:
        """A record that is null; else the frame is odd."""
        code = "B" if construct.compact else "b"
        there = "!= 0" if construct.compact else ">= 0"
        self.source.add(f"mark({self.rows()}, at_{code}[{self.at()}] {there})")
        self.offset += 1

    def record(self, construct: RecordStruct, name: str) -> None:
        """Every field, then the tagged ones."""
        joint = f"{name}." if name else ""
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                self.tagged(sub.subcon, joint)
            else:
                self.value(sub.subcon, joint + sub.name)

    def tagged(self, construct: TaggedFields, joint: str) -> None:
        """Known tagged fields with rising tags, in turns: the first of each record that has one, the second, and so on.

        Each is read as an array of one item would be.
        """
        source, depth, inner = self.source, self.depth, self.depth + 1
        count = source.fresh("n")
        source.add(f"{count} = at_B[{self.at()}]")
        self.offset += 1
        source.add(f"mark({self.rows()}, {count} > {len(construct.known)})")
        if not construct.known:
            return
        self.settle()
        turn, live, last = source.fresh("i"), source.fresh("live"), source.fresh("last")
        tag, size, chosen, end = (source.fresh(stem) for stem in ("tag", "size", "chosen", "e"))
        source.add(f"{turn} = 0", f"{live} = flatnonzero(({count} > 0) & ~odd[f{depth}])")
        source.add(f"if {live}.size:", f"    {last} = zeros({count}.size, int64) - 1")
        with source.block(f"while {live}.size:"):
            source.add(
                f"{tag} = at_B[p{depth}[{live}]].astype(int64)",
                f"{size} = at_B[p{depth}[{live}] + 1].astype(int64)",
                f"odd[f{depth}[{live}]] |= ~isin({tag}, {sorted(construct.known)}) | ({size} > 127)"
                f" | ({tag} <= {last}[{live}])",
                f"{last}[{live}] = {tag}",
            )
            for number, field in construct.known.items():
                source.add(f"{chosen} = {live}[{tag} == {number}]")
                with source.block(f"if {chosen}.size:"):
                    self.enter(chosen, "0")
                    source.add(f"p{inner} += 2", f"{end} = p{inner} + {size}[{tag} == {number}]")
                    self.value(field.subcon, joint + field.name)
                    self.leave(joint + field.name)
                    source.add(f"mark(odd, f{inner}, p{inner} != {end})")
                    source.add(f"p{depth}[{chosen}] = minimum(p{inner}, limit{inner})")
            source.add(
                f"{turn} += 1", f"{live} = {live}[{count}[{live}] > {turn}]", f"{live} = {live}[~odd[f{depth}[{live}]]]"
            )

    # -- rows within rows --------------------------------------------------------------------------------------------

    def enter(self, live: str, turn: str) -> None:
        """Go on with these rows only, one level deeper."""
        depth, inner = self.depth, self.depth + 1
        self.source.add(
            f"p{inner}, limit{inner}, f{inner} = p{depth}[{live}], limit{depth}[{live}], f{depth}[{live}]",
            f"k{inner} = k{depth}[{live}] * {MAX_ITEMS} + {turn}",
        )
        self.depth = inner
        self.taken.append({})

    def leave(self, name: str) -> None:
        """Keep what was taken of them, and go on with all."""
        self.settle()
        taken = self.taken.pop()
        if taken:
            found = self.source.fresh("found")
            self.levels[name] = found, self.depth, list(taken)
            self.source.add(f"{found}.append((k{self.depth}, {', '.join(taken.values())}))")
        self.depth -= 1
