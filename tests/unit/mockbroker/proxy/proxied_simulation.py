"""A simulated cluster whose requests come by a proxy, without sockets; faults are the proxy's."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import protocol
from mockbroker.core.engine import Engine
from mockbroker.core.faults.faults import Faults
from mockbroker.core.simulation import ConnectionClosedError, Simulation
from mockbroker.proxy.connection import ProxyConnection
from mockbroker.proxy.mirror import Mirror, empty_mirror
from mockbroker.proxy.path import ProxyPath, ProxySession
from mockbroker.state.brokers.broker import DEFAULT_LISTENER, Broker, Listener
from protocol.apis.metadata import MetadataRequest
from protocol.headers import request_frame
from tests.unit.mockbroker.core.client import Client


class ProxiedSimulation(Simulation):
    """Each request has a connection of its own, and is answered at once or closes it."""

    def __init__(self, racks: str = "a,b,c", **options: Any) -> None:
        super().__init__(racks, **options)
        self.proxy = proxy_engine()
        self.proxy_faults = Faults(self.proxy.path, 0, lambda: self.now_ms)

    @property
    def faults(self) -> Faults:
        return self.proxy_faults

    def send(self, request: Any, *, version: int | None = None, broker: int = 0, **options: Any) -> int:
        client_id = options.get("client_id", "test")
        version = type(request).stable_versions.highest if version is None else version
        everything = Client(self).ask(MetadataRequest(topics=None), 12)
        self.proxy.path.mirror.learn(everything, 12, is_whole=True)
        ticket = self.next_ticket
        self.next_ticket += 1
        session = self.proxy.session(self.proxy.cluster.brokers[broker], address="127.0.0.1", connection=ticket)
        assert isinstance(session, ProxySession)
        connection = ProxyConnection(self.proxy.path, session)
        upstream = Client(self, broker=broker)
        connection.receive(request_frame(request, version, correlation_id=ticket, client_id=client_id), self.now_ms)
        upstream.write(b"".join(connection.take_upstream()))
        connection.receive_upstream(b"".join(upstream.connection.take_output()), self.now_ms)
        output = b"".join(connection.take_output())
        if output:
            _, self.replies[ticket] = protocol.read_response(output[4:], type(request).api_key, version)
        elif connection.closed is not None:
            raise ConnectionClosedError(connection.closed)
        return ticket


def proxy_engine(seed: int = 0, racks: Mapping[int, str | None] | None = None) -> Engine:
    """The engine of a proxy whose real cluster a test plays."""
    cluster = empty_mirror(seed)
    return Engine(ProxyPath(cluster, Random(seed), mirror=Mirror(cluster, racks or {}, listen)))


def listen(broker: Broker) -> None:
    broker.listeners.append(Listener(DEFAULT_LISTENER, "proxy", 9092 + broker.id))
