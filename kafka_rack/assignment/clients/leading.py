"""The leader's rule (KIP-881) for clients that lack it: new racks of replicas cause a rebalance.

The clients only check the number of partitions. They do not call an assignor between two rebalances, so it listens to
the client's metadata, and makes the client's coordinator, which listens there too, rejoin.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_rack.assignment.leader import LeaderWatch

log = logging.getLogger(__name__)
Cluster = Any
"""kafka-python's or aiokafka's ClusterMetadata."""


class Leading:
    """The state of one member as leader, from one assignment to the next.

    Args:
        rack: the member's; without one, racks never count.
        broker_down_is_change: the older rule, see LeaderWatch.
        view: the client's metadata in the plain form, for some topics.
    """

    def __init__(
        self,
        rack: str | None,
        view: Callable[[Cluster, Iterable[str]], Mapping[str, Any]],
        *,
        broker_down_is_change: bool = False,
    ) -> None:
        self._watch = LeaderWatch(rack, broker_down_is_change=broker_down_is_change)
        self._view = view
        self._topics: list[str] = []
        self._listens = self._has_assigned = self._leads = False

    def assigned(self, cluster: Cluster, topics: Iterable[str]) -> None:
        """This member, as leader, has just assigned these topics."""
        self._topics = sorted(set(topics))
        self._watch.assigned(self._view(cluster, self._topics), self._topics)
        self._has_assigned = True
        if not self._listens:
            cluster.add_listener(self.metadata_came)
            self._listens = True

    def joined(self) -> None:
        """A rebalance is complete; this member is the leader if it has assigned in it."""
        self._leads, self._has_assigned = self._has_assigned, False

    def metadata_came(self, cluster: Cluster) -> None:
        """Request a rebalance if the metadata require one; only once until the next assignment."""
        if not self._leads:
            return
        reason = self._watch.reason_to_rebalance(self._view(cluster, self._topics))
        if reason is None:
            return
        self._leads = False
        for listener in list(cluster._listeners):
            coordinator = _owner(listener)
            if hasattr(coordinator, "request_rejoin"):
                log.info("Asking for a rebalance: %s", reason)
                coordinator.request_rejoin()


def _owner(listener: Any) -> Any:
    """The object of a listening method; kafka-python has weak references to them."""
    target = getattr(listener, "target", None)
    return target() if callable(target) else getattr(listener, "__self__", None)
