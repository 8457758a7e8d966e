"""Messages as JSON, in the form of Apache Kafka's ``*JsonConverter`` classes.

Names are camelCase, uuids URL-safe base64, bytes base64; a tagged field at its default is left out. One thing differs:
Kafka prints ``records`` as an empty string, here they are base64, both ways.
"""

from base64 import b64decode, b64encode
from typing import Any

from construct import Construct

from .codec import codec
from .declare import declaration_of
from .errors import EncodeError
from .layouts import layout
from .registry import named_class
from .uuids import uuid_from_text, uuid_to_text
from .wire import (
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


def to_json(message: Any, version: int) -> dict[str, Any]:
    """A message in the JSON form of Kafka's ``*JsonConverter`` classes, ready for :func:`json.dumps`.

    Raises: EncodeError: the version cannot hold the message. UnsupportedVersionError.
    """
    codec(type(message), version).encode(message)  # refuses what the version cannot hold, with the words of the codec
    written: dict[str, Any] = write_record(layout(type(message), version), message)
    return written


def write_record(construct: RecordStruct, value: Any) -> dict[str, Any]:
    """A typed record as a dict, fields in the order of the declaration."""
    written = {}
    for one, sub, known in json_fields(construct):
        item = getattr(value, one.name)
        if known is not None and item == one.fresh_default():
            continue
        written[one.json_name] = write_value(sub, item)
    return written


def json_fields(construct: RecordStruct) -> list[tuple[Any, Construct, int | None]]:
    """Each field that the version has: its declaration, its construct, its tag or None."""
    plain: dict[str, Construct] = {}
    for sub in construct.subcons:
        if isinstance(sub.subcon, TaggedFields):
            plain |= {field.name: field.subcon for field in sub.subcon.known.values()}
        elif not isinstance(sub.subcon, Absent):
            plain[sub.name] = sub.subcon
    return [(one, plain[one.name], one.tag) for one in declaration_of(construct.record).fields if one.name in plain]


def write_value(construct: Construct, value: Any) -> Any:
    """A typed value as JSON has it."""
    if value is None:
        return None
    match construct:
        case CountedArray():
            return [write_value(construct.subcon, item) for item in value]
        case NullableRecord():
            return write_record(construct.subcon, value)
        case RecordStruct():
            return write_record(construct, value)
        case UuidConstruct():
            return uuid_to_text(value)
        case Blob():
            return b64encode(value).decode()
    return value


def from_json(name: str, version: int, value: Any) -> Any:
    """The message called ``name`` out of its JSON form; fields left out get their defaults.

    Raises: EncodeError: a name that the version does not know, or a value of the wrong kind; with its path.
        UnsupportedVersionError.
    """
    return read_record(layout(named_class(name), version), value, JsonPlace(name, version, ""))


class JsonPlace:
    """A place in the JSON, for errors."""

    def __init__(self, message: str, version: int, path: str) -> None:
        self.message, self.version, self.path = message, version, path

    def inside(self, step: str) -> "JsonPlace":
        """One step further in: a name, or an index in brackets."""
        joint = "." if self.path and not step.startswith("[") else ""
        return JsonPlace(self.message, self.version, f"{self.path}{joint}{step}")

    def wrong(self, reason: str) -> EncodeError:
        """The error to raise."""
        return EncodeError(reason, self.message, self.version, self.path)


def read_record(construct: RecordStruct, value: Any, place: JsonPlace) -> Any:
    """A dict as a typed record."""
    if not isinstance(value, dict):
        raise place.wrong(f"expected an object, got {value!r}")
    fields = {one.json_name: (one.name, sub) for one, sub, _ in json_fields(construct)}
    values = {}
    for name, item in value.items():
        if name not in fields:
            raise place.inside(name).wrong(f"no such field in this version; it has {', '.join(fields) or 'none'}")
        own, sub = fields[name]
        values[own] = read_value(sub, item, place.inside(name))
    return construct.record(**values)


def read_value(construct: Construct, value: Any, place: JsonPlace) -> Any:
    """A JSON value as a typed one."""
    match construct:
        case CountedArray() | Text() | Blob() if value is None and construct.length.nullable:
            return None
        case NullableRecord():
            return None if value is None else read_record(construct.subcon, value, place)
        case RecordStruct():
            return read_record(construct, value, place)
        case CountedArray() if isinstance(value, list):
            return [read_value(construct.subcon, item, place.inside(f"[{i}]")) for i, item in enumerate(value)]
        case Text() if isinstance(value, str):
            return value
        case Blob() | UuidConstruct() if isinstance(value, str):
            try:
                return b64decode(value, validate=True) if isinstance(construct, Blob) else uuid_from_text(value)
            except ValueError as error:
                raise place.wrong(str(error)) from None
        case Boolean() if isinstance(value, bool):
            return value
        case Fixed() if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value) if construct.code == "d" else value
    raise place.wrong(f"expected {expected(construct)}, got {value!r}")


def expected(construct: Construct) -> str:
    """The values that a construct takes, in words."""
    match construct:
        case CountedArray():
            return "an array"
        case Text():
            return "a string"
        case Blob() | UuidConstruct():
            return "base64"
        case Boolean():
            return "true or false"
    return "a number"
