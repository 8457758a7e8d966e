"""The checks: each returns the fault in one message or in some bytes, or None.

A fault has a ``kind``, a few words that do not depend on the values, so that a thousand examples of one fault are one
failure, and a smaller message can be recognised as an example of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

import protocol
from kafka_rack.pipeline.fuzz.codecs import UserCodec
from protocol import reference
from protocol.codec import codec, decode_as
from protocol.declare import TAGS, declaration_of
from protocol.fuzz.crossing import Refusal, cross
from protocol.fuzz.oracles import Unfit
from protocol.wire import Array, FieldType

MESSAGE, WILD, BYTES = "message", "wild", "bytes"
"""The inputs of checks: a message that the version can hold, one that mixes versions, damaged bytes."""
MAX_ANSWER_CHARACTERS = 4_000  # the most characters stored of each side's answer
ABSENT = object()


class Disagreement(NamedTuple):
    """A fault; ``ours`` and ``theirs`` are the answers of both sides, or the expected and the actual value."""

    kind: str
    ours: str
    theirs: str


class FuzzCheck(Protocol):
    """One check. It may raise Unfit if the other side cannot represent the values."""

    name: str
    takes: tuple[str, ...] = (MESSAGE,)
    damaged: int = 0  # inputs of damaged bytes for each example

    def supports(self, message: str, version: int) -> bool:
        """True if the check applies to this message version."""
        return version in protocol.named_class(message).valid_versions

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        """The fault in ``value``, a message of this class or bytes, in this version; None if it has none."""


class RoundTrip(FuzzCheck):
    """The compiled codec decodes its own output, and encodes it to the same bytes."""

    name = "round-trip"

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        ours = codec(message, version)
        try:
            data = ours.encode(value)
        except Exception as error:  # noqa: BLE001 - the check is that nothing escapes
            return Disagreement(f"not written: {type(error).__name__}", shown(value), described(error))
        try:
            found, end = ours.decode(data)
        except Exception as error:  # noqa: BLE001
            return Disagreement(f"not read: {type(error).__name__}", shown(value), described(error))
        if end != len(data):
            return Disagreement("bytes left over", shown(value), f"{len(data) - end} bytes left over")
        if found != value:
            return Disagreement("another message read", shown(value), shown(found))
        again = ours.encode(found)
        return None if again == data else Disagreement("other bytes written", data.hex(), again.hex())


class Versions(FuzzCheck):
    """A message with fields of several versions: each field survives, is dropped or refused as it is declared."""

    name, takes = "versions", (WILD,)

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        try:
            expected = cross(value, version)
        except Refusal as refusal:
            return refused_at(message, version, value, refusal.path)
        try:
            found = decode_as(message, version, codec(message, version).encode(value))
        except Exception as error:  # noqa: BLE001
            return Disagreement(f"does not cross: {type(error).__name__}", shown(expected), described(error))
        return None if found == expected else Disagreement("crosses as another message", shown(expected), shown(found))


def refused_at(message: Any, version: int, value: Any, path: str) -> Disagreement | None:
    """A fault unless the encoder refuses the field at ``path``."""
    try:
        data = codec(message, version).encode(value)
    except protocol.EncodeError as error:
        return None if error.path == path else Disagreement("another field refused", path, error.path)
    except Exception as error:  # noqa: BLE001
        return Disagreement(f"not refused: {type(error).__name__}", f"refuses {path}", described(error))
    return Disagreement("not refused", f"refuses {path}", data.hex())


class Reference(FuzzCheck):
    """The slow reference constructs encode and decode the same, and refuse the same damage."""

    name, takes, damaged = "reference", (MESSAGE, BYTES), 1

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        if isinstance(value, bytes):
            ours, theirs = (outcome(read, message, version, value) for read in (decode_as, reference_decode))
            return None if ours == theirs else Disagreement("readers disagree about damaged bytes", ours, theirs)
        ours_written, theirs_written = codec(message, version).encode(value), reference.encode(value, version)
        if ours_written != theirs_written:
            return Disagreement("constructs write other bytes", ours_written.hex(), theirs_written.hex())
        found = reference_decode(message, version, ours_written)
        return None if found == value else Disagreement("constructs read another message", shown(value), shown(found))


def reference_decode(message: Any, version: int, data: bytes) -> Any:
    found, end = reference.decode(message, version, data)
    if end != len(data):
        raise protocol.DecodeError(f"{len(data) - end} bytes left over", message.name, version, end)
    return found


class DamageCheck(FuzzCheck):
    """Damaged bytes decode to a message or raise DecodeError; such a message can be encoded and decoded again."""

    name, takes, damaged = "damage", (BYTES,), 4

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        try:
            found = decode_as(message, version, value)
        except protocol.DecodeError as error:
            if "though its construct reads it" not in error.reason:
                return None
            return Disagreement("refused, though its construct reads it", str(error), "")
        except Exception as error:  # noqa: BLE001 - the check looks for escaping exceptions
            return Disagreement(f"{type(error).__name__} escapes", "a message or DecodeError", described(error))
        try:
            written = codec(message, version).encode(found)
            again = codec(message, version).encode(decode_as(message, version, written))
        except Exception as error:  # noqa: BLE001
            return Disagreement(
                f"read, but not written and read again: {type(error).__name__}", shown(found), described(error)
            )
        return None if again == written else Disagreement("other bytes written", written.hex(), again.hex())


class Users(FuzzCheck):
    """The user's own codec: the same bytes from the same JSON, the same JSON from the same bytes, clean refusals."""

    name = "codec"

    def __init__(self, theirs: UserCodec) -> None:
        self.theirs = theirs
        reads = theirs.decode is not None or theirs.rewritten is not None
        if theirs.refusals and reads:
            self.takes, self.damaged = (MESSAGE, BYTES), 2

    def supports(self, message: str, version: int) -> bool:
        return bool(self.theirs.supports(message, version))

    def fault(self, message: Any, version: int, value: Any) -> Disagreement | None:
        if isinstance(value, bytes):
            return self._refusal(message, version, value)
        try:
            data = codec(message, version).encode(value)
            plain = without_tags(value)
            plain_data = codec(message, version).encode(plain)  # neither JSON nor every codec has unknown tags
            tree = protocol.to_json(plain, version)
        except protocol.ProtocolError as error:
            raise Unfit(f"not a message of this version: {error}") from error
        return (
            self._same_bytes("encode", message, version, json.loads(json.dumps(tree)), plain_data)
            or self._decoded(message, version, data, tree)
            or self._same_bytes("rewritten", message, version, plain_data, plain_data)
        )

    def _same_bytes(self, ability: str, message: Any, version: int, value: Any, data: bytes) -> Disagreement | None:
        theirs = self._answer(ability, message, version, value, data.hex())
        if theirs is None or isinstance(theirs, Disagreement) or bytes(theirs) == data:
            return theirs if isinstance(theirs, Disagreement) else None
        return Disagreement(f"{ability} gives other bytes", data.hex(), bytes(theirs).hex())

    def _decoded(self, message: Any, version: int, data: bytes, tree: Any) -> Disagreement | None:
        theirs = self._answer("decode", message, version, data, as_text(tree))
        if self.theirs.decode is None:
            return None
        if isinstance(theirs, Disagreement):
            return theirs
        where = first_difference(tree, theirs)
        if where is None or first_difference(tree, in_our_words(message, version, theirs)) is None:
            return None
        return Disagreement(f"decode differs at {where}", as_text(tree), as_text(theirs))

    def _answer(self, ability: str, message: Any, version: int, value: Any, ours: str) -> Any:
        """The codec's answer, None if it lacks the function, or a Disagreement if it raises. Raises Unfit."""
        ask = getattr(self.theirs, ability)
        try:
            return None if ask is None else ask(message.name, version, value)
        except Unfit:
            raise
        except Exception as error:  # noqa: BLE001 - a third-party codec
            return Disagreement(f"{ability} raises {type(error).__name__}", ours, described(error))

    def _refusal(self, message: Any, version: int, value: bytes) -> Disagreement | None:
        refusals: tuple[type[BaseException], ...] = (*self.theirs.refusals, Unfit)
        for read in (self.theirs.decode, self.theirs.rewritten):
            try:
                if read is not None:
                    read(message.name, version, value)
            except refusals:
                continue
            except Exception as error:  # noqa: BLE001
                allowed = ", ".join(one.__name__ for one in self.theirs.refusals)
                return Disagreement(f"{type(error).__name__} escapes", f"an answer, or {allowed}", described(error))
        return None


