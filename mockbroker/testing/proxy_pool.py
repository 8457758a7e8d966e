"""The proxies of a test run: one for each real cluster and set of options, shared by the tests that ask for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import pytest

from mockbroker.testing.marker import MarkerError, ProxyOptions, proxy_marked

if TYPE_CHECKING:
    from mockbroker.adapters.blocking import LoopThread
    from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
    from mockbroker.proxy.adapters.upstream import UpstreamSettings

K = TypeVar("K")
V = TypeVar("V")
NO_CLUSTER = (
    "kafka_proxy: expected to be told of a real cluster, by --kafka-proxy-bootstrap HOST:PORT, "
    "KAFKA_RACK_PROXY_BOOTSTRAP, the setting kafka_proxy_bootstrap, @pytest.mark.kafka_proxy(bootstrap=...) or a "
    "fixture kafka_proxy_upstream; got none (docs/testing.md)"
)


@dataclass(slots=True, eq=False)
class ProxyPool:
    """All proxies of one process of the run, in one thread with its clusters."""

    thread: Callable[[], LoopThread]
    _made: dict[tuple[str, ProxyOptions], BlockingKafkaProxy | Exception] = field(default_factory=dict)

    def close(self) -> None:
        """End all proxies."""
        for proxy in self._made.values():
            if not isinstance(proxy, Exception):
                proxy.close()
        self._made.clear()

    def proxy_for(self, item: pytest.Item, upstream: UpstreamSettings | str | None) -> BlockingKafkaProxy:
        """The proxy that a test has by its markers: nothing goes wrong there yet, and nobody has called."""
        try:
            options = proxy_marked(item)
        except MarkerError as error:
            pytest.fail(str(error), pytrace=False)
        wanted = options.bootstrap or upstream
        if not wanted:
            pytest.fail(NO_CLUSTER, pytrace=False)
        key = (repr(wanted), options)
        try:
            proxy = made_once(self._made, key, lambda: self._make(wanted, options))
        except Exception as error:  # noqa: BLE001 - a failure in one line
            pytest.fail(f"kafka_proxy: {error}", pytrace=False)
        proxy.journal.clear()
        proxy.traffic.clear()
        item.addfinalizer(lambda: put_right(proxy))
        return proxy

    def _make(self, upstream: UpstreamSettings | str, options: ProxyOptions) -> BlockingKafkaProxy:
        from mockbroker.proxy.adapters.blocking import BlockingKafkaProxy
        from mockbroker.proxy.adapters.server import KafkaProxy

        racks = dict(options.racks)
        return BlockingKafkaProxy(
            KafkaProxy(upstream, racks=racks, listener_per_rack=options.listener_per_rack), self.thread()
        )


def made_once(made: dict[K, V | Exception], key: K, make: Callable[[], V]) -> V:
    """The result of ``make``, which is called once for a key. Raises what it raised, each time."""
    if key not in made:
        try:
            made[key] = make()
        except Exception as error:  # noqa: BLE001 - for all tests that ask for it
            made[key] = error
    found = made[key]
    if isinstance(found, Exception):
        raise found
    return found


def put_right(proxy: BlockingKafkaProxy) -> None:
    """Take back what a test has had go wrong."""
    proxy.faults.clear()
    for broker_id in proxy.run(
        lambda running: [one.id for one in running.state.brokers.values() if not one.is_running]
    ):
        proxy.start_broker(broker_id)
