"""Messages of one version read as another: the rules of Kafka's schema evolution, stated apart from the codec.

A message written in version a cannot hold what a lacks. Reading fills that in with defaults; writing it again in
version b drops, keeps or refuses by the same rule. :func:`cross` foretells it from the declarations alone, so that a
property test can hold the codec to it.
"""

from typing import Any

from ..declare import TAGS, Field, declaration_of
from ..versions import VersionRange
from ..wire import Array


class Refusal(Exception):
    """The version cannot hold the message; ``path`` is the first field, in wire order, that it cannot hold."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def cross(message: Any, version: int) -> Any:
    """The message that a reader of ``version`` gets when ``message`` is written in that version.

    Fields of the version survive; ignorable fields that it lacks come back as defaults; tagged fields unknown to us
    survive in flexible versions alone.

    Raises: Refusal: a field that the version lacks is set and not ignorable, or is null where it may not be, or
        unknown tagged fields meet a version without tags.
    """
    return crossed(message, version, type(message).flexible_versions, "")


def crossed(record: Any, version: int, flexible: VersionRange, path: str) -> Any:
    """:func:`cross` for one record."""
    values: dict[str, Any] = {}
    for one in declaration_of(record).fields:
        found = getattr(record, one.name)
        place = f"{path}.{one.name}" if path else one.name
        if version not in one.versions:
            if not one.ignorable and found != one.fresh_default():
                raise Refusal(place)
            continue
        if found is None:
            if version not in one.nullable and not (one.tag is not None and one.fresh_default() is None):
                raise Refusal(place)
            values[one.name] = None
            continue
        values[one.name] = crossed_value(one, found, version, flexible, place)
    if version in flexible:
        values[TAGS] = getattr(record, TAGS)
    return type(record)(**values)


def crossed_value(one: Field, found: Any, version: int, flexible: VersionRange, place: str) -> Any:
    """:func:`cross` for the value of one field."""
    if isinstance(one.type, Array) and isinstance(one.type.item, type):
        return [crossed(item, version, flexible, f"{place}[{i}]") for i, item in enumerate(found)]
    return crossed(found, version, flexible, place) if isinstance(one.type, type) else found
