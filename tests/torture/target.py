"""What is attacked, and what is measured meanwhile: the server's memory, and how long a good client waits."""

from __future__ import annotations

import os
import random
import signal
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Self

import protocol
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from tests.serve_process import serve_process

SIZE = struct.Struct(">i")
MB = 1 << 20
PROBE_PAUSE_S = 0.005
SETTLED_S, SETTLED_LOOKS, SETTLED_MB = 35.0, 4, 1.0
"""How long the server has to return what an attack took, unless four looks see memory fall by less than that."""
ANSWER_S = 60.0
ATTACK_S = 120.0
"""How long one attack may take, with its server's start and end; it takes seconds unless something hangs."""
IDLE_LOOK_S, IDLE_TICKS = 0.5, 10
"""The processor time that the good client's questions take in that time, and some more."""


class TooLongError(Exception):
    """An attack was not over in its time. No OSError, which attacks suppress."""


class BoundError(Exception):
    """An attack cost more than its family's bound."""


@contextmanager
def limited(attack: str, seconds: float = ATTACK_S) -> Iterator[None]:
    """Interrupt the block, whatever it waits for. Raises TooLongError, which names the attack.

    A clean-up that waits too is interrupted again, after a tenth of the time.
    """

    def too_late(*_: object) -> None:
        raise TooLongError(f"{attack}: not over after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds / 10)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Bound(NamedTuple):
    """The most that an attack of a family may cost the server.

    Attributes:
        peak_mb, after_mb: memory at most and afterwards, above that before the attack.
        mb_a_mb: what each MB sent adds to both.
        processor_s: processor time, to which each MB sent adds a second, and no good client may lose its connection.
            None: these attacks last a given time, and good clients that connect again count their records.
    """

    peak_mb: float
    after_mb: float
    mb_a_mb: float = 0.0
    processor_s: float | None = None

    def check(self, figures: Figures) -> None:
        """Raises BoundError, with all that is above the bound."""
        sent_mb = figures.sent_bytes / MB
        more_mb = self.mb_a_mb * sent_mb
        found = {
            "MB at most": (figures.peak_mb - figures.before_mb, self.peak_mb + more_mb),
            "MB afterwards": (figures.after_mb - figures.before_mb, self.after_mb + more_mb),
        }
        if self.processor_s is not None:
            found["ms of a good client's wait"] = (figures.longest_wait_ms, ANSWER_S * 1000)
            found["s of processor time"] = (figures.processor_s, self.processor_s + sent_mb)
        above = [f"{met:.1f} {what}, bound {bound:.1f}" for what, (met, bound) in found.items() if met > bound]
        if above:
            raise BoundError(f"{figures.attack}: {'; '.join(above)}")


class Figures(NamedTuple):
    """What an attack cost: bytes sent; memory before, at most and afterwards; a good client's longest wait; and the
    server's processor time.
    """

    attack: str
    sent_bytes: int
    before_mb: float
    peak_mb: float
    after_mb: float
    longest_wait_ms: float
    processor_s: float
    note: str = ""

    def __str__(self) -> str:
        return (
            f"{self.attack:<30} {self.sent_bytes:>12,} {self.before_mb:>9.0f} {self.peak_mb:>8.0f}"
            f" {self.after_mb:>8.0f} {self.longest_wait_ms:>10.0f} {self.processor_s:>12.2f}  {self.note}"
        )


HEADING = (
    f"{'attack':<30} {'bytes sent':>12} {'MB before':>9} {'MB peak':>8} {'MB after':>8} {'wait in ms':>10}"
    f" {'processor s':>12}"
)


class Client:
    """A raw connection that sends frames as they are and reads answers one by one."""

    def __init__(self, address: str, *, receive_bytes: int | None = None, tls: ssl.SSLContext | None = None) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.socket()
        if receive_bytes is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(ANSWER_S)
        self.socket.connect((host, int(port)))
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self.sent_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)
        self.sent_bytes += len(data)

    def receive(self) -> bytes:
        """The next answer's frame. Raises ConnectionError: the server has closed the connection."""
        (size,) = SIZE.unpack(self._read(4))
        return self._read(size)

    def ask(self, request: Any, version: int, client_id: str = "torture") -> Any:
        """Send a request and read its answer."""
        self.send(request_bytes(request, version, client_id))
        return protocol.read_response(self.receive(), type(request).api_key, version)[1]

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.socket.recv(min(MB, size - len(data)))
            if not piece:
                raise ConnectionError("the server has closed the connection")
            data += piece
        return bytes(data)


def request_bytes(request: Any, version: int, client_id: str = "torture", correlation_id: int = 1) -> bytes:
    """A request as it goes onto the wire, its length in front."""
    frame = protocol.request_frame(request, version, correlation_id=correlation_id, client_id=client_id)
    return bytes(frame)


