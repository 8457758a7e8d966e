"""The places of a request's subjects and of its answer's errors, derived from the declarations.

Most APIs have the same tree on both sides: a list of topics with a list of partitions in each, or of groups.
``parts_of`` walks both declarations side by side, down to the records of the answer that have a field of errors.

>>> from protocol.apis.list_offsets import ListOffsetsRequest, ListOffsetsResponse
>>> levels = parts_of(ListOffsetsRequest, ListOffsetsResponse, 1)
>>> [(level.requested, level.answered, level.keys) for level in levels]
[('topics', 'topics', (('name', 'name'),)), ('partitions', 'partitions', (('partition_index', 'partition_index'),))]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from protocol.declare import Field, declaration_of
from protocol.wire import Array

KEYS = frozenset(
    {
        *("name", "topic", "topic_name", "topic_id", "partition", "partition_index", "partition_id", "index"),
        *("group_id", "key", "transactional_id", "producer_id", "resource_type", "resource_name"),
    }
)
"""The fields that identify an entry."""
ERROR_CODE = "error_code"


class Level(NamedTuple):
    """One list of a request, and the list of the answer with an entry for each of its elements.

    Attributes:
        requested: the request's field; ``dirs.topics`` for a list in the entries of another.
        answered, entry: the answer's field, and the class of its entries.
        keys: field of the answer's entry, and of the request's; "" if the request's list contains the value itself.
    """

    requested: str
    answered: str
    entry: Any
    keys: tuple[tuple[str, str], ...]

    def elements(self, record: Any) -> list[Any]:
        """The request's elements in one of its records."""
        found = [record]
        for name in self.requested.split("."):
            found = [element for holder in found for element in getattr(holder, name) or ()]
        return found

    def entry_of(self, element: Any) -> Any:
        """The answer's entry for one element, with only its keys."""
        entry = self.entry()
        for name, requested in self.keys:
            setattr(entry, name, getattr(element, requested) if requested else element)
        return entry

    def key_of(self, entry: Any) -> tuple[Any, ...]:
        """The values that identify an entry of the answer."""
        return tuple([getattr(entry, name) for name, _ in self.keys])


@cache
def parts_of(
    request: Any, response: Any, version: int, requested: Sequence[str] = (), answered: Sequence[str] = ()
) -> tuple[Level, ...]:
    """The lists, outermost first, down to the answer's records with errors; none if the answer has a top-level error.

    Args:
        requested, answered: the lists of each level, if they do not follow from the declarations.
    """
    levels: list[Level] = []
    source, target = request, response
    for place, name in enumerate(answered or path_to_errors(response, version)):
        own = requested[place] if requested else same_list(source, name, version)
        for step in own.split("."):
            source = item_of(source, step)
        target = item_of(target, name)
        levels.append(Level(own, name, target, tuple(shared_keys(source, target, version))))
    return tuple(levels)


def path_to_errors(record: Any, version: int) -> list[str]:
    """The lists that lead to the first records with an error field."""
    for field in lists_of(record, version):
        item = item_of(record, field.name)
        if isinstance(item, type):
            if error_field(item, version):
                return [field.name]
            if further := path_to_errors(item, version):
                return [field.name, *further]
    return []


def same_list(record: Any, name: str, version: int) -> str:
    """The request's list that corresponds to an answer's list: of the same name, else the first."""
    names = [field.name for field in lists_of(record, version)]
    return name if name in names else names[0]


def shared_keys(source: Any, target: Any, version: int) -> Iterator[tuple[str, str]]:
    """Pairs of keys of the answer's and the request's entries; the first of each if no names are equal."""
    keys = [field.name for field in fields_of(target, version) if field.name in KEYS]
    if not isinstance(source, type):
        yield from ((key, "") for key in keys[:1])
        return
    own = [field.name for field in fields_of(source, version) if field.name in KEYS]
    same = [(key, key) for key in keys if key in own]
    yield from same or zip(keys[:1], own[:1], strict=False)


def error_field(record: Any, version: int) -> str:
    """The name of a record's error field; "" if it has none."""
    return next((field.name for field in fields_of(record, version) if field.name.endswith(ERROR_CODE)), "")


def fields_of(record: Any, version: int) -> list[Field]:
    """The fields that a record has in a version."""
    return [field for field in declaration_of(record).fields if version in field.versions]


def lists_of(record: Any, version: int) -> list[Field]:
    return [field for field in fields_of(record, version) if isinstance(field.type, Array)]


def item_of(record: Any, name: str) -> Any:
    """The type of the items of a record's list: a record class, or a wire type.

    Raises ValueError: the record has no such list.
    """
    found = [field.type.item for field in declaration_of(record).fields if field.name == name]
    if not found:
        raise ValueError(f"{record.__qualname__} has no list {name!r}")
    return found[0]
