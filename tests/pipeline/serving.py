"""A process of `kafka-rack serve`, and its control API."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.progress import wait_until

ROOT = Path(__file__).resolve().parents[2]


class Served:
    """Where a cluster is. ``servers`` for clients, ``control`` the control API's address."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.servers = self.control = ""
        for line in process.stdout:
            if line.startswith("bootstrap.servers="):
                self.servers = line.strip().removeprefix("bootstrap.servers=")
            if line.startswith("control API: "):
                self.control = line.strip().removeprefix("control API: ").removesuffix("/cluster")
                return

    def post(self, path: str) -> None:
        """Ask the control API, as ``/racks/b/stop``; answered when it has taken effect."""
        request = urllib.request.Request(self.control + path, method="POST")
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200

    def end(self) -> None:
        """End it, so that its capture is whole."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        wait_until(lambda: self.process.poll() is not None, "the end of kafka-rack serve")
        assert self.process.returncode == 0


@contextmanager
def kafka_rack_serve(*arguments: str) -> Iterator[Served]:
    """Brokers 0, 1 and 2 on racks a, b and c, readers sent to their own rack, and a control API."""
    command = [sys.executable, "-m", "kafka_rack.cli", "serve", "--port", "0", "--control-port", "0"]
    rack_aware = ["--set", "replica.selector.class=rack-aware"]
    with subprocess.Popen([*command, *rack_aware, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        served = Served(process)
        try:
            assert served.control, "the cluster did not come up"
            yield served
            served.end()
        finally:
            process.kill()
