"""One client on one connection of a simulated cluster, byte by byte."""

from __future__ import annotations

from typing import Any

import protocol
from mockbroker.core.connection import Connection
from mockbroker.core.simulation import Simulation
from protocol import FrameReader
from protocol.apis.metadata import MetadataRequest

METADATA = MetadataRequest(topics=None)


class Client:
    """One client of one broker: writes frames, reads answers."""

    def __init__(self, sim: Simulation, *, broker: int = 0, **fields: Any) -> None:
        self.sim = sim
        session_fields = {key: fields.pop(key) for key in ("listener", "listener_rack", "connection") if key in fields}
        session = sim.engine.session(sim.cluster.brokers[broker], address="127.0.0.1", **session_fields)
        self.connection = Connection(sim.engine.path, session, **fields)
        self.reader = FrameReader()
        self.correlation_id = 0

    def frame(self, request: Any, version: int, client_id: str | None = "test") -> bytes:
        self.correlation_id += 1
        return protocol.request_frame(request, version, correlation_id=self.correlation_id, client_id=client_id)

    def write(self, data: bytes) -> None:
        self.connection.receive(data, self.sim.now_ms)

    def frames(self) -> list[bytes]:
        return self.reader.feed(b"".join(self.connection.take_output()))

    def ask(self, request: Any, version: int, **fields: Any) -> Any:
        self.write(self.frame(request, version, **fields))
        (frame,) = self.frames()
        header, response = protocol.read_response(frame, type(request).api_key, version)
        assert header.correlation_id == self.correlation_id
        return response
