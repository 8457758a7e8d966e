"""The engine of a proxy, as ``core/engine.py`` is that of our own cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from mockbroker.core.engine import Engine
from mockbroker.proxy.mirror import Mirror
from mockbroker.proxy.path import ProxyPath, ProxySession
from mockbroker.proxy.rewrites import Rewrites, Rewriting
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster


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

    def _make_path(self, cluster: Cluster, rng: Random) -> ProxyPath:
        return ProxyPath(cluster, rng, mirror=self.mirror, rewriting=self._rewriting)
