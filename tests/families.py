"""Messages by family, which is the module that declares them, and how many of a family a property asks.

`make test` asks a few messages of each family, the same ones everywhere, that among them have every shape on the wire;
the Hypothesis profiles ``nightly`` and ``fuzz`` ask all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import protocol
from protocol.layouts import layout
from protocol.wire import Absent, CountedArray, NullableRecord, RecordStruct, TaggedFields

PROFILES_OF_ALL = ("nightly", "fuzz")


def family_of(message_class: Any) -> str:
    """Returns the name of the module that declares a message, as ``apis.fetch``."""
    return message_class.__module__.removeprefix("protocol.")


def families() -> dict[str, list[Any]]:
    """Returns the message classes by family, in the order of ``protocol.messages()``."""
    found: dict[str, list[Any]] = {}
    for message_class in protocol.messages():
        found.setdefault(family_of(message_class), []).append(message_class)
    return found


FAMILIES = families()
EACH_FAMILY = pytest.mark.parametrize("family", FAMILIES)


def asks_all() -> bool:
    """Returns whether the Hypothesis profile is one that asks every message."""
    return settings.get_current_profile_name() in PROFILES_OF_ALL


def chosen(family: str) -> list[Any]:
    """The messages of a family that the profile asks."""
    return FAMILIES[family] if asks_all() else sample()[family]


@functools.cache
def sample() -> dict[str, list[Any]]:
    """Returns one message of each family, and further ones until every shape of every message is among them."""
    found: dict[str, list[Any]] = {}
    seen: set[Any] = set()
    rest: list[tuple[str, Any]] = []
    for family, classes in FAMILIES.items():
        first = Random(family).choice(classes)
        found[family] = [first]
        seen |= shapes_of(first)
        rest += [(family, one) for one in classes if one is not first]
    for family, message_class in rest:
        if not shapes_of(message_class) <= seen:
            seen |= shapes_of(message_class)
            found[family].append(message_class)
    return found


@functools.cache
def shapes_of(message_class: Any) -> frozenset[Any]:
    """Returns each way in which a field is on the wire, in any version: what it is, in what, and with which length."""
    return frozenset(
        shape for version in message_class.valid_versions for shape in shapes(layout(message_class, version), "message")
    )


def shapes(construct: Any, place: str) -> Iterator[tuple[str, ...]]:
    kind = type(construct).__name__
    length = getattr(construct, "length", None)
    how = (
        str(getattr(construct, "fmtstr", "")),
        f"nullable={getattr(length, 'nullable', isinstance(construct, NullableRecord))}",
        f"compact={getattr(length, 'compact', getattr(construct, 'compact', None))}",
    )
    yield place, kind, *how
    if isinstance(construct, RecordStruct):
        for sub in construct.subcons:
            yield from shapes(sub.subcon, "field")
    elif isinstance(construct, TaggedFields):
        for one in construct.known.values():
            yield from shapes(one.subcon, "tagged field")
    elif isinstance(construct, CountedArray | NullableRecord):
        yield from shapes(construct.subcon, kind)
    elif isinstance(construct, Absent):
        yield place, kind, f"ignorable={construct.ignorable}", type(construct.default).__name__


def of_each_message(examples: int) -> Callable[[Callable[[Any, st.DataObject], None]], Any]:
    """Makes a property of a message into a test for each family, with this many examples of each chosen message."""
    few = settings(max_examples=examples, suppress_health_check=list(HealthCheck))

    def made(holds: Callable[[Any, st.DataObject], None]) -> Any:
        def check(message_class: Any) -> None:
            @few
            @given(data=st.data())
            def property_of_message(data: st.DataObject) -> None:
                holds(message_class, data)

            property_of_message()

        @EACH_FAMILY
        @functools.wraps(holds, updated=())
        def test(family: str) -> None:
            for message_class in chosen(family):
                try:
                    check(message_class)
                except BaseException as failure:
                    failure.add_note(f"message: {message_class.name}")
                    raise

        del test.__wrapped__  # pytest would read its arguments
        return test

    return made
