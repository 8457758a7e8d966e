"""Hypothesis strategies for any message and version, drawn from the declarations.

What leaves are made of is a :class:`Draws`; whoever fuzzes a program with names and limits of its own gives another:

>>> from hypothesis import strategies as st
>>> import protocol
>>> own = Draws(texts=st.sampled_from(["orders", "payments"]), max_items=1)
>>> request = messages(protocol.named_class("MetadataRequest"), 1, own)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from construct import Construct
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from ..declare import TAGS, declaration_of
from ..layouts import layout
from ..wire import (
    ZERO_UUID,
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
from .edges import LONG_LENGTHS, MAX_TAG, MIN_UNKNOWN_TAG, WIDTHS, WORDS, edges, ends
from .generation import has_arrays

SIMPLE_LENGTHS = 30  # arrays as drawn, for each that is repeated until its count takes two bytes


def numbers(bits: int, *, signed: bool) -> SearchStrategy[int]:
    """Whole numbers of so many bits, those at the edges of this and of narrower types more often than others."""
    simplest_first = sorted(edges(bits, signed=signed), key=abs)
    return st.one_of(st.sampled_from(simplest_first), st.integers(*ends(bits, signed=signed)))


@dataclass(frozen=True, eq=False)
class Draws:
    """The strategies for the leaves of a message.

    ``integers`` has a strategy for each of ``b h l q`` (int8 to int64) and ``B H L`` (uint8 to uint32). Arrays have up
    to ``max_items``; now and then, where ``long_arrays``, an item is repeated until its compact count takes two bytes.
    """

    texts: SearchStrategy[str] = field(
        default_factory=lambda: st.one_of(
            st.sampled_from(["", *WORDS, *("x" * length for length in LONG_LENGTHS)]),
            st.text(st.characters(codec="utf-8"), max_size=20),
        )
    )
    blobs: SearchStrategy[bytes] = field(
        default_factory=lambda: st.one_of(
            st.binary(max_size=20), st.sampled_from([bytes(length) for length in LONG_LENGTHS])
        )
    )
    uuids: SearchStrategy[bytes] = field(
        default_factory=lambda: st.one_of(st.just(ZERO_UUID), st.binary(min_size=16, max_size=16))
    )
    floats: SearchStrategy[float] = field(default_factory=lambda: st.floats(allow_nan=False))
    integers: Mapping[str, SearchStrategy[int]] = field(
        default_factory=lambda: {code: numbers(bits, signed=signed) for code, (bits, signed) in WIDTHS.items()}
    )
    unknown_tags: SearchStrategy[tuple[tuple[int, bytes], ...]] = field(
        default_factory=lambda: st.one_of(
            st.just(()),
            st.dictionaries(st.integers(MIN_UNKNOWN_TAG, MAX_TAG), st.binary(max_size=12), min_size=1, max_size=2).map(
                lambda tags: tuple(sorted(tags.items()))
            ),
        )
    )
    max_items: int = 3  # arrays nest; a few items each already make every kind of neighbour
    long_arrays: bool = True


ANYTHING = Draws()


def versions(message: Any) -> SearchStrategy[int]:
    """The versions that a message class has."""
    return st.sampled_from(list(message.valid_versions))


@cache
def messages(message: Any, version: int, draws: Draws = ANYTHING) -> SearchStrategy[Any]:
    """Messages that ``version`` can hold in full: what it lacks is at its default.

    Raises: UnsupportedVersionError.
    """
    return record_values(layout(message, version), draws)


def versioned_messages(message: Any, draws: Draws = ANYTHING) -> SearchStrategy[tuple[int, Any]]:
    """A version, and a message that it can hold in full."""
    return versions(message).flatmap(lambda version: st.tuples(st.just(version), messages(message, version, draws)))


def wild_messages(message: Any, draws: Draws = ANYTHING) -> SearchStrategy[Any]:
    """Messages with fields of several versions set at once, so that each version has something to drop or refuse."""
    pair = st.tuples(versions(message), versions(message))
    return pair.flatmap(lambda pair: st.tuples(*(messages(message, version, draws) for version in pair)).flatmap(mixed))


def mixed(drawn: tuple[Any, ...]) -> SearchStrategy[Any]:
    """One message that takes each top-level field from one of several messages of its class."""
    kind = type(drawn[0])
    picks = {
        one.name: st.sampled_from([getattr(source, one.name) for source in drawn])
        for one in declaration_of(kind).fields
    }
    return st.builds(kind, **picks)


def record_values(construct: RecordStruct, draws: Draws) -> SearchStrategy[Any]:
    """Typed records that ``construct`` writes."""
    values: dict[str, SearchStrategy[Any]] = {}
    for sub in construct.subcons:
        if isinstance(sub.subcon, TaggedFields):
            values |= {field.name: value(field.subcon, draws) for field in sub.subcon.known.values()}
            values[TAGS] = draws.unknown_tags
        elif not isinstance(sub.subcon, Absent):
            values[sub.name] = value(sub.subcon, draws)
    return st.builds(construct.record, **values)


def value(construct: Construct, draws: Draws) -> SearchStrategy[Any]:
    """Typed values that ``construct`` writes."""
    for kind, make in STRATEGIES.items():
        if isinstance(construct, kind):
            return make(construct, draws)
    raise NotImplementedError(construct)


def nullable(construct: Any, values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """Null as well, where the length allows it."""
    return st.none() | values if construct.length.nullable else values


def arrays(construct: CountedArray, draws: Draws) -> SearchStrategy[Any]:
    """Short arrays, and now and then a long one of one item; not of items with arrays inside, which would multiply."""
    short = st.lists(value(construct.subcon, draws), max_size=draws.max_items)
    if not draws.long_arrays or has_arrays(construct.subcon):
        return nullable(construct, short)
    times = st.sampled_from([1] * SIMPLE_LENGTHS + list(LONG_LENGTHS))
    return nullable(construct, st.builds(lambda items, times: items if times == 1 else items[:1] * times, short, times))


def fixed(construct: Fixed, draws: Draws) -> SearchStrategy[Any]:
    """Numbers of fixed width."""
    return draws.floats if construct.code == "d" else draws.integers[construct.code]


STRATEGIES: dict[Any, Callable[[Any, Draws], SearchStrategy[Any]]] = {
    Boolean: lambda _, __: st.booleans(),
    Fixed: fixed,
    UuidConstruct: lambda _, draws: draws.uuids,
    Text: lambda construct, draws: nullable(construct, draws.texts),
    Blob: lambda construct, draws: nullable(construct, draws.blobs),
    CountedArray: arrays,
    NullableRecord: lambda construct, draws: st.none() | record_values(construct.subcon, draws),
    RecordStruct: record_values,
}
