"""Reads the JSON form of a fault into its classes: each field's type validates it, and describes it in errors.

What msgspec cannot validate is in ``extra`` of a type: ``is_valid`` tests a value, ``names`` are those to choose from.

>>> read_value(Ms, -1, "effect.delay_ms")
Traceback (most recent call last):
mockbroker.core.faults.reading.FaultError: effect.delay_ms: expected a whole number from 0 to 2147483647, got -1
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Self, TypeVar, Union, get_args, get_origin

from msgspec import Meta, Struct, UnsetType, ValidationError, convert, json
from msgspec.structs import fields

from mockbroker.state.patterns import hint

MAX_NUMBER = 2**31 - 1
MAX_NAME = 32767  # bytes of a string on the wire
MAX_SHOWN = 80  # characters of a value in an error

Ms = Annotated[int, Meta(ge=0, le=MAX_NUMBER, description=f"a whole number from 0 to {MAX_NUMBER}")]
Number = Ms
Count = Annotated[int, Meta(ge=1, le=MAX_NUMBER, description=f"a whole number from 1 to {MAX_NUMBER}")]
Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME, description=f"text of 1 to {MAX_NAME} characters")]
AlwaysTrue = Annotated[
    bool,
    Meta(
        description="true; without the fault there is none of it",
        extra_json_schema={"const": True},
        extra={"is_valid": bool},
    ),
]

T = TypeVar("T")
OneOrMore = Union[  # noqa: UP007 - a type with a parameter
    T, Annotated[tuple[T, ...], Meta(min_length=1, description="a value or a list of one or more")], UnsetType
]


class FaultError(ValueError):
    """An invalid fault: the text has the path, the expected value and the actual one.

    ``path`` reads like ``match.topic[1]``, empty for the fault as a whole; ``reason`` is the rest of the text.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = path, reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


class Form(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A part of a fault: its fields are those of its JSON form."""

    @classmethod
    def parse(cls, value: object, path: str) -> Self:
        """Parse the part from its JSON form. Raises FaultError."""
        found = cls(**read_fields(cls, value, path))
        found.check(path)
        return found

    def check(self, path: str) -> None:
        """Raise FaultError for fields that are valid alone but not together."""

    def to_json(self) -> dict[str, Any]:
        """The JSON form, without the fields that were left out."""
        found: dict[str, Any] = json.decode(json.encode(self))
        return found


def read_fields(form: type[Struct], value: object, path: str) -> dict[str, Any]:
    """The fields of an object, by their names in Python. Raises FaultError."""
    known = {field.encode_name: field for field in fields(form)}
    return {
        known[name].name: read_value(known[name].type, item, f"{path}.{name}".lstrip("."))
        for name, item in as_object(value, path, known).items()
    }


def read_value(kind: Any, value: object, path: str) -> Any:
    """A value of this type. Raises FaultError."""
    union = get_args(getattr(kind, "__origin__", kind) if get_origin(kind) is Annotated else kind)
    if UnsetType in union:
        kind = union[1 if isinstance(value, list | tuple) and len(union) > 2 else 0]
    if isinstance(kind, type) and issubclass(kind, Form):
        return kind.parse(value, path)
    (meta,) = kind.__metadata__
    read = value
    if get_origin(kind.__origin__) is tuple and isinstance(value, list | tuple):
        item_kind = get_args(kind.__origin__)[0]
        read = [read_value(item_kind, item, f"{path}[{index}]") for index, item in enumerate(value)]
    elif isinstance(value, float) and value.is_integer():
        read = int(value)  # 1.0 is an integer in JSON
    extra = meta.extra or {}
    try:
        found = convert(read, kind)
        is_valid = "is_valid" not in extra or extra["is_valid"](found)
    except ValidationError:
        is_valid = False
    if not is_valid:
        guess = hint(value, extra.get("names", ())) if isinstance(value, str) else ""
        raise FaultError(path, f"expected {meta.description}, got {shown(value)}{guess}")
    return found


def as_object(value: object, path: str, names: Iterable[str]) -> Mapping[str, Any]:
    """The value as an object with only these fields. Raises FaultError."""
    names = tuple(names)
    if not isinstance(value, Mapping):
        raise FaultError(path, f"expected an object with any of {', '.join(names)}, got {shown(value)}")
    for name in value:
        if name not in names:
            guess = hint(name, names) if isinstance(name, str) else ""
            raise FaultError(path, f"expected any of {', '.join(names)}, got {shown(name)}{guess}")
    return value


def shown(value: object, most: int = MAX_SHOWN) -> str:
    """A value as errors show it, in at most this many characters."""
    text = repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."
