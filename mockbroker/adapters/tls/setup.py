"""The use of TLS when a cluster is made and when it starts; the modules of TLS are loaded for it alone."""

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


def listeners_by_broker(state: Cluster) -> dict[int, dict[str, TlsListener]]:
    """The listeners with TLS by broker and name, their keys loaded. Raises ValueError: one that cannot be used."""
    made: dict[ListenerTls, TlsListener] = {}
    return {broker.id: tls_listeners_of(state, broker, made) for broker in state.brokers.values()}


def tls_listeners_of(state: Cluster, broker: Broker, made: dict[ListenerTls, TlsListener]) -> dict[str, TlsListener]:
    """The listeners with TLS of a broker, by name; equal settings share one of ``made``. Raises ValueError."""
    if all(one.protocol not in WITH_TLS for one in broker.listeners):
        return {}
    from mockbroker.adapters.tls.contexts import broker_listeners

    return broker_listeners(state, broker, made)


def write_client_files(folder: Path | str, state: Cluster, material: TlsMaterial) -> None:
    """Write the files that clients need, for the first listener with TLS. Raises OSError, naming the folder."""
    from mockbroker.adapters.client_settings import client_login
    from mockbroker.adapters.tls.files import write_files

    listeners = [one for broker in state.brokers.values() for one in broker.listeners]
    first = next(one for one in listeners if one.protocol in WITH_TLS)
    servers = ",".join(f"{one.host}:{one.port}" for one in listeners if one.name == first.name)
    write_files(folder, material, client_login(state, first, servers, tls=material))