# -- all checks --------------------------------------------------------------------------------------------------------

OWN_CHECKS: tuple[FuzzCheck, ...] = (RoundTrip(), Versions(), Reference(), DamageCheck())
CHECKS = (*(check.name for check in OWN_CHECKS), "java", "codec")
"""All names. ``java`` runs in Spark's JVM, see the module of that name; ``codec`` is the user's."""


def checks_for(names: Sequence[str], theirs: UserCodec | None = None) -> list[FuzzCheck]:
    """Returns the checks of these names that run in Python, in the order of :data:`CHECKS`."""
    found = [check for check in OWN_CHECKS if check.name in names]
    if "codec" in names:
        assert theirs is not None
        found.append(Users(theirs))
    return found


# -- small things ------------------------------------------------------------------------------------------------------


def outcome(read: Callable[..., Any], *of: Any) -> str:
    """The outcome of reading bytes, as text: messages that hold NaN are not equal to themselves."""
    try:
        return str(msgspec.to_builtins(read(*of)))
    except protocol.DecodeError:
        return "refused"


def shown(message: Any) -> str:
    return cut(repr(message))


def described(error: BaseException) -> str:
    return cut(f"{type(error).__name__}: {error}")


def as_text(tree: Any) -> str:
    return cut(json.dumps(tree, ensure_ascii=False, default=repr))


