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


def count_names(counts: Counts, topics: Iterable[str], by: int) -> None:
    """Count members that start (1) or stop (-1) naming topics."""
    for topic in topics:
        _add(counts, topic, by, 0)


def count_matches(counts: Counts, topics: Iterable[str], by: int) -> None:
    """Count an expression that starts (1) or stops (-1) matching topics."""
    for topic in topics:
        _add(counts, topic, 0, by)


def _add(counts: Counts, topic: str, names: int, expressions: int) -> None:
    old = counts.get(topic, SubscriptionCount())
    new = SubscriptionCount(old.by_name + names, old.by_expression + expressions)
    if new.by_name <= 0 and new.by_expression <= 0:
        counts.pop(topic, None)
    else:
        counts[topic] = new


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
