"""Hypothesis strategies for any message and version, drawn from the declarations."""

from collections.abc import Callable
from functools import cache
from typing import Any

from construct import Construct
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..declare import TAGS, declaration_of
from ..layout import layout
from ..wire import (
    ZERO_UUID,
    Absent,
    Blob,
    Boolean,
    CountedArray,
    Fixed,
    NullableRecord,
    Record,
    TaggedFields,
    Text,
    UuidConstruct,
)

MOST_ITEMS = 3  # arrays nest; a few items each already make every kind of neighbour
INTEGERS = {
    "b": st.integers(-(2**7), 2**7 - 1),
    "h": st.integers(-(2**15), 2**15 - 1),
    "l": st.integers(-(2**31), 2**31 - 1),
    "q": st.integers(-(2**63), 2**63 - 1),
    "B": st.integers(0, 2**8 - 1),
    "H": st.integers(0, 2**16 - 1),
    "L": st.integers(0, 2**32 - 1),
}
TEXTS = st.one_of(
    st.sampled_from(["", "a", "az-a", "events", "räck", "機架", "x" * 126, "x" * 127, "x" * 128, "x" * 300]),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
BLOBS = st.one_of(st.binary(max_size=20), st.sampled_from([b"\x00" * 126, b"\x00" * 127, b"\x00" * 200]))
UUIDS = st.one_of(st.just(ZERO_UUID), st.binary(min_size=16, max_size=16))
UNKNOWN_TAGS = st.one_of(
    st.just(()),
    st.dictionaries(st.integers(10_000, 2**31 - 1), st.binary(max_size=12), min_size=1, max_size=2).map(
        lambda tags: tuple(sorted(tags.items()))
    ),
)


def versions(message: Any) -> SearchStrategy[int]:
    """The versions that a message class has."""
    return st.sampled_from(list(message.valid_versions))


@cache
def messages(message: Any, version: int) -> SearchStrategy[Any]:
    """Messages that ``version`` can hold in full: what it lacks is at its default."""
    return record_values(layout(message, version))


def versioned_messages(message: Any) -> SearchStrategy[tuple[int, Any]]:
    """A version, and a message that it can hold in full."""
    return versions(message).flatmap(lambda version: st.tuples(st.just(version), messages(message, version)))


@cache
def wild_messages(message: Any) -> SearchStrategy[Any]:
    """Messages with fields of every version set at once, so that each version has something to drop or refuse."""
    choices = [messages(message, version) for version in message.valid_versions]
    return st.tuples(*choices).flatmap(lambda drawn: mixed(list(drawn)))


def mixed(drawn: list[Any]) -> SearchStrategy[Any]:
    """One message that takes each top-level field from one of several messages of its class."""
    kind = type(drawn[0])
    picks = {
        one.name: st.sampled_from([getattr(source, one.name) for source in drawn])
        for one in declaration_of(kind).fields
    }
    return st.builds(kind, **picks)


def record_values(construct: Record) -> SearchStrategy[Any]:
    """Typed records that ``construct`` writes."""
    values: dict[str, SearchStrategy[Any]] = {}
    for sub in construct.subcons:
        if isinstance(sub.subcon, TaggedFields):
            values |= {field.name: value(field.subcon) for field in sub.subcon.known.values()}
            values[TAGS] = UNKNOWN_TAGS
        elif not isinstance(sub.subcon, Absent):
            values[sub.name] = value(sub.subcon)
    return st.builds(construct.record, **values)


def value(construct: Construct) -> SearchStrategy[Any]:
    """Typed values that ``construct`` writes."""
    for kind, make in STRATEGIES.items():
        if isinstance(construct, kind):
            return make(construct)
    raise NotImplementedError(construct)


def nullable(construct: Any, values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Null as well, where the length allows it."""
    return st.none() | values if construct.length.nullable else values


STRATEGIES: dict[Any, Callable[[Any], SearchStrategy[Any]]] = {
    Boolean: lambda _: st.booleans(),
    Fixed: lambda construct: st.floats(allow_nan=False) if construct.code == "d" else INTEGERS[construct.code],
    UuidConstruct: lambda _: UUIDS,
    Text: lambda construct: nullable(construct, TEXTS),
    Blob: lambda construct: nullable(construct, BLOBS),
    CountedArray: lambda construct: nullable(construct, st.lists(value(construct.subcon), max_size=MOST_ITEMS)),
    NullableRecord: lambda construct: st.none() | record_values(construct.subcon),
    Record: record_values,
}
