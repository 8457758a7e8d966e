"""Who answers a scenario's frames: three real brokers of Kafka by sockets, or ours in a simulation.

Both keep a connection by the name that a scenario gives it, to each broker one, until it is closed; one that is named
``as ann`` is that of the user ann, who has logged in. A frame that was sent is known by its correlation id;
``received`` gives the answer's frame, CLOSED, or None where there is none yet.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol

from mockbroker.core.connection import Connection
from mockbroker.core.simulation import Simulation
from protocol.apis.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from protocol.headers import read_response, request_frame
from tests.interop.java_brokers import RunningKafka, kafka_brokers

CLOSED: Final = b""
SIZE = struct.Struct(">i")
BEGUN_MS = 1_780_000_000_000
"""When a simulation begins, in ms since 1970."""
RACKS = "abc"
AS = "as "
LOGIN = "LOGIN"
"""The listener of a real cluster where the users of a family log in."""
LOGIN_KEY, LOGIN_MS = 7, 60_000


class Driver(Protocol):
    """A cluster of three brokers, 0 to 2, in racks a, b, c."""

    is_real: bool

    def send(self, broker: int, name: str, frame: bytes) -> None:
        """Send a frame, which is without its length, by the connection of this name."""

    def received(self, broker: int, name: str, correlation_id: int, wait_ms: int) -> bytes | None:
        """The answer to a frame, waiting for it so long; CLOSED where the broker has closed the connection."""

    def close(self, broker: int, name: str) -> None:
        """Close a connection from here."""

    def wait(self, ms: int) -> None:
        """Let time pass."""

    def now_ms(self) -> int: ...

    def stop_broker(self, broker: int) -> None: ...

    def start_broker(self, broker: int) -> None: ...


class SimulatedCluster:
    """Ours; time passes only in ``wait`` and while an answer is waited for."""

    is_real = False

    def __init__(self, settings: Mapping[str, str], release: str | None = None) -> None:
        self.sim = Simulation(",".join(RACKS), settings=settings, release=release)
        self.sim.now_ms = BEGUN_MS
        self.sim.engine.advance(BEGUN_MS)
        self.connections: dict[tuple[int, str], Connection] = {}
        self.answers: dict[tuple[int, str], dict[int, bytes]] = {}

    def send(self, broker: int, name: str, frame: bytes) -> None:
        connection = self.connections.get((broker, name))
        if connection is None or connection.closed is not None:
            number = self.sim.next_ticket
            self.sim.next_ticket += 1
            session = self.sim.engine.session(self.sim.cluster.brokers[broker], address="127.0.0.1", connection=number)
            if name.startswith(AS):
                session.authenticated(f"User:{name.removeprefix(AS)}")
            connection = Connection(self.sim.engine.path, session)
            self.connections[broker, name] = connection
            self.answers[broker, name] = {}
        connection.receive(SIZE.pack(len(frame)) + frame, self.sim.now_ms)

    def received(self, broker: int, name: str, correlation_id: int, wait_ms: int) -> bytes | None:
        connection, answers = self.connections[broker, name], self.answers[broker, name]
        until_ms = self.sim.now_ms + wait_ms
        while True:
            for frame in frames_of(b"".join(connection.take_output())):
                answers[SIZE.unpack_from(frame)[0]] = frame
            if correlation_id in answers:
                return answers.pop(correlation_id)
            if connection.closed is not None:
                return CLOSED
            deadline = self.sim.engine.next_deadline_ms()
            if self.sim.now_ms >= until_ms:
                return None
            self.wait(min(until_ms, max(deadline or until_ms, self.sim.now_ms + 1)) - self.sim.now_ms)

    def close(self, broker: int, name: str) -> None:
        connection = self.connections.pop((broker, name), None)
        if connection is not None:
            connection.stopped()

    def wait(self, ms: int) -> None:
        self.sim.advance(ms)

    def now_ms(self) -> int:
        return self.sim.now_ms

    def stop_broker(self, broker: int) -> None:
        for number, name in list(self.connections):
            if number == broker:
                self.close(number, name)
        self.sim.stop_broker(broker)

    def start_broker(self, broker: int) -> None:
        self.sim.start_broker(broker)


class RealKafka:
    """Kafka's own brokers, by sockets."""

    is_real = True

    def __init__(self, kafka: RunningKafka) -> None:
        self.kafka = kafka
        self.sockets: dict[tuple[int, str], socket.socket] = {}
        self.answers: dict[tuple[int, str], dict[int, bytes]] = {}
        self.unread: dict[tuple[int, str], bytes] = {}

    def send(self, broker: int, name: str, frame: bytes) -> None:
        key = broker, name
        if key not in self.sockets:
            addresses = self.kafka.others[LOGIN] if name.startswith(AS) else self.kafka.addresses
            host, port = addresses[broker].split(":")
            self.sockets[key] = socket.create_connection((host, int(port)))
            self.answers[key], self.unread[key] = {}, b""
            if name.startswith(AS):
                self.log_in(broker, name)
        self.sockets[key].sendall(SIZE.pack(len(frame)) + frame)

    def log_in(self, broker: int, name: str) -> None:
        """By PLAIN, with the user's name as the password."""
        user = name.removeprefix(AS)
        token = SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{user}".encode())
        for request in (SaslHandshakeRequest(mechanism="PLAIN"), token):
            self.sockets[broker, name].sendall(request_frame(request, 1, correlation_id=LOGIN_KEY, client_id="answers"))
            answer = self.received(broker, name, LOGIN_KEY, LOGIN_MS)
            assert answer, f"{name} was kept out"
            code = read_response(answer, type(request).api_key, 1)[1].error_code
            assert code == 0, f"{name} was kept out: {code}"

    def received(self, broker: int, name: str, correlation_id: int, wait_ms: int) -> bytes | None:
        key = broker, name
        until = time.monotonic() + wait_ms / 1000
        while True:
            if correlation_id in self.answers[key]:
                return self.answers[key].pop(correlation_id)
            left = max(0.0, until - time.monotonic())
            if not select.select([self.sockets[key]], [], [], left)[0]:
                return None
            try:
                more = self.sockets[key].recv(1 << 20)
            except ConnectionError:
                more = b""
            if not more:
                self.close(broker, name)
                return CLOSED
            data = self.unread[key] + more
            for frame in frames_of(data):
                self.answers[key][SIZE.unpack_from(frame)[0]] = frame
                data = data[4 + len(frame) :]
            self.unread[key] = data

    def close(self, broker: int, name: str) -> None:
        one = self.sockets.pop((broker, name), None)
        if one is not None:
            one.close()

    def wait(self, ms: int) -> None:
        time.sleep(ms / 1000)  # a recorder waits for a real cluster; no test comes here

    def now_ms(self) -> int:
        return int(time.time() * 1000)

    def stop_broker(self, broker: int) -> None:
        for number, name in list(self.sockets):
            if number == broker:
                self.close(number, name)
        self.kafka.stop(broker)

    def start_broker(self, broker: int) -> None:
        self.kafka.start(broker)


