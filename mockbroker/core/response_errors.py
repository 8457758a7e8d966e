"""The errors in a response, at any depth: a reader is compiled once for each class of response.

>>> from protocol.apis.group_offsets import OffsetCommitResponse as Response
>>> from mockbroker.core.response_errors import error_codes
>>> partitions = [Response.Topic.Partition(partition_index=0), Response.Topic.Partition(error_code=25)]
>>> error_codes(Response(topics=[Response.Topic(name="orders", partitions=partitions)]))
{25}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from protocol.declare import Field, declaration_of
from protocol.error_codes import error_name
from protocol.wire import Array

ERROR_CODE = "error_code"
Look = Callable[[Any, "set[int]"], None]


def error_codes(response: Any) -> set[int]:
    """The error codes other than 0 in a response, nested ones too; empty without a response."""
    if response is None:
        return set()
    kind: Any = type(response)
    look = look_at(kind)
    found: set[int] = set()
    if look is not None:
        look(response, found)
    return found


def error_names(codes: Iterable[int]) -> tuple[str, ...]:
    """Kafka's names of errors, sorted, each once; 0 is omitted.

    >>> error_names([6, 0, 3, 6])
    ('NOT_LEADER_OR_FOLLOWER', 'UNKNOWN_TOPIC_OR_PARTITION')
    """
    return tuple(sorted({error_name(code) for code in codes if code}))


@cache
def look_at(record: type) -> Look | None:
    """A function that collects the errors of a record and its nested records; None if it cannot contain any."""
    own: list[str] = []
    single: list[tuple[str, Look]] = []
    listed: list[tuple[str, Look]] = []
    for field in declaration_of(record).fields:
        nested = nested_record(field)
        if nested is None:
            if field.name.endswith(ERROR_CODE):
                own.append(field.name)
        elif (inside := look_at(nested)) is not None:
            (listed if isinstance(field.type, Array) else single).append((field.name, inside))
    if not (own or single or listed):
        return None

    def look(message: Any, found: set[int]) -> None:
        for name in own:
            code = getattr(message, name)
            if code:
                found.add(code)
        for name, inside in single:
            value = getattr(message, name)
            if value is not None:
                inside(value, found)
        for name, inside in listed:
            for one in getattr(message, name) or ():
                inside(one, found)

    return look


def nested_record(field: Field) -> type | None:
    """The record class of a field or of its list's items; None for plain values."""
    kind = field.type
    while isinstance(kind, Array):
        kind = kind.item
    return kind if isinstance(kind, type) else None
