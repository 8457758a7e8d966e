"""Messages by the million: a quick seeded maker for each message version, without hypothesis.

A maker is built once from the construct of a version; each field then costs one or two draws. Values lean to the edges:
defaults, null, empty, the ends of integer types, strings and arrays whose compact length grows to two bytes, unknown
tagged fields. What a message had in each of its fields is left in ``marks``, so that coverage is counted as it is made.

>>> from random import Random
>>> from protocol.apis.metadata import MetadataRequest
>>> maker = Maker(MetadataRequest, 12)
>>> maker.make(Random(7)) == maker.make(Random(7))
True
>>> maker.fields[:3]
('topics', 'topics[].topic_id', 'topics[].name')
"""

from collections.abc import Callable
from functools import cache
from math import inf
from random import Random
from typing import Any

from construct import Construct

from ..declare import TAGS, declaration_of
from ..layouts import layout
from ..wire import (
    MAX_STRING_BYTES,
    ZERO_UUID,
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
from .edges import LONG, LONG_LENGTHS, MAX_TAG, MIN_UNKNOWN_TAG, WIDTHS, WORDS, edges, ends

# What a value was, as bits of a mark; a value has one of the first two, and those of the others that fit.
DEFAULT, OTHER, NULL, EMPTY, EXTREME = 1, 2, 4, 8, 16
MARKS = {"default": DEFAULT, "non_default": OTHER, "null": NULL, "empty": EMPTY, "extreme": EXTREME}

# What programs that give numbers a meaning can hold: error codes, and times that a calendar reaches.
TAME = {"h": (-1, 100), "q": (0, 1 << 40), "d": (0, 1)}
CHARACTERS = (
    "abcxyz019-_.=|, \x00\x7f\x80\u07ff\u0800\u20ac\u6a5f\u67b6\ud7ff\ue000\ufeff\uffff\U00010000\U0001f600\U0010ffff"
)
MAX_ITEMS = 3

Make = Callable[[Random], Any]


class Maker:
    """Makes messages that one version can hold in full.

    Attributes:
        fields: the paths of its fields, nested ones below theirs, as ``topics[].name``.
        marks: of the message made last, for each field the bits of :data:`MARKS` of all its values; 0: it had none.
    """

    def __init__(self, message: Any, version: int, *, tame: bool = False) -> None:
        """Build the maker; ``tame``: times, error codes and floats stay in the range where they mean something.

        Raises: UnsupportedVersionError.
        """
        self.message, self.version, self.tame = message, version, tame
        paths: list[str] = []
        self.marks: list[int] = []
        self._paths = paths
        self._make = self._record(layout(message, version), "")
        self.fields = tuple(paths)

    def make(self, chance: Random) -> Any:
        """A message; equal states of ``chance`` give equal messages."""
        self.marks[:] = [0] * len(self.marks)
        return self._make(chance)

    # -- one method for each kind of construct: each gives what makes its values ---------------------------------------

    def _place(self, path: str) -> int:
        self._paths.append(path)
        self.marks.append(0)
        return len(self._paths) - 1

    def _record(self, construct: RecordStruct, path: str) -> Make:
        kind: Any = construct.record
        declared = {one.name: one for one in declaration_of(kind).fields}
        parts: list[tuple[str, Make]] = []
        joint = f"{path}." if path else ""
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                for known in sub.subcon.known.values():
                    default = declared[known.name].fresh_default()
                    parts.append((known.name, self._value(known.subcon, f"{joint}{known.name}", default)))
                parts.append((TAGS, self._tags(f"{joint}{TAGS}")))
            elif not isinstance(sub.subcon, Absent):
                default = declared[sub.name].fresh_default()
                parts.append((sub.name, self._value(sub.subcon, f"{joint}{sub.name}", default)))

        def make(chance: Random) -> Any:
            return kind(**{name: part(chance) for name, part in parts})

        return make

    def _value(self, construct: Construct, path: str, default: Any) -> Make:
        match construct:
            case CountedArray():
                return self._array(construct, path, default)
            case NullableRecord():
                return self._nullable_record(construct, path, default)
            case RecordStruct():
                return self._struct(construct, path, default)
        return leaf(construct, self.marks, self._place(path), default, self.tame)

    def _struct(self, construct: RecordStruct, path: str, default: Any) -> Make:
        marks, at = self.marks, self._place(path)
        inner = self._record(construct, path)

        def make(chance: Random) -> Any:
            value = inner(chance)
            marks[at] |= DEFAULT if value == default else OTHER
            return value

        return make

    def _nullable_record(self, construct: NullableRecord, path: str, default: Any) -> Make:
        marks, at = self.marks, self._place(path)
        inner = self._record(construct.subcon, path)
        mark_of_null = NULL | (DEFAULT if default is None else OTHER)

        def make(chance: Random) -> Any:
            if chance.random() < 0.3:
                marks[at] |= mark_of_null
                return None
            value = inner(chance)
            marks[at] |= DEFAULT if value == default else OTHER
            return value

        return make

    def _array(self, construct: CountedArray, path: str, default: Any) -> Make:
        marks, at = self.marks, self._place(path)
        nullable = construct.length.nullable
        inside = construct.subcon
        if isinstance(inside, RecordStruct):
            item = self._record(inside, f"{path}[]")
        else:
            item = leaf(inside, self.marks, self._place(f"{path}[]"), None, self.tame)
        repeats = not has_arrays(inside)
        mark_of_null = NULL | (DEFAULT if default is None else OTHER)
        mark_of_empty = EMPTY | (DEFAULT if default == [] else OTHER)

        def make(chance: Random) -> Any:
            draw = chance.random()
            if nullable and draw < 0.12:
                marks[at] |= mark_of_null
                return None
            if draw < 0.25:
                marks[at] |= mark_of_empty
                return []
            if repeats and draw > 0.985:
                length = LONG_LENGTHS[int(chance.random() * len(LONG_LENGTHS))]
                marks[at] |= OTHER | (EXTREME if length >= LONG else 0)
                return [item(chance)] * length
            marks[at] |= OTHER
            return [item(chance) for _ in range(1 + int(chance.random() * MAX_ITEMS))]

        return make

    def _tags(self, path: str) -> Make:
        marks, at = self.marks, self._place(path)

        def make(chance: Random) -> tuple[tuple[int, bytes], ...]:
            draw = chance.random()
            if draw < 0.85:
                marks[at] |= DEFAULT | EMPTY
                return ()
            if draw < 0.88:
                marks[at] |= OTHER | EXTREME
                return ((MAX_TAG, bytes(LONG)),)
            marks[at] |= OTHER
            tags = {MIN_UNKNOWN_TAG + int(chance.random() ** 4 * (MAX_TAG - MIN_UNKNOWN_TAG)) for _ in "ab"}
            return tuple((tag, chance.randbytes(int(chance.random() * 12))) for tag in sorted(tags))

        return make


@cache
def maker(message: Any, version: int, *, tame: bool = False) -> Maker:
    """The :class:`Maker` of a message version, made once."""
    return Maker(message, version, tame=tame)


def wild(message: Any, chance: Random) -> Any:
    """A message with top-level fields of two versions mixed, so that each version has something to drop or refuse."""
    known = list(message.valid_versions)
    first, second = (maker(message, known[int(chance.random() * len(known))]).make(chance) for _ in "ab")
    names = [one.name for one in declaration_of(message).fields]
    mixed = {name: getattr(first if chance.random() < 0.5 else second, name) for name in names}
    return message(**mixed, **{TAGS: getattr(first, TAGS)})


def is_tame(message: Any, version: int) -> bool:
    """True if a tame maker could have made all numbers of a message: code that interprets them can hold them.

    >>> from protocol.apis.classic_group import HeartbeatResponse
    >>> [is_tame(HeartbeatResponse(error_code=code), 0) for code in (27, 30_000)]
    [True, False]
    """
    return tame_value(layout(type(message), version), message, None)


def tame_value(construct: Construct, value: Any, default: Any) -> bool:
    """:func:`is_tame` for a value of a construct."""
    if value is None or (default is not None and value == default):
        return True
    match construct:
        case CountedArray():
            return all(tame_value(construct.subcon, item, None) for item in value)
        case NullableRecord():
            return tame_value(construct.subcon, value, default)
        case RecordStruct():
            declared = {one.name: one for one in declaration_of(construct.record).fields}
            parts = [(sub.name, sub.subcon) for sub in construct.subcons if sub.name in declared]
            for sub in construct.subcons:
                if isinstance(sub.subcon, TaggedFields):
                    parts += [(known.name, known.subcon) for known in sub.subcon.known.values()]
            return all(
                isinstance(inner, Absent) or tame_value(inner, getattr(value, name), declared[name].fresh_default())
                for name, inner in parts
            )
        case Fixed() if construct.code in TAME:
            low, high = TAME[construct.code]
            return bool(low <= value <= high)
    return True


def has_arrays(construct: Construct) -> bool:
    """True if any part of what ``construct`` writes is an array."""
    match construct:
        case CountedArray():
            return True
        case RecordStruct():
            return any(has_arrays(sub.subcon) for sub in construct.subcons)
        case TaggedFields():
            return any(has_arrays(field.subcon) for field in construct.known.values())
        case NullableRecord():
            return has_arrays(construct.subcon)
    return False


# -- leaves ------------------------------------------------------------------------------------------------------------


def leaf(construct: Construct, marks: list[int], at: int, default: Any, tame: bool) -> Make:
    """A maker of values of one encoding: one of a pool of special ones, or a fresh one.

    The pool comes half the time; a special value's weight is how often it stands there.
    """
    pool, fresh = pool_and_fresh(construct, default, tame)
    marked = [(value, mark_of(construct, value, default)) for value in pool]
    size = 2 * len(marked)

    def make(chance: Random) -> Any:
        drawn = int(chance.random() * size)
        if drawn * 2 < size:
            value, mark = marked[drawn]
            marks[at] |= mark
            return value
        value = fresh(chance)
        marks[at] |= DEFAULT if value == default else OTHER
        return value

    return make


def pool_and_fresh(construct: Construct, default: Any, tame: bool) -> tuple[list[Any], Make]:
    """The special values of an encoding, the default a quarter of them, and what makes any other."""
    pool: list[Any]
    fresh: Make
    match construct:
        case Boolean():
            pool, fresh = [False, True], lambda chance: chance.random() < 0.5
        case Fixed() if tame and construct.code in TAME:
            low, high = TAME[construct.code]
            kind = float if construct.code == "d" else int
            pool, fresh = [kind(low), kind(high)], lambda chance: kind(chance.randint(low, high))
        case Fixed() if construct.code == "d":
            # The largest and the smallest there are, one that has no exact binary fraction, and the infinite ones.
            pool = [0.0, -0.0, 1.0, -1.5, 0.1, 1.7976931348623157e308, 5e-324, inf, -inf]
            fresh = lambda chance: chance.uniform(-1e9, 1e9)  # noqa: E731
        case Fixed():
            pool, fresh = integers(*WIDTHS[construct.code])
        case UuidConstruct():
            pool, fresh = [ZERO_UUID, bytes(15) + b"\1", b"\xff" * 16], lambda chance: chance.randbytes(16)
        case Text():
            pool = ["", *WORDS, *("x" * length for length in LONG_LENGTHS), "é" * 64]
            pool = pool * 8 + ["y" * MAX_STRING_BYTES]
            fresh = lambda chance: "".join(chance.choices(CHARACTERS, k=1 + int(chance.random() * 12)))  # noqa: E731
        case Blob():
            pool = [b"", b"\0", b"\xff", *(bytes(length) for length in LONG_LENGTHS)]
            fresh = lambda chance: chance.randbytes(1 + int(chance.random() * 24))  # noqa: E731
        case _:
            raise NotImplementedError(construct)
    if isinstance(construct, Text | Blob) and construct.length.nullable:
        pool += [None] * (len(pool) // 4 + 1)
    if default is not None:
        pool += [default] * (len(pool) // 3 + 1)
    return pool, fresh


def integers(bits: int, signed: bool) -> tuple[list[int], Make]:
    """Whole numbers of so many bits: the edges of this and of narrower types, and any."""
    low, high = ends(bits, signed=signed)
    pool = [low, low, high, high, *edges(bits, signed=signed)[1:-1]]
    inner = (1 << bits) - 2  # an end that came by chance would not be marked as one
    return pool, lambda chance: low + 1 + chance.getrandbits(bits) % inner


def mark_of(construct: Construct, value: Any, default: Any) -> int:
    """The mark of a special value."""
    mark = DEFAULT if value == default else OTHER
    if value is None:
        return mark | NULL
    if isinstance(construct, Text | Blob):
        size = len(value.encode()) if isinstance(value, str) else len(value)
        return mark | (EMPTY if size == 0 else EXTREME if size >= LONG else 0)
    if isinstance(construct, UuidConstruct):
        return mark | (EXTREME if value == b"\xff" * 16 else 0)
    if isinstance(construct, Boolean):
        return mark
    if construct.code == "d":
        return mark | (EXTREME if abs(value) in (inf, 1.7976931348623157e308) else 0)
    bits, signed = WIDTHS[construct.code]
    low, high = ends(bits, signed=signed)
    return mark | (EXTREME if value == high or (signed and value == low) else 0)