def frames_of(data: bytes) -> list[bytes]:
    """The whole frames that bytes begin with, without their lengths."""
    frames: list[bytes] = []
    start = 0
    while start + 4 <= len(data):
        (size,) = SIZE.unpack_from(data, start)
        if start + 4 + size > len(data):
            break
        frames.append(data[start + 4 : start + 4 + size])
        start += 4 + size
    return frames


def brokers_with_users(
    racks: str, folder: Path, settings: Mapping[str, str], users: Sequence[str]
) -> AbstractContextManager[RunningKafka]:
    """Real brokers, with a listener where these users log in, each with its name as the password."""
    if not users:
        return kafka_brokers(racks, folder, settings)
    known = " ".join(f'user_{user}="{user}"' for user in users)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    listener = f"listener.name.{LOGIN.lower()}"
    of_listener = {
        f"{listener}.sasl.enabled.mechanisms": "PLAIN",
        f"{listener}.plain.sasl.jaas.config": f"{module} required {known};",
    }
    return kafka_brokers(racks, folder, {**settings, **of_listener}, listeners={LOGIN: "SASL_PLAINTEXT"})


def settings_of(given: Mapping[str, Any]) -> dict[str, str]:
    """Settings as both kinds of cluster take them."""
    return {name: str(value) for name, value in given.items()}
