"""What large messages hold is given back piece by piece: to free a million names at once takes a third of a second.

Whoever else keeps some of it keeps it: only lists that nobody else has any more are cleared. To have lists of our own
would take long as well, and again for their end.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from mockbroker.call import QUICK_ITEMS
from protocol.declare import declaration_of

FEW = 10
"""Shorter lists are not given back by themselves, but looked into."""


def long_lists(*messages: Any) -> list[list[Any]]:
    """The long lists in messages; a message may be None."""
    found: list[list[Any]] = []
    for message in messages:
        if message is None:
            continue
        for field in declaration_of(type(message)).fields:
            value = getattr(message, field.name)
            if not isinstance(value, list) or not value:
                continue
            if len(value) > FEW:
                found.append(value)
            elif isinstance(value[0], Struct):
                found += long_lists(*value)
    return found


def freed(lists: list[list[Any]]) -> Iterator[None]:
    """Clear these lists from their ends on, some thousands of things at a time, but for those that others have too."""
    yield  # until whoever dealt with the call has forgotten it
    while lists:
        items = lists[-1]
        if not OWN or owners(items) > OWN:
            lists.pop()
            continue
        del items[-max(1, QUICK_ITEMS // weight(items[-1])) :]
        if not items:
            lists.pop()
        yield


def owners(items: list[Any]) -> int:
    """How many refer to a list, as counted in here; 0 where that is not counted."""
    return sys.getrefcount(items) if hasattr(sys, "getrefcount") else 0


def own_owners() -> int:
    """How many refer to a list of which ``freed`` alone knows."""
    lists: list[list[Any]] = [[None]]
    items = lists[-1]
    return owners(items)


OWN = own_owners()


def weight(item: Any) -> int:
    """About how many things an item of a list is, with those in its own lists."""
    if not isinstance(item, Struct):
        return 1
    nested = (getattr(item, field.name) for field in declaration_of(type(item)).fields)
    return 2 + sum(len(value) for value in nested if isinstance(value, list))
