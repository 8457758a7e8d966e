"""Reachability of nodes: links between brokers, and to the controller, can be cut or delayed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class LinkCondition:
    """One direction of a link between two brokers.

    ``is_cut``: the follower gets nothing. ``arrival(size_bytes, now_ms)`` returns when that many bytes, fetched now,
    have arrived; None for at once. ``on_batch`` is called for each delayed batch.
    """

    is_cut: bool = False
    arrival: Callable[[int, int], int] | None = None
    on_batch: Callable[[], None] = lambda: None


LinkConditions = Mapping[tuple[int, int], LinkCondition]
"""By the follower's and the leader's broker id."""


CONTROLLER = -1
"""The active controller as a node of its own, as with dedicated controllers in KRaft."""


@dataclass(slots=True, eq=False)
class Reachability:
    """The links that are cut, and the nodes that have crashed.

    >>> network = Reachability()
    >>> network.cut(0, 1)
    >>> network.connects(1, 0), network.connects(0, 2)
    (False, True)
    """

    _cut: set[tuple[int, int]] = field(default_factory=set)
    crashed: set[int] = field(default_factory=set)
    """The nodes that have crashed and are not back; no other reaches them."""

    @property
    def is_whole(self) -> bool:
        """True if no link is cut and no node has crashed."""
        return not self._cut and not self.crashed

    @property
    def cut_links(self) -> list[tuple[int, int]]:
        """The cut links, sorted."""
        return sorted(self._cut)

    def cut(self, node: int, other: int) -> None:
        """Cut the link between two nodes, broker ids or ``CONTROLLER``."""
        self._cut.add(link(node, other))

    def restore(self, node: int, other: int) -> None:
        """Restore the link between two nodes."""
        self._cut.discard(link(node, other))

    def restore_all(self, node: int) -> None:
        """Restore all links of a node."""
        self._cut = {pair for pair in self._cut if node not in pair}

    def connects(self, node: int, other: int) -> bool:
        """True if two nodes reach each other; a node always reaches itself."""
        if self.is_whole or node == other:
            return True
        return link(node, other) not in self._cut and self.crashed.isdisjoint((node, other))


def link(node: int, other: int) -> tuple[int, int]:
    return (node, other) if node < other else (other, node)
