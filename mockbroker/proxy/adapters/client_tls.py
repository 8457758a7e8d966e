"""TLS that ends at the proxy: the keys of its listeners, and the files for clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mockbroker.adapters.tls.contexts import TlsListener, broker_listeners
from mockbroker.adapters.tls.setup import material_for, write_client_files
from mockbroker.state.brokers.broker import Broker, Listener

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.state.cluster import Cluster
    from mockbroker.state.security.tls import ListenerTls


class ClientTls:
    """The keys of the proxy's listeners.

    Args:
        like: a listener with the addresses that certificates must name.
        settings: ``ssl.*`` under Kafka's names.
        makes_keys: a test authority makes the keys; ``folder`` may contain an existing one.

    Raises: ValueError: settings that contradict each other, or an authority whose files do not match. ``listeners_of``
    checks the settings of stores.
    """

    def __init__(
        self, like: Listener, settings: Mapping[str, str], *, makes_keys: bool, folder: Path | str | None
    ) -> None:
        brokers = [Broker(0, None, [like])]
        self._folder = folder
        self.material = material_for(brokers, folder) if makes_keys else None
        self.settings: dict[str, str] = dict(settings)
        if self.material is not None:
            self.settings = self.material.added_to(settings, brokers)
        self._made: dict[ListenerTls, TlsListener] = {}

    def listeners_of(self, cluster: Cluster, broker: Broker) -> dict[str, TlsListener]:
        """The TLS settings of a broker's listeners. Raises ValueError: invalid stores."""
        return broker_listeners(cluster, broker, self._made)

    def write_client_files(self, cluster: Cluster) -> None:
        """Write the files for clients into the folder, if any. Raises OSError, which names it."""
        if self.material is not None and self._folder is not None:
            write_client_files(self._folder, cluster, self.material)
