"""What holds up a follower that fetches from a leader on another broker: a link that is cut, slow or narrow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class LinkCondition:
    """One direction of a link between two brokers.

    ``is_cut``: the follower gets nothing. ``arrival(size_bytes, now_ms)`` says when so many bytes that are fetched now
    have arrived; None for at once. ``on_batch`` is called for each batch that is held up.
    """

    is_cut: bool = False
    arrival: Callable[[int, int], int] | None = None
    on_batch: Callable[[], None] = lambda: None


LinkConditions = Mapping[tuple[int, int], LinkCondition]
"""By the follower's and the leader's broker id."""
