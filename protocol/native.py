"""Programs for the native codec, made from layouts.

A program is nested tuples, which ``native/src/program.rs`` describes. It is made of the same layout that the reference
codec reads by, so a declaration is all that a message needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from construct import Construct

from .backends import core
from .declare import TAGS, declaration_of
from .errors import DecodeError
from .framing import Pieces
from .layouts import layout
from .wire import Absent, Blob, Boolean, CountedArray, Fixed, NullableRecord, RecordStruct, TaggedFields, Text

_offsets: dict[type, list[int] | None] = {}


class NativeCodec(NamedTuple):
    """The five functions of one message version."""

    decode: Callable[..., tuple[Any, int]]
    decode_counted: Callable[[bytes, int, int], tuple[Any, int]]
    decode_with_views: Callable[..., tuple[Any, int]]
    encode: Callable[[Any], bytes]
    encode_in_pieces: Callable[[Any], list[bytes]]


def native_codec(message: Any, version: int, explain: Callable[[Any], bytes]) -> NativeCodec:
    """The functions of one message version; ``explain`` is called with a message that cannot be written, and raises."""
    root = layout(message, version)
    nested = arrays_within(root, 2)
    return NativeCodec(*core.compile(record(root), nested, (message.name, version), (DecodeError, explain, Pieces)))


def program_of(function: Any) -> Any:
    """The program behind one of a message version's functions."""
    return function.__self__


def arrays_within(construct: Construct, depth: int) -> bool:
    """True if arrays are nested ``depth`` deep, so that one message can hold very many lists."""
    if isinstance(construct, CountedArray):
        depth -= 1
    if depth == 0:
        return True
    if isinstance(construct, RecordStruct):
        return any(arrays_within(sub.subcon, depth) for sub in construct.subcons)
    if isinstance(construct, TaggedFields):
        return any(arrays_within(field.subcon, depth) for field in construct.known.values())
    return isinstance(construct, (CountedArray, NullableRecord)) and arrays_within(construct.subcon, depth)


def record(construct: RecordStruct) -> tuple[Any, ...]:
    """The description of a record, and of all that nests in it."""
    defaults = {one.name: one.fresh_default() for one in declaration_of(construct.record).fields}
    steps, lacks, tags = [], [], None
    for sub in construct.subcons:
        match sub.subcon:
            case TaggedFields() as tagged:
                tags = [
                    (tag, one.name, operation(one.subcon), default(defaults[one.name]))
                    for tag, one in tagged.known.items()
                ]
            case Absent() as absent:
                lacks.append((sub.name, not absent.ignorable, default(absent.default)))
            case value:
                steps.append((sub.name, operation(value)))
    if tags is None:
        present = {name for name, *_ in (*steps, *lacks)}
        lacks += [(name, False, default(value)) for name, value in defaults.items() if name not in present]
        lacks.append((TAGS, False, ((),)))
    return (construct.record, offsets(construct.record), steps, lacks, tags)


def fresh_record(kind: Any) -> tuple[Any, ...]:
    """The description of a record with all its defaults, which takes no bytes."""
    lacks = [(one.name, False, default(one.fresh_default())) for one in declaration_of(kind).fields]
    return (kind, offsets(kind), [], [*lacks, (TAGS, False, ((),))], None)


def offsets(kind: type) -> list[int] | None:
    """The offsets of fields in a class's instances; None if instances have to be made by calling the class."""
    if kind not in _offsets:
        _offsets[kind] = core.probe(kind)
    return _offsets[kind]


def operation(construct: Construct) -> tuple[Any, ...]:
    """The description of one value."""
    match construct:
        case Boolean():
            return ("?",)
        case Fixed():
            return (construct.code,)
        case Text():
            return ("text", construct.length.compact, construct.length.nullable)
        case Blob():
            return ("blob", construct.length.compact, construct.length.nullable)
        case CountedArray():
            return ("array", construct.length.compact, construct.length.nullable, operation(construct.subcon))
        case RecordStruct():
            return ("record", record(construct))
        case NullableRecord():
            return ("nullable record", construct.compact, record(construct.subcon))
    return ("uuid",)


def default(value: Any) -> tuple[Any, ...]:
    """The description of a default: the value to compare with, and how to make another where it could be changed."""
    if isinstance(value, (list, tuple)):
        return (list(value), "list")
    if hasattr(value, "__struct_fields__"):
        return (value, fresh_record(type(value)))
    return (value,)
