"""A proxied connection whose client and real broker are played by a test, without sockets and without a clock."""

from __future__ import annotations

from mockbroker.core.faults.faults import Faults
from mockbroker.core.journal import Journal
from mockbroker.core.traffic import Traffic
from mockbroker.proxy.connection import ProxyConnection
from protocol import FrameReader
from protocol.apis.classic_group import HeartbeatRequest, HeartbeatResponse
from protocol.headers import read_response, request_frame, response_frame
from tests.unit.mockbroker.proxy.proxied_simulation import proxy_engine

VERSION = 3
HEARTBEAT = 12


class PlayedConnection:
    """The client asks by heartbeats, numbered from 1 on; ``order`` is what happened, in its order."""

    def __init__(self, seed: int = 0) -> None:
        self.now_ms = 1000
        self.engine = proxy_engine(seed)
        self.engine.path.mirror.learn_brokers([(0, "real", 9092, None)])
        self.faults = Faults(self.engine.path, seed, lambda: self.now_ms)
        self.journal, self.order, self.number = Journal(), [], 0
        self.engine.path.observers[:] = [self.journal, Traffic(), self]
        session = self.engine.session(self.engine.cluster.brokers[0])
        self.connection = ProxyConnection(self.engine.path, session, on_output=self.flush)
        self.output = b""

    def flush(self) -> None:
        output = b"".join(self.connection.take_output())
        self.output += output
        if output:
            self.order.append(("answers", len(output)))
        elif self.connection.closed is not None:
            self.order.append(("closed", 0))

    def call_ended(self, outcome) -> None:
        self.order.append((outcome.ending.value, outcome.call.correlation_id))

    def ask(self, group: str = "billing", member: str = "one") -> None:
        self.number += 1
        request = HeartbeatRequest(group_id=group, generation_id=1, member_id=member)
        frame = request_frame(request, VERSION, correlation_id=self.number, client_id="test")
        self.connection.receive(frame, self.now_ms)
        self.flush()

    def sent_on(self) -> list[int]:
        """The numbers of the requests that have gone on since this was asked last."""
        sent = FrameReader().feed(b"".join(self.connection.take_upstream()))
        return [int.from_bytes(one[4:8]) for one in sent]

    def answer(self, *answers: tuple[int, int]) -> None:
        """Answer requests by their numbers, each with an error code."""
        frames = [
            response_frame(HeartbeatResponse(error_code=code), VERSION, correlation_id=number)
            for number, code in answers
        ]
        self.connection.receive_upstream(b"".join(frames), self.now_ms)

    def advance(self, ms: int) -> None:
        self.now_ms += ms
        self.engine.advance(self.now_ms)
        self.flush()

    def answers(self) -> list[tuple[int, int]]:
        """Number and error code of each answer that the client has had since this was asked last."""
        output, self.output = self.output, b""
        found = [read_response(one, HEARTBEAT, VERSION) for one in FrameReader().feed(output)]
        return [(header.correlation_id, answer.error_code) for header, answer in found]
