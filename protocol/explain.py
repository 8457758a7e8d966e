"""Bytes annotated field by field, by the constructs: what stands where, up to the end or the first fault.

>>> import protocol
>>> for span in explain(protocol.named_class("MetadataRequest"), 1, bytes.fromhex("0000000100066576656e7473")).spans:
...     print(span.offset, span.data.hex(), span.path, span.text)
0 00000001 topics 1 item
4 0006 topics[0].name 6 bytes
6 6576656e7473 topics[0].name 'events'
"""

from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from construct import Construct, Container

from .errors import DecodeError
from .layouts import layout
from .uuids import uuid_to_text
from .wire import (
    Absent,
    Blob,
    CountedArray,
    Malformed,
    NullableRecord,
    RecordStruct,
    TaggedFields,
    Text,
    UuidConstruct,
    UVarint,
)


@dataclass(slots=True)
class Span:
    """Neighbouring bytes that mean one thing: ``offset`` into the data, the ``data`` itself, ``path``, meaning.

    ``is_length`` marks how many bytes, items or tagged fields follow.
    """

    offset: int
    data: bytes
    path: str
    text: str
    is_length: bool = False


@dataclass(slots=True)
class Explanation:
    """The spans in order, what is left behind them, and the fault that ended the reading, if one did."""

    spans: list[Span] = field(default_factory=list)
    rest: bytes = b""
    fault: DecodeError | None = None


def explain(message: Any, version: int, data: bytes) -> Explanation:
    """Annotate the body of a message.

    Raises: UnsupportedVersionError.
    """
    walk = Walk(data)
    try:
        walk.value(layout(message, version), "")
    except Malformed as fault:
        where = fault.where or walk.path
        walk.found.fault = DecodeError(fault.reason, message.name, version, fault.offset, where)
    end = sum(len(span.data) for span in walk.found.spans)
    walk.found.rest = data[end:]
    return walk.found


class Walk:
    """Reads a value as its construct does, and keeps each step."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.stream = BytesIO(data)
        self.found = Explanation()
        self.path = ""

    def step(self, construct: Construct, path: str, text: Any, *, is_length: bool = False) -> Any:
        """Read one leaf; ``text`` makes its meaning out of its value."""
        self.path = path
        start = self.stream.tell()
        value = construct._parse(self.stream, Container(), f"(parsing) -> {path}")
        self.found.spans.append(Span(start, self.data[start : self.stream.tell()], path, text(value), is_length))
        return value

    def length(self, construct: Construct, path: str, noun: str) -> Any:
        """Read how many follow; null is ``None``."""
        return self.step(construct, path, lambda n: "null" if n is None else counted(n, noun), is_length=True)

    def value(self, construct: Construct, path: str) -> None:
        """Read one value of any kind."""
        match construct:
            case Absent():
                return
            case RecordStruct():
                self.record(construct, path)
            case CountedArray():
                count = self.length(construct.length, path, "item")
                for i in range(count or 0):
                    self.value(construct.subcon, f"{path}[{i}]")
            case NullableRecord():
                mark = self.step(construct.marker, path, lambda mark: "null" if mark <= 0 and mark != 1 else "present")
                if mark > 0:
                    self.record(construct.subcon, path)
            case Text() | Blob():
                self.sized(construct, path)
            case UuidConstruct():
                self.step(construct, path, uuid_to_text)
            case _:
                self.step(construct, path, str)

    def record(self, construct: RecordStruct, path: str) -> None:
        """Read each field, then the tagged ones."""
        for sub in construct.subcons:
            if isinstance(sub.subcon, TaggedFields):
                self.tagged(sub.subcon, path)
            else:
                self.value(sub.subcon, joined(path, sub.name))

    def tagged(self, construct: TaggedFields, path: str) -> None:
        """Read the tagged fields one by one."""
        count = self.length(UVarint, path, "tagged field")
        for _ in range(count):
            tag = self.step(UVarint, path, lambda tag: f"tag {tag}")
            start = self.stream.tell()
            size = self.length(UVarint, path, "byte")
            if size > len(self.data) - self.stream.tell():
                raise Malformed(f"tag {tag} of {size} bytes, but fewer remain", f"(parsing) -> {path}", start)
            if tag in construct.known:
                self.value(construct.known[tag].subcon, joined(path, construct.known[tag].name))
            else:
                at = self.stream.tell()
                self.found.spans.append(Span(at, self.stream.read(size), path, f"unknown tag {tag}"))

    def sized(self, construct: Text | Blob, path: str) -> None:
        """Read a length, then the string or bytes behind it."""
        start = self.stream.tell()
        length = self.length(construct.length, path, "byte")
        if not length:
            return
        at = self.stream.tell()
        self.stream.seek(start)
        value = construct._parse(self.stream, Container(), f"(parsing) -> {path}")
        text = repr(value) if isinstance(construct, Text) else counted(length, "opaque byte")
        self.found.spans.append(Span(at, self.data[at : self.stream.tell()], path, text))


def joined(path: str, name: str) -> str:
    """``topics[0]`` and ``name`` as ``topics[0].name``."""
    return f"{path}.{name}" if path else name


def counted(number: int, noun: str) -> str:
    """``1 item``, ``2 items``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
