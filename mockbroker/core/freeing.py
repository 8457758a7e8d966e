"""What large messages hold is given back piece by piece: to free a million names at once takes a third of a second.

Whoever else keeps some of it keeps it: what is cleared are lists of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from mockbroker.call import QUICK_ITEMS
from protocol.declare import declaration_of

FEW = 10
"""Shorter lists are not given back by themselves, but looked into."""


def long_lists(*messages: Any) -> list[list[Any]]:
    """What the long lists in messages hold, in new lists; a message may be None."""
    found: list[list[Any]] = []
    for message in messages:
        if message is None:
            continue
        for field in declaration_of(type(message)).fields:
            value = getattr(message, field.name)
            if not isinstance(value, list) or not value:
                continue
            if len(value) > FEW:
                found.append(value[:])
            elif isinstance(value[0], Struct):
                found += long_lists(*value)
    return found


def freed(lists: list[list[Any]]) -> Iterator[None]:
    """Clear these lists from their ends on, some thousands of things at a time."""
    while lists:
        items = lists[-1]
        del items[-max(1, QUICK_ITEMS // weight(items[-1])) :]
        if not items:
            lists.pop()
        yield


def weight(item: Any) -> int:
    """About how many things an item of a list is, with those in its own lists."""
    if not isinstance(item, Struct):
        return 1
    nested = (getattr(item, field.name) for field in declaration_of(type(item)).fields)
    return 2 + sum(len(value) for value in nested if isinstance(value, list))
