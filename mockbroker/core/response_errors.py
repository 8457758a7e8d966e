"""The errors in a response, at any depth; the fields to read are found once for each class of records.

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


def error_codes(response: Any) -> set[int]:
    """The error codes other than 0 in a response, nested ones too; empty without a response."""
    found: set[int] = set()
    if response is not None:
        collect(response, found)
    return found


def error_names(codes: Iterable[int]) -> tuple[str, ...]:
    """Kafka's names of errors, sorted, each once; 0 is omitted.

    >>> error_names([6, 0, 3, 6])
    ('NOT_LEADER_OR_FOLLOWER', 'UNKNOWN_TOPIC_OR_PARTITION')
    """
    return tuple(sorted({error_name(code) for code in codes if code}))


def collect(record: Any, found: set[int]) -> None:
    """Add the errors of a record and of its nested records."""
    kind: Any = type(record)
    own, nested = fields_where(kind, is_error)
    found.update([code for name in own if (code := getattr(record, name))])
    for name in nested:
        value = getattr(record, name)
        for one in value if isinstance(value, list) else () if value is None else (value,):
            collect(one, found)


def is_error(field: Field) -> bool:
    return field.name.endswith(ERROR_CODE)


@cache
def fields_where(record: Any, is_wanted: Callable[[Field], bool]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The wanted fields of a record, and those whose records may contain some."""
    own, nested = [], []
    for field in declaration_of(record).fields:
        inner = nested_record(field)
        if is_wanted(field):
            own.append(field.name)
        elif inner is not None and any(fields_where(inner, is_wanted)):
            nested.append(field.name)
    return tuple(own), tuple(nested)


def nested_record(field: Field) -> type | None:
    """The record class of a field or of its list's items; None for plain values."""
    kind = field.type
    while isinstance(kind, Array):
        kind = kind.item
    return kind if isinstance(kind, type) else None
