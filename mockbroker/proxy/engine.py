"""The engine of a proxy, as ``core/engine.py`` is that of our own cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, cast

from mockbroker.core.engine import Engine
from mockbroker.proxy.mirror import Mirror
from mockbroker.proxy.path import ProxyPath, ProxySession
from mockbroker.proxy.rewrites import Rewrites, Rewriting
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster

if TYPE_CHECKING:
    from mockbroker.proxy.connection import ProxyConnection


class ProxyEngine(Engine):
    """A running proxy: ``mirror`` keeps the state equal to the real cluster's.

    Args:
        racks, listen: see ``Mirror``.
        rewrites: the rewrites of requests and answers; default: none.
    """

    session_type = ProxySession

    def __init__(
        self,
        cluster: Cluster,
        rng: Random | None = None,
        *,
        racks: Mapping[int, str | None],
        listen: Callable[[Broker], None] = lambda _broker: None,
        rewrites: Rewrites | None = None,
    ) -> None:
        self.mirror = Mirror(cluster, racks, listen)
        self._rewriting = None if rewrites is None else Rewriting(rewrites, self.mirror)
        super().__init__(cluster, rng)

    @property
    def parked_calls(self) -> int:
        """The number of waiting calls, here or at the real brokers."""
        links = cast("Iterable[ProxyConnection]", self.path.connections)
        return len(self.path.purgatory.parked) + sum(link.forwarded_calls for link in links)

    def _make_path(self, cluster: Cluster, rng: Random) -> ProxyPath:
        return ProxyPath(cluster, rng, mirror=self.mirror, rewriting=self._rewriting)
