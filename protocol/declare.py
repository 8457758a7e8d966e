"""How a message is declared, and what a declaration gives.

A declared class becomes a typed ``msgspec.Struct`` whose fields all have defaults. :func:`protocol.layout` turns the
same declaration into an ordinary construct for one version.

>>> from protocol.wire import Array, Int32, String
>>> @response(key=3, versions="0-9", flexible="9+")
... class Example:
...     @record
...     class Broker:
...         node_id: int = field(Int32)
...         rack: str | None = field(String, versions="1+", nullable="1+", default=None, ignorable=True)
...
...     brokers: list[Broker] = field(Array(Broker))
>>> Example(brokers=[Example.Broker(node_id=1, rack="a")])
Example(brokers=[Broker(node_id=1, rack='a')])
>>> Example.name, Example.api_key, Example.flexible_versions
('Example', 3, VersionRange('9'))
"""

from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

import msgspec

from .versions import VersionRange
from .wire import Array, FieldType, RecordStruct

T = TypeVar("T")
TAGS = "unknown_tagged_fields"  # the field that every record has for tagged fields it does not know
UNSET: Any = object()


class Field:
    """One declared field: what the schema says of it, nothing more."""

    __slots__ = ("default", "flexible", "ignorable", "json_name", "name", "nullable", "tag", "type", "versions")

    def __init__(
        self,
        type: Any,
        versions: VersionRange,
        nullable: VersionRange,
        default: Any,
        ignorable: bool,
        tag: int | None,
        flexible: VersionRange | None,
        json_name: str,
    ) -> None:
        self.name = ""
        self.type, self.versions, self.nullable, self.default = type, versions, nullable, default
        self.ignorable, self.tag, self.flexible, self.json_name = ignorable, tag, flexible, json_name

    def fresh_default(self) -> Any:
        """The default value, a new one where it could be changed in place."""
        if self.default is not UNSET:
            return self.default
        if isinstance(self.type, Array):
            return []
        return self.type.default if isinstance(self.type, FieldType) else self.type()

    def attribute(self) -> Any:
        """The same as msgspec takes it."""
        if self.default is not UNSET:
            return self.default
        if isinstance(self.type, Array):
            return msgspec.field(default_factory=list)
        return self.type.default if isinstance(self.type, FieldType) else msgspec.field(default_factory=self.type)


def field(
    type: Any,
    *,
    versions: str = "0+",
    nullable: str = "none",
    default: Any = UNSET,
    ignorable: bool = False,
    tag: int | None = None,
    flexible: str | None = None,
    json: str = "",
) -> Any:
    """Declare a field.

    Args:
        type: a wire type, or a record class for a nested struct.
        versions, nullable: the message versions that have it, and those where it may be null.
        default: what a version without it reads as; without one, the type's own (0, "", empty).
        ignorable: a value other than the default is dropped by versions that lack the field, rather than refused.
        tag: its number where it is a tagged field (KIP-482).
        flexible: overrides the message's flexible versions for this field alone.
        json: its name in Kafka's JSON, where that is not the plain camelCase of ours.
    """
    own = None if flexible is None else VersionRange.parse(flexible)
    return Field(type, VersionRange.parse(versions), VersionRange.parse(nullable), default, ignorable, tag, own, json)


class Declaration:
    """The declaration of a typed class; ``fields`` in the order of the wire, ``layouts`` by version."""

    __slots__ = ("fields", "layouts", "message", "record")

    def __init__(self, record: type, fields: tuple[Field, ...], message: "Message | None") -> None:
        self.record, self.fields, self.message = record, fields, message
        self.layouts: dict[int, RecordStruct] = {}


class Message:
    """The facts of a message as a whole."""

    __slots__ = ("api_key", "flexible_versions", "kind", "latest_unstable", "name", "valid_versions")

    def __init__(
        self, name: str, kind: str, api_key: int | None, versions: str, flexible: str, latest_unstable: bool
    ) -> None:
        self.name, self.kind, self.api_key, self.latest_unstable = name, kind, api_key, latest_unstable
        self.valid_versions = VersionRange.parse(versions)
        self.flexible_versions = VersionRange.parse(flexible).within(self.valid_versions)


