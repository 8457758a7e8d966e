"""The proxy's own requests to the real cluster: for its brokers and topics.

They go to any broker that can be reached; after a failure a new connection is made. Clients have their own connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from mockbroker.adapters.client_properties.bootstrap import servers_in
from mockbroker.adapters.client_properties.settings import ClientSettings, client_settings_of
from mockbroker.adapters.real_cluster.cluster import LiveCluster
from mockbroker.adapters.real_cluster.connection import RealClusterError
from protocol.apis.metadata import MetadataRequest

Given = TypeVar("Given")

log = logging.getLogger("mockbroker")

PROXY_CLIENT_ID = "kafka-rack-proxy"


@dataclass(frozen=True, slots=True)
class UpstreamSettings(ClientSettings):
    """The connection settings of the real cluster.

    ``servers`` are tried in turn at first. ``tls`` is for all connections, clients' too. ``login`` is for the proxy's
    own connections.
    """

    client_id: str = PROXY_CLIENT_ID
    servers: Sequence[tuple[str, int]] = ()

    @classmethod
    def of(cls, servers: str, client_properties: Mapping[str, str] | None = None) -> UpstreamSettings:
        """The settings for ``host:port,...`` and Kafka's client properties. Raises ValueError.

        >>> UpstreamSettings.of("staging-1:9092", {"request.timeout.ms": "5000"}).timeout_s
        5.0
        """
        found = client_settings_of({"client.id": PROXY_CLIENT_ID, **(client_properties or {})})
        for note in found.notes:
            log.warning("client properties: %s", note)
        return cls(found.login, found.tls, found.client_id, found.timeout_s, servers=servers_in(servers))


class UpstreamLink:
    """The proxy's own connections, whose blocking calls run in threads, one at a time.

    Args:
        known: returns the addresses of known brokers, which are tried before those of ``settings``.
    """

    def __init__(self, settings: UpstreamSettings, known: Callable[[], Iterable[tuple[str, int]]] = lambda: ()) -> None:
        self.cluster = LiveCluster(settings.servers, settings, known)
        self._turn = asyncio.Lock()

    async def ask(self, work: Callable[[LiveCluster], Given]) -> Given:
        """The result of a function of the cluster. Raises RealClusterError; the next call connects again."""
        async with self._turn:
            try:
                return await in_thread(lambda: work(self.cluster))
            except RealClusterError:
                self.close()
                raise

    async def metadata(self) -> tuple[Any, int]:
        """A Metadata answer with all brokers and topics, and its version. Raises RealClusterError."""

        def look(real: LiveCluster) -> tuple[Any, int]:
            return real.metadata(), real.first.version_of(MetadataRequest)

        if self.cluster.is_open:
            with suppress(RealClusterError):  # the old connection may have ended meanwhile
                return await self.ask(look)
        return await self.ask(look)

    def close(self) -> None:
        """End the connections."""
        self.cluster.close()


def in_thread(work: Callable[[], Given]) -> asyncio.Future[Given]:
    """Run a blocking call in its own thread; a cancellation does not wait for the thread."""
    done = Future[Given]()
    done.set_running_or_notify_cancel()  # so that a cancellation leaves it to the thread

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            done.set_exception(error)

    Thread(target=run, name="kafka-rack upstream", daemon=True).start()
    return asyncio.wrap_future(done)
