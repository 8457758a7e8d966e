"""The use of TLS when a cluster is made; the modules of TLS are loaded for it alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mockbroker.state.security.protocols import WITH_TLS

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.adapters.tls.contexts import TlsListener
    from mockbroker.adapters.tls.material import TlsMaterial
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.security.tls import ListenerTls


def material_for(brokers: Iterable[Broker], folder: Path | str | None) -> TlsMaterial:
    """Test certificates for brokers. Raises ValueError: what a folder has of before does not fit."""
    from pathlib import Path

    from mockbroker.adapters.tls.material import TlsMaterial

    return TlsMaterial(brokers, None if folder is None else Path(folder))


def tls_listeners_of(state: Cluster, broker: Broker, made: dict[ListenerTls, TlsListener]) -> dict[str, TlsListener]:
    """The listeners with TLS of a broker, by name, their keys loaded; equal settings share one of ``made``.

    Raises ValueError: a store cannot be used.
    """
    found: dict[str, TlsListener] = {}
    for listener in broker.listeners:
        if listener.protocol in WITH_TLS:
            from mockbroker.adapters.tls.contexts import TlsListener, context_of
            from mockbroker.adapters.tls.stores import explained

            settings = state.security.tls_of(state, broker, listener)
            if settings not in made:
                with explained(f"listener {settings.listener}"):
                    made[settings] = TlsListener(context_of(settings), settings)
            found[listener.name] = made[settings]
    return found
