"""Counts the members of a group that subscribe to each topic, by name and by expression.

Source: SubscriptionCount, ModernGroup.subscriptionType, ConsumerGroup.subscriptionType, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class SubscriptionCount(NamedTuple):
    """The number of members that name a topic, and of expressions that match it."""

    by_name: int = 0
    by_expression: int = 0


Counts = dict[str, SubscriptionCount]


def recount(counts: Counts, old: Iterable[str], new: Iterable[str], *, by_expression: bool = False) -> None:
    """Count a member, or an expression, for its new topics and no longer for its old ones."""
    for topics, by in ((old, -1), (new, 1)):
        for topic in topics:
            names, expressions = counts.get(topic, SubscriptionCount())
            names, expressions = (names, expressions + by) if by_expression else (names + by, expressions)
            if names <= 0 and expressions <= 0:
                counts.pop(topic, None)
            else:
                counts[topic] = SubscriptionCount(names, expressions)


def all_subscribe_alike(
    counts: Mapping[str, SubscriptionCount], members: int, expressions: Mapping[str, int] | None = None
) -> bool:
    """True if all members of a group subscribe to the same topics, judged by the counts.

    >>> all_subscribe_alike({"orders": SubscriptionCount(2, 0)}, 2), all_subscribe_alike({"a": SubscriptionCount(1)}, 2)
    (True, False)
    """
    if expressions:
        if next(iter(expressions.values())) != members:
            return False
        return all(count.by_expression == 1 and count.by_name == 0 for count in counts.values())
    return all(count.by_name == members for count in counts.values())
