"""Kafka's wire types as constructs.

Two layers stand here. The *constructs* read and write one encoding each, and can be used, printed and nested as any
other construct: ``Int32Field``, ``CompactString``, ``CountedArray(...)``. The *types* are what a declaration names
(``Int32``, ``String``, ``Array(Broker)``): a type picks its construct once version, nullability and flexibility are
known.

Every reader checks a length against the bytes that remain before it takes them, and every fault is a
:class:`Malformed`, which knows where it happened.

Sources: the Kafka protocol guide; ``org.apache.kafka.common.protocol.types.Type`` and ``ByteUtils``, Apache Kafka 4.3.
"""

import struct
from io import BytesIO
from typing import Any

from construct import Construct, ConstructError, Container, FormatField, Renamed, Struct, Subconstruct

ZERO_UUID = bytes(16)
MAX_STRING_BYTES = 32767  # Kafka refuses longer strings in compact form too


class Malformed(ConstructError):  # type: ignore[misc]  # construct has no types
    """A fault met by a construct: ``reason``, the dotted ``where`` and the byte ``offset`` (reading only)."""

    def __init__(self, reason: str, path: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.reason, self.where, self.offset = reason, dotted(path), offset


def dotted(path: str) -> str:
    """Construct's ``(parsing) -> topics[4] -> name`` as ``topics[4].name``."""
    return ".".join(path.split(" -> ")[1:])


def remaining(stream: BytesIO) -> int:
    """Bytes not yet read."""
    return stream.getbuffer().nbytes - stream.tell()


def take(stream: BytesIO, count: int, path: str) -> bytes:
    """Read exactly ``count`` bytes or say how many are missing."""
    left = remaining(stream)
    if count > left:
        raise Malformed(f"expected {count} bytes, {left} remain", path, stream.tell())
    return stream.read(count)


# -- numbers ---------------------------------------------------------------------------------------------------------


class Fixed(FormatField):  # type: ignore[misc]
    """A number of fixed width, big endian; ``code`` is its letter in :mod:`struct`."""

    def __init__(self, code: str) -> None:
        super().__init__(">", code)
        self.code = code

    def _parse(self, stream: BytesIO, context: Container, path: str) -> int | float:
        (value,) = struct.unpack(self.fmtstr, take(stream, self.length, path))
        return value  # type: ignore[no-any-return]

    def _build(self, obj: Any, stream: BytesIO, context: Container, path: str) -> Any:
        try:
            stream.write(struct.pack(self.fmtstr, obj))
        except struct.error as error:
            raise Malformed(f"{obj!r}: {error}", path) from None
        return obj


class Boolean(Fixed):
    """One byte: 0 is false, anything else true."""

    def __init__(self) -> None:
        super().__init__("B")

    def _parse(self, stream: BytesIO, context: Container, path: str) -> bool:
        return super()._parse(stream, context, path) != 0


Int8Field, Int16Field, Int32Field, Int64Field = Fixed("b"), Fixed("h"), Fixed("l"), Fixed("q")
UInt8Field, UInt16Field, UInt32Field, Float64Field = Fixed("B"), Fixed("H"), Fixed("L"), Fixed("d")
BooleanField = Boolean()


class UnsignedVarint(Construct):  # type: ignore[misc]
    """A number of 32 bits, seven of them a byte, lowest first; so 5 bytes at the most."""

    def _parse(self, stream: BytesIO, context: Container, path: str) -> int:
        start = stream.tell()
        value = shift = 0
        while True:
            (byte,) = take(stream, 1, path)
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= 32:
                raise Malformed(f"varint goes on after {shift // 7} bytes", path, start)
        if value >> 32:
            raise Malformed(f"varint {value} does not fit 32 bits", path, start)
        return value

    def _build(self, obj: Any, stream: BytesIO, context: Container, path: str) -> Any:
        if not isinstance(obj, int) or obj < 0 or obj >> 32:
            raise Malformed(f"expected an unsigned number of 32 bits, got {obj!r}", path)
        stream.write(unsigned_varint(obj))
        return obj


UVarint = UnsignedVarint()


def unsigned_varint(value: int) -> bytes:
    """``value >= 0`` as a varint, of the fewest bytes."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# -- strings and bytes -----------------------------------------------------------------------------------------------


class UuidConstruct(Construct):  # type: ignore[misc]
    """Sixteen bytes, kept as they are."""

    def _parse(self, stream: BytesIO, context: Container, path: str) -> bytes:
        return take(stream, 16, path)

    def _build(self, obj: Any, stream: BytesIO, context: Container, path: str) -> Any:
        if not isinstance(obj, bytes) or len(obj) != 16:
            raise Malformed(f"a uuid is 16 bytes, not {obj!r}", path)
        stream.write(obj)
        return obj


class Length(Subconstruct):  # type: ignore[misc]
    """How many bytes or items follow, or ``None`` for null.

    Classic lengths are an int16 or int32 where -1 is null; compact ones an unsigned varint of the length plus one,
    where 0 is null.
    """

    def __init__(self, encoding: Fixed | UnsignedVarint, nullable: bool) -> None:
        super().__init__(encoding)
        self.nullable = nullable
        self.compact = isinstance(encoding, UnsignedVarint)

    def _parse(self, stream: BytesIO, context: Container, path: str) -> int | None:
        start = stream.tell()
        length = self.subcon._parse(stream, context, path)
        if self.compact:
            length -= 1
        if length == -1 and self.nullable:
            return None
        if length < 0:
            raise Malformed("null, but it is not nullable" if length == -1 else f"length {length}", path, start)
        left = remaining(stream)
        if length > left:
            raise Malformed(f"length {length}, but {left} bytes remain", path, start)
        return int(length)

    def _build(self, obj: int | None, stream: BytesIO, context: Container, path: str) -> int | None:
        if obj is None and not self.nullable:
            raise Malformed("null, but it is not nullable", path)
        length = -1 if obj is None else obj
        self.subcon._build(length + 1 if self.compact else length, stream, context, path)
        return obj


class Text(Construct):  # type: ignore[misc]
    """A UTF-8 string behind its length in bytes."""

    def __init__(self, length: Length) -> None:
        super().__init__()
        self.length = length

    def _parse(self, stream: BytesIO, context: Container, path: str) -> str | None:
        start = stream.tell()
        length = self.length._parse(stream, context, path)
        if length is None:
            return None
        if length > MAX_STRING_BYTES:
            raise Malformed(f"string of {length} bytes, at most {MAX_STRING_BYTES} are allowed", path, start)
        try:
            return stream.read(length).decode()
        except UnicodeDecodeError as error:
            raise Malformed(f"not UTF-8: {error}", path, start) from None

    def _build(self, obj: str | None, stream: BytesIO, context: Container, path: str) -> str | None:
        if obj is not None and not isinstance(obj, str):
            raise Malformed(f"expected a string, got {type(obj).__name__}", path)
        try:
            data = None if obj is None else obj.encode()
        except UnicodeEncodeError as error:
            raise Malformed(f"not UTF-8: {error}", path) from None
        if data is not None and len(data) > MAX_STRING_BYTES:
            raise Malformed(f"string of {len(data)} bytes, at most {MAX_STRING_BYTES} are allowed", path)
        self.length._build(None if data is None else len(data), stream, context, path)
        stream.write(data or b"")
        return obj


class Blob(Construct):  # type: ignore[misc]
    """Opaque bytes behind their length: the types ``bytes`` and ``records``."""

    def __init__(self, length: Length) -> None:
        super().__init__()
        self.length = length

    def _parse(self, stream: BytesIO, context: Container, path: str) -> bytes | None:
        length = self.length._parse(stream, context, path)
        return None if length is None else stream.read(length)

    def _build(self, obj: bytes | None, stream: BytesIO, context: Container, path: str) -> bytes | None:
        if obj is not None and not isinstance(obj, (bytes, bytearray, memoryview)):
            raise Malformed(f"expected bytes, got {type(obj).__name__}", path)
        self.length._build(None if obj is None else len(obj), stream, context, path)
        stream.write(b"" if obj is None else obj)
        return obj


# -- arrays, structs, tags -------------------------------------------------------------------------------------------


class CountedArray(Subconstruct):  # type: ignore[misc]
    """Items of ``item`` behind their count."""

    def __init__(self, length: Length, item: Construct) -> None:
        super().__init__(item)
        self.length = length

    def _parse(self, stream: BytesIO, context: Container, path: str) -> list[Any] | None:
        count = self.length._parse(stream, context, path)
        if count is None:
            return None
        return [self.subcon._parsereport(stream, context, f"{path}[{i}]") for i in range(count)]

    def _build(self, obj: list[Any] | None, stream: BytesIO, context: Container, path: str) -> list[Any] | None:
        if obj is not None and not isinstance(obj, (list, tuple)):
            raise Malformed(f"expected a list, got {type(obj).__name__}", path)
        self.length._build(None if obj is None else len(obj), stream, context, path)
        for i, item in enumerate(obj or ()):
            self.subcon._build(item, stream, context, f"{path}[{i}]")
        return obj


class RecordStruct(Struct):  # type: ignore[misc]
    """A construct ``Struct`` that knows which typed class, ``record``, its containers stand for."""

    def __init__(self, record: type, *subcons: Construct) -> None:
        super().__init__(*subcons)
        self.record = record


class NullableRecord(Subconstruct):  # type: ignore[misc]
    """A struct that may be null, behind a ``marker``: int8 -1 or 1, or as a tagged field's value varint 0 or 1."""

    def __init__(self, marker: Fixed | UnsignedVarint, record: RecordStruct) -> None:
        super().__init__(record)
        self.marker = marker
        self.compact = isinstance(marker, UnsignedVarint)

    def _parse(self, stream: BytesIO, context: Container, path: str) -> Container | None:
        mark = self.marker._parse(stream, context, path)
        null = mark == 0 if self.compact else mark < 0
        return None if null else self.subcon._parsereport(stream, context, path)

    def _build(self, obj: Container | None, stream: BytesIO, context: Container, path: str) -> Container | None:
        null = 0 if self.compact else -1
        self.marker._build(null if obj is None else 1, stream, context, path)
        if obj is not None:
            self.subcon._build(obj, stream, context, path)
        return obj


class Absent(Construct):  # type: ignore[misc]
    """A field that this version lacks: no bytes; reads as its default, and writes nothing else unless ignorable."""

    def __init__(self, default: Any, ignorable: bool) -> None:
        super().__init__()
        self.default = default
        self.ignorable = ignorable
        self.flagbuildnone = True

    def _parse(self, stream: BytesIO, context: Container, path: str) -> Any:
        return self.default

    def _build(self, obj: Any, stream: BytesIO, context: Container, path: str) -> Any:
        if not self.ignorable and obj != self.default:
            raise Malformed(f"{obj!r}, but this version has no such field and it is not ignorable", path)
        return obj


class TaggedFields(Construct):  # type: ignore[misc]
    """The tagged fields at a struct's end: how many, then tag, size and value of each, tags rising (KIP-482).

    ``known`` maps a tag to its named construct, ``defaults`` a name to the value that is not written. Reads a
    container of the known ones, all of them, and ``unknown``: ``(tag, bytes)`` of the others.
    """

    def __init__(self, known: dict[int, Renamed], defaults: dict[str, Any]) -> None:
        super().__init__()
        self.known = known
        self.defaults = defaults

    def _parse(self, stream: BytesIO, context: Container, path: str) -> Container:
        found = Container(self.defaults)
        unknown = []
        seen = set()
        for _ in range(UVarint._parse(stream, context, path)):
            start = stream.tell()
            tag = UVarint._parse(stream, context, path)
            if tag in seen:
                raise Malformed(f"tag {tag} comes twice", path, start)
            seen.add(tag)
            length = UVarint._parse(stream, context, path)
            if length > remaining(stream):
                raise Malformed(f"tag {tag} of {length} bytes, but {remaining(stream)} remain", path, start)
            end = stream.tell() + length
            if tag not in self.known:
                unknown.append((tag, stream.read(length)))
                continue
            found[self.known[tag].name] = self.known[tag]._parsereport(stream, context, path)
            if stream.tell() != end:
                read = length + stream.tell() - end
                raise Malformed(f"tag {tag} says {length} bytes, its value has {read}", path, start)
        found.unknown = tuple(unknown)
        return found

    def _build(self, obj: Container, stream: BytesIO, context: Container, path: str) -> Container:
        chosen = dict(obj.get("unknown", ()))
        if len(chosen) != len(obj.get("unknown", ())) or not chosen.keys().isdisjoint(self.known):
            raise Malformed("unknown tagged fields repeat a tag or use a known one", path)
        for tag, field in self.known.items():
            value = obj[field.name]
            if value != self.defaults[field.name]:
                out = BytesIO()
                field._build(value, out, context, path)
                chosen[tag] = out.getvalue()
        UVarint._build(len(chosen), stream, context, path)
        for tag in sorted(chosen):
            UVarint._build(tag, stream, context, path)
            UVarint._build(len(chosen[tag]), stream, context, path)
            stream.write(chosen[tag])
        return obj


# -- what declarations name ------------------------------------------------------------------------------------------


class FieldType:
    """A Kafka type as a declaration names it; :meth:`construct` gives its encoding once the version is known."""

    __slots__ = ("default", "name")

    def __init__(self, name: str, default: Any) -> None:
        self.name, self.default = name, default

    def __repr__(self) -> str:
        return self.name

    def construct(self, flexible: bool, nullable: bool) -> Construct:
        """The construct that reads and writes this type."""
        raise NotImplementedError


class Plain(FieldType):
    """A type with one encoding, never null: numbers, booleans, uuids."""

    __slots__ = ("encoding",)

    def __init__(self, name: str, default: Any, encoding: Construct) -> None:
        super().__init__(name, default)
        self.encoding = encoding

    def construct(self, flexible: bool, nullable: bool) -> Construct:
        return self.encoding


class Sized(FieldType):
    """A type behind its length, classic (``length``) or compact: strings, bytes, records."""

    __slots__ = ("encoding", "length")

    def __init__(self, name: str, default: Any, encoding: type[Construct], length: Fixed) -> None:
        super().__init__(name, default)
        self.encoding, self.length = encoding, length

    def construct(self, flexible: bool, nullable: bool) -> Construct:
        return self.encoding(Length(UVarint if flexible else self.length, nullable))


class Array(FieldType):
    """``Array(Int32)`` or ``Array(Broker)``: items behind their count."""

    __slots__ = ("item",)

    def __init__(self, item: "FieldType | type") -> None:
        super().__init__(f"[]{getattr(item, '__name__', item)}", ())
        self.item = item


Int8, Int16 = Plain("int8", 0, Int8Field), Plain("int16", 0, Int16Field)
Int32, Int64 = Plain("int32", 0, Int32Field), Plain("int64", 0, Int64Field)
UInt16, UInt32 = Plain("uint16", 0, UInt16Field), Plain("uint32", 0, UInt32Field)
Float64, Bool = Plain("float64", 0.0, Float64Field), Plain("bool", False, BooleanField)
Uuid = Plain("uuid", ZERO_UUID, UuidConstruct())
String = Sized("string", "", Text, Int16Field)
Bytes, Records = Sized("bytes", b"", Blob, Int32Field), Sized("records", b"", Blob, Int32Field)
