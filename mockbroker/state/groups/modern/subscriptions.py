"""How many members of a group subscribe to each topic, by name and by expression.

Source: SubscriptionCount, ModernGroup.subscriptionType, ConsumerGroup.subscriptionType, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class SubscriptionCount(NamedTuple):
    """How many members name a topic, and how many expressions match it."""

    by_name: int = 0
    by_expression: int = 0


Counts = dict[str, SubscriptionCount]


def count_names(counts: Counts, topics: Iterable[str], by: int) -> None:
    """Members begin (1) or cease (-1) to name topics."""
    for topic in topics:
        _add(counts, topic, by, 0)


def count_matches(counts: Counts, topics: Iterable[str], by: int) -> None:
    """An expression begins (1) or ceases (-1) to match topics."""
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
    """Whether all members of a group subscribe to the same, as far as counting tells.

    >>> all_subscribe_alike({"orders": SubscriptionCount(2, 0)}, 2), all_subscribe_alike({"a": SubscriptionCount(1)}, 2)
    (True, False)
    """
    if expressions:
        if next(iter(expressions.values())) != members:
            return False
        return all(count.by_expression == 1 and count.by_name == 0 for count in counts.values())
    return all(count.by_name == members for count in counts.values())