class GoodClient(threading.Thread):
    """Sends ApiVersions again and again on a connection of its own; ``longest_ms`` is its longest wait."""

    def __init__(self, address: str, tls: ssl.SSLContext | None) -> None:
        super().__init__(daemon=True)
        self._client = Client(address, tls=tls)
        self._question = request_bytes(ApiVersionsRequest(), 0)
        self._ended = threading.Event()
        self._client.send(self._question)
        self._client.receive()  # the first one finds nothing compiled yet
        self.longest_ms = 0.0

    def run(self) -> None:
        while not self._ended.is_set():
            before = time.perf_counter()
            try:
                self._client.send(self._question)
                self._client.receive()
            except OSError:
                self.longest_ms = float("inf")
                return
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - before) * 1000)
            time.sleep(PROBE_PAUSE_S)

    def stop(self) -> None:
        self._ended.set()
        self.join(ANSWER_S)


@dataclass
class Target:
    """A server of its own for one attack. ``clients`` are closed at its end, before the memory afterwards is measured.

    ``security_dir`` has what clients need where the server speaks TLS; ``rng`` draws the sizes of the attack.
    """

    addresses: list[str]
    process_id: int
    held: ExitStack
    control: str | None = None
    rng: random.Random = field(default_factory=random.Random)
    clients: list[Client] = field(default_factory=list)
    note: str = ""
    security_dir: Path | None = None
    max_files: int = 0

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What a client connects with that the server trusts; None without TLS."""
        if self.security_dir is None:
            return None
        context = ssl.create_default_context(cafile=self.security_dir / "ca.pem")
        context.load_cert_chain(self.security_dir / "client.pem", self.security_dir / "client-key.pem")
        return context

    @property
    def address(self) -> str:
        return self.addresses[0]

    def client(self, **options: Any) -> Client:
        client = self.held.enter_context(Client(self.address, **options))
        self.clients.append(client)
        return client

    def make_coordinators(self) -> None:
        """Create the topics of the coordinators of groups and of transactional ids, as clients do first."""
        for key_type in (0, 1):
            self.client().ask(FindCoordinatorRequest(key="any", key_type=key_type), 2)

    def close_clients(self) -> None:
        """Have the attackers go."""
        self.held.close()

    def memory_mb(self, name: str = "VmRSS") -> float:
        """A line of the process's status in MB: VmRSS what it has now, VmHWM what it had at most."""
        return status_mb(self.process_id, name)

    def until_settled(self) -> None:
        """Wait until the server returns no more memory."""
        ends_at, seen_mb = time.monotonic() + SETTLED_S, [float("inf")] * SETTLED_LOOKS
        while time.monotonic() < ends_at:
            self.until_idle()
            seen_mb.append(self.memory_mb())
            if seen_mb[-1] > seen_mb[-SETTLED_LOOKS] - SETTLED_MB:
                return

    def forget_peak(self) -> None:
        """Have VmHWM begin anew."""
        Path(f"/proc/{self.process_id}/clear_refs").write_text("5", encoding="ascii")

    def until_idle(self) -> None:
        """Wait until the server has worked through what it was sent."""
        before = self.processor_ticks()
        while True:
            time.sleep(IDLE_LOOK_S)
            now = self.processor_ticks()
            if now - before <= IDLE_TICKS:
                return
            before = now

    def open_files(self) -> int:
        """How many files and sockets the server has open."""
        return sum(1 for _ in Path(f"/proc/{self.process_id}/fd").iterdir())

    def processor_ticks(self) -> int:
        fields = Path(f"/proc/{self.process_id}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    @property
    def sent_bytes(self) -> int:
        return sum(client.sent_bytes for client in self.clients)


def status_mb(process_id: int, name: str = "VmRSS") -> float:
    """A line of a process's status in MB."""
    for line in Path(f"/proc/{process_id}/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


@contextmanager
def target(options: Sequence[str], rng: random.Random | None = None) -> Iterator[Target]:
    """One broker, which every attack can take for the leader of all."""
    with serve_process("--brokers", "1", *options) as served, ExitStack() as held:
        addresses = served.ready["bootstrap_servers"].split(",")
        folder = served.ready.get("security_dir")
        attacked = Target(addresses, served.process.pid, held, served.ready["control"], rng or random.Random(0))
        attacked.security_dir = None if folder is None else Path(folder)
        yield attacked


def run_attack(module: ModuleType, name: str, rng: random.Random) -> Figures:
    """Run an attack of a module on a server of its own. Raises TooLongError."""
    with limited(name), target(module.OPTIONS, rng) as attacked:
        if hasattr(module, "PREPARE"):
            module.PREPARE(attacked)
        return measured(attacked, name, module.ATTACKS[name])


def measured(attacked: Target, name: str, attack: Callable[[Target], None]) -> Figures:
    """Run an attack, and measure what it costs the server."""
    sent, before, ticks = attacked.sent_bytes, attacked.memory_mb(), attacked.processor_ticks()
    attacked.forget_peak()
    good = GoodClient(attacked.address, attacked.tls)
    good.start()
    try:
        attack(attacked)
    except OSError as error:
        attacked.note += f" {type(error).__name__}"
    finally:
        good.stop()
    sent, peak = attacked.sent_bytes - sent, attacked.memory_mb("VmHWM")
    processor_s = (attacked.processor_ticks() - ticks) / os.sysconf("SC_CLK_TCK")
    attacked.held.close()
    attacked.until_settled()
    after = attacked.memory_mb()
    return Figures(name, sent, before, peak, after, good.longest_ms, processor_s, attacked.note)