class MessageType(msgspec.StructMeta):
    """The type of message classes: the class itself answers ``.name``, ``.api_key`` and so on, its instances do not."""

    __declaration__: Declaration

    @property
    def message(cls) -> Message:
        """The facts of the message as a whole."""
        message = cls.__declaration__.message
        assert message is not None
        return message

    @property
    def name(cls) -> str:
        """Kafka's name: ``MetadataRequest``."""
        return cls.message.name

    @property
    def api_key(cls) -> int | None:
        """The number of the API, of a coordinator's record type or of a metadata record; headers have none."""
        return cls.message.api_key

    @property
    def kind(cls) -> str:
        """``request``, ``response``, ``header`` or ``data``."""
        return cls.message.kind

    @property
    def valid_versions(cls) -> VersionRange:
        """The versions that can be read and written."""
        return cls.message.valid_versions

    @property
    def stable_versions(cls) -> VersionRange:
        """The same without a newest one that is still to change, and that Kafka serves only where it is told to."""
        message, valid = cls.message, cls.message.valid_versions
        return VersionRange(valid.lowest, valid.highest - 1) if message.latest_unstable else valid

    @property
    def flexible_versions(cls) -> VersionRange:
        """Those among them with compact lengths and tagged fields (KIP-482)."""
        return cls.message.flexible_versions


def declaration_of(record: Any) -> Declaration:
    """The declaration of a record or message class."""
    found: Declaration = record.__declaration__
    return found


def build(declared: type, message: Message | None) -> Any:
    """Make the typed class of a declared one."""
    fields = []
    for name, value in vars(declared).items():
        if isinstance(value, Field):
            value.name = name
            value.json_name = value.json_name or camel_case(name)
            fields.append(value)
    namespace: dict[str, Any] = {
        name: value for name, value in vars(declared).items() if name not in ("__dict__", "__weakref__")
    }
    annotations = {one.name: declared.__annotations__[one.name] for one in fields}
    namespace |= {one.name: one.attribute() for one in fields}
    namespace["__annotations__"] = {**annotations, TAGS: tuple}
    namespace["__qualname__"] = declared.__qualname__  # or nested records would not pickle
    namespace[TAGS] = ()
    meta = msgspec.StructMeta if message is None else MessageType
    # gc=False: instances are no business of the garbage collector, which makes them cheaper. A message is a tree; only
    # one that was made to contain itself would never be freed.
    made: Any = meta(declared.__name__, (msgspec.Struct,), namespace, gc=False, repr_omit_defaults=True)
    made.__declaration__ = Declaration(made, tuple(fields), message)
    return made


def camel_case(name: str) -> str:
    """``topic_id`` as ``topicId``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


@dataclass_transform(kw_only_default=True)
def record(declared: type[T]) -> type[T]:
    """Declare a struct nested in a message."""
    made: type[T] = build(declared, None)
    return made


@dataclass_transform(kw_only_default=True)
def request(
    *, key: int, versions: str, flexible: str = "none", latest_unstable: bool = False
) -> Callable[[type[T]], type[T]]:
    """Declare the request of API ``key``."""
    return declare("request", key, versions, flexible, latest_unstable)


@dataclass_transform(kw_only_default=True)
def response(*, key: int, versions: str, flexible: str = "none") -> Callable[[type[T]], type[T]]:
    """Declare the response of API ``key``."""
    return declare("response", key, versions, flexible, False)


@dataclass_transform(kw_only_default=True)
def header(*, versions: str, flexible: str = "none") -> Callable[[type[T]], type[T]]:
    """Declare the header of requests or of responses."""
    return declare("header", None, versions, flexible, False)


@dataclass_transform(kw_only_default=True)
def data(*, versions: str, flexible: str = "none", key: int | None = None) -> Callable[[type[T]], type[T]]:
    """Declare a message that is stored, or travels inside another's bytes; ``key`` is the number of its record type."""
    return declare("data", key, versions, flexible, False)


def declare(
    kind: str, key: int | None, versions: str, flexible: str, latest_unstable: bool
) -> Callable[[type[T]], type[T]]:
    """The common part of the decorators above."""

    def decorate(declared: type[T]) -> type[T]:
        made: type[T] = build(declared, Message(declared.__name__, kind, key, versions, flexible, latest_unstable))
        return made

    return decorate
