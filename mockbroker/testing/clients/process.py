"""A client as a process: orders in, progress out, and what it did as its last line."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self

from kafka_rack.errors import KafkaRackError

PROGRAM = "mockbroker.testing.clients.program"
LIBRARIES = {"confluent-kafka": "with_confluent", "aiokafka": "with_aiokafka", "kafka-python": "with_kafka_python"}
"""Library -> the module beside this one that drives it."""
MODULES = {"confluent-kafka": "confluent_kafka", "aiokafka": "aiokafka", "kafka-python": "kafka"}
METADATA_MAX_AGE_MS = 1000  # how soon a client learns that its rack is back; Kafka's default is five minutes
LAST_LINES = 40
LAST_WORDS_S = 1.0
"""How long the end of a process's output is waited for once it has ended."""
LOOK_EVERY_S = 0.05
QUIET_S = 60.0  # processes are waited for as long as they make progress, which takes longer on a busy machine


class ClientError(KafkaRackError):
    """A client process that fails or makes no progress."""


@dataclass(frozen=True, slots=True)
class ClientPlan:
    """The work of a client process.

    ``rack`` is empty for a client without one; ``api_version`` is the Kafka version that kafka-python behaves as, None
    for the library's own.
    """

    library: str
    group: str
    topics: Sequence[str]
    bootstrap_servers: str
    rack: str = ""
    api_version: Sequence[int] | None = None

    @property
    def name(self) -> str:
        """The client in a sentence.

        >>> ClientPlan("kafka-python", "g", ["t"], "", api_version=[0, 9]).name
        'kafka-python as of 0.9'
        """
        if self.api_version is not None:
            return f"{self.library} as of {'.'.join(map(str, self.api_version))}"
        return f"{self.library} in rack {self.rack}"

    def client_id(self, role: str) -> str:
        """``role`` is ``producer`` or ``consumer``; a rack in the id is how clients report it to diskless topics."""
        return f"{self.library}-{role}" + (f",diskless_az={self.rack}" if self.rack else "")


class ClientResult(NamedTuple):
    """The records that were acknowledged to a client, the errors of those given up, and how often it saw which."""

    acknowledged: list[str]
    failures: list[str]
    seen: dict[str, int]


async def until(done: Callable[[], bool], progress: Callable[[], object], quiet_s: float = QUIET_S) -> bool:
    """Wait until ``done()``; False if ``progress()`` has returned the same for ``quiet_s`` seconds.

    >>> import asyncio
    >>> steps = iter([1, 2, 3])
    >>> asyncio.run(until(lambda: next(steps) == 3, lambda: "always the same"))
    True
    >>> asyncio.run(until(lambda: False, lambda: "always the same", quiet_s=0.0))
    False
    """
    loop = asyncio.get_running_loop()
    before, looked_s, quiet = progress(), loop.time(), 0.0
    while not done():
        now, now_s = progress(), loop.time()
        # a long pause between two looks, as on a busy machine, counts little: other processes had no time either
        quiet = quiet + min(now_s - looked_s, 2 * LOOK_EVERY_S) if now == before else 0.0
        before, looked_s = now, now_s
        if quiet >= quiet_s:
            return False
        await asyncio.sleep(LOOK_EVERY_S)
    return True


class ChildProcess:
    """A process in a session of its own, so that Ctrl-C is for the parent; it starts at once.

    ``last_lines`` is the end of what it wrote, standard output and standard error together.

    Raises: OSError: it cannot be started.
    """

    max_line_bytes = 1 << 16

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.process = subprocess.Popen(  # noqa: S603 - the user's own program, or ours
            command,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,  # open to the end: some programs end when it does
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    async def __aenter__(self) -> Self:
        return self

    @property
    def exit_code(self) -> int | None:
        """None while it runs; below 0 for a signal."""
        return self.process.poll()

    async def ended(self, within_s: float = QUIET_S) -> bool:
        """Wait for its end, and for that of its output; other holders of the pipe are not waited for."""
        if not await until(lambda: self.exit_code is not None, lambda: None, within_s):
            return False
        if await until(lambda: not self._reader.is_alive(), lambda: None, LAST_WORDS_S):
            with self.process:  # its end closes the pipes
                pass
        return True

    def heard(self, line: str) -> None:
        """A line that it wrote; called in another thread."""
        self.last_lines.append(line)

    def _read(self) -> None:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline(self.max_line_bytes):
            self.heard(line.decode(errors="replace").rstrip())


class ClientProcess(ChildProcess):
    """A running client; an async context manager, whose end kills it."""

    max_line_bytes = 1 << 28

    def __init__(self, plan: ClientPlan) -> None:
        self.plan = plan
        self.progress: dict[str, Any] = dict.fromkeys(("acknowledged", "failed", "seen", "distinct"), 0)
        self.progress |= {"assigned": False, "drained": False}
        self.result: ClientResult | None = None
        super().__init__([sys.executable, "-m", PROGRAM, json.dumps(asdict(plan))])

    async def __aexit__(self, *_: object) -> None:
        self.process.kill()
        await self.ended()

    def is_assigned(self) -> bool:
        """True if its consumer has partitions."""
        return bool(self.progress["assigned"])

    def order(self, what: str) -> None:
        """Send ``go``, ``drain`` or ``finish``. Raises ClientError: the process has ended."""
        assert self.process.stdin is not None
        try:
            os.write(self.process.stdin.fileno(), f"{what}\n".encode())
        except ConnectionError:
            raise self.complaint() from None

    def complaint(self) -> ClientError:
        """The last words of a process that ended by itself."""
        self._reader.join(LAST_WORDS_S)
        said = self.last_lines[-1] if self.last_lines else f"exit code {self.exit_code}"
        return ClientError(f"{self.plan.name} has ended: {said}")

    async def end(self) -> ClientResult:
        """Wait for the end of a client that was ordered to finish. Raises ClientError: it fails, or does not end."""
        if not await self.ended():
            raise ClientError(f"{self.plan.name} does not end")
        if self.exit_code or self.result is None:
            raise self.complaint()
        return self.result

    def heard(self, line: str) -> None:
        """Take a line of JSON, the progress or the result; others are its last words."""
        if not line.startswith('{"'):
            super().heard(line)
        elif "result" in (said := json.loads(line)):
            self.result = ClientResult(**said["result"])
        else:
            self.progress = said


Clients = Sequence[ClientProcess]


def check_all_run(clients: Clients) -> None:
    """Raises ClientError: a client has ended by itself."""
    for client in clients:
        if client.exit_code is not None:
            raise client.complaint()


async def arrived(done: Callable[[], bool], clients: Clients, what: str) -> None:
    """Wait for the clients. Raises ClientError: one has ended, or none makes progress any more."""
    if not await progressing(lambda: done() or any(client.exit_code is not None for client in clients), clients):
        so_far = "; ".join(f"{client.plan.name}: {client.progress}" for client in clients)
        raise ClientError(f"{what} does not happen, and no client makes progress; {so_far}")
    check_all_run(clients)


async def progressing(done: Callable[[], bool], clients: Clients) -> bool:
    """Wait while the clients make progress. Returns True if it is done."""
    return await until(done, lambda: [client.progress for client in clients])


async def finish(clients: Clients, has_read_all: Callable[[], bool]) -> list[ClientResult]:
    """Stop the producers, let the consumers read until ``has_read_all``, end the processes. Raises ClientError."""
    for client in clients:
        client.order("drain")
    await progressing(lambda: all(client.progress["drained"] for client in clients), clients)
    await progressing(has_read_all, clients)
    for client in clients:
        client.order("finish")
    return [await client.end() for client in clients]
