"""``kafka-rack serve`` as a process that says on a descriptor when it is ready, as tests of any language start it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kafka_rack.cli import main

ROOT = Path(__file__).resolve().parents[1]


class ServeProcess:
    """The process and what it said: ``ready`` is the line of ``--ready-fd``, ``rest`` what came behind it."""

    def __init__(self, *options: str, name: str = "serve", control: bool = False) -> None:
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "kafka_rack.cli", name, "--port", "0", "--ready-fd", str(writing)]
        self.process = subprocess.Popen(
            [*command, *options, *([] if control else without_control(options))],
            cwd=ROOT,
            pass_fds=[writing],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        os.close(writing)
        with os.fdopen(reading) as ready:
            line, self.rest = ready.readline(), ready.read()
        if not line:
            raise AssertionError(self.process.communicate()[1])
        self.ready: dict[str, Any] = json.loads(line)

    def kill(self) -> None:
        """End it whatever it does."""
        self.process.kill()
        self.process.communicate()


def without_control(options: Sequence[str]) -> list[str]:
    """The option that spares a control API to a test that chooses no port for it."""
    is_chosen = any(option in ("--control-port", "--no-control") for option in options)
    return [] if is_chosen or "KAFKA_RACK_CONTROL_PORT" in os.environ else ["--no-control"]


@contextmanager
def serve_process(*options: str, name: str = "serve", control: bool = False) -> Iterator[ServeProcess]:
    """A process that ends with the block; ``control``: its control API is where it is by default."""
    served = ServeProcess(*options, name=name, control=control)
    try:
        yield served
    finally:
        served.kill()


def serve_here(
    use: Callable[[dict[str, Any]], object], *options: str, port: str | None = "0", name: str = "serve"
) -> int:
    """Runs a server's command in this process, whose main thread must call it, and returns the exit code.

    Args:
        port: of the first broker; None where the options say it in another way.

    Once it serves, ``use`` is called in another thread with the line of ``--ready-fd``; then a SIGTERM ends it. What
    is tested of processes themselves (standard streams, signals, exit statuses) takes ``serve_process``.
    """
    reading, writing = os.pipe()
    pipe = os.fstat(writing)
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def use_it() -> None:
        with os.fdopen(reading) as ready:
            line = ready.readline()
        if line:
            try:
                use(json.loads(line))
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

    try:
        with ThreadPoolExecutor(1) as pool:
            used = pool.submit(use_it)
            try:
                code = main(
                    [
                        *(name, "--ready-fd", str(writing), *options, *without_control(options)),
                        *(("--port", port) if port else ()),
                    ]
                )
            finally:
                for number in before:
                    signal.signal(number, lambda *_: None)  # one may come after the server has ended
                with suppress(OSError):
                    if os.path.samestat(os.fstat(writing), pipe):
                        os.close(writing)  # it was not ready; else it is closed, and its number may be another file's
        used.result()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code