def cut(text: str) -> str:
    """A text cut to ``MAX_ANSWER_CHARACTERS``."""
    return text if len(text) <= MAX_ANSWER_CHARACTERS else f"{text[:MAX_ANSWER_CHARACTERS]}... {len(text)} characters"


def without_tags(record: Any) -> Any:
    """The record without unknown tagged fields, at any depth."""
    values = {one.name: stripped(one.type, getattr(record, one.name)) for one in declaration_of(record).fields}
    return type(record)(**values, **{TAGS: ()})


def stripped(type_: Any, value: Any) -> Any:
    """:func:`without_tags` for a value of a field's type."""
    if value is None or (isinstance(type_, FieldType) and not isinstance(type_, Array)):
        return value
    if isinstance(type_, Array):
        return value if isinstance(type_.item, FieldType) else [without_tags(item) for item in value]
    return without_tags(value)


def in_our_words(message: Any, version: int, tree: Any) -> Any:
    """JSON in our form: tagged fields at their default may be present or not. Unknown fields stay."""
    try:
        return protocol.to_json(protocol.from_json(message.name, version, tree), version)
    except protocol.ProtocolError:
        return tree


def first_difference(ours: Any, theirs: Any, path: str = "") -> str | None:
    """The path of the first difference of two JSON values, without indices; None if they are equal.

    >>> first_difference({"topics": [{"name": "a"}]}, {"topics": [{"name": None}]})
    'topics[].name'
    """
    parts: Iterable[tuple[str, Any, Any]]
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        names = dict.fromkeys((*ours, *theirs))
        parts = (
            (f"{path}.{name}" if path else str(name), ours.get(name, ABSENT), theirs.get(name, ABSENT))
            for name in names
        )
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        parts = ((f"{path}[]", *pair) for pair in zip(ours, theirs, strict=True))
    else:
        same = ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)
        return None if same else path or "the whole"
    found = (first_difference(one, other, place) for place, one, other in parts)
    return next(filter(None, found), None)
