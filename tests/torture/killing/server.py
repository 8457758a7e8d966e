"""``kafka-rack serve --data-dir`` in a process of its own that is killed and started again on the same ports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.ports import free_ports
from tests.serve_process import ROOT

RACKS = "abc"


class KilledServer:
    """A cluster of so many brokers, each in a rack of its own.

    ``said`` is what the process wrote to standard error, of all its lives.
    """

    def __init__(self, folder: Path, options: Sequence[str] = (), brokers: int = 3) -> None:
        self.data, self.errors = folder / "data", folder / "errors.txt"
        self.options = list(options)
        self.ports = free_ports(brokers)
        self.process: subprocess.Popen[bytes] | None = None
        self._files = []
        for node, (port, rack) in enumerate(zip(self.ports, RACKS[:brokers], strict=True)):
            file = folder / f"{node}.properties"
            file.write_text(f"node.id={node}\nbroker.rack={rack}\nlisteners=PLAINTEXT://127.0.0.1:{port}\n")
            self._files += ["--config", str(file)]

    @property
    def addresses(self) -> list[str]:
        return [f"127.0.0.1:{port}" for port in self.ports]

    @property
    def bootstrap(self) -> str:
        return ",".join(self.addresses)

    @property
    def said(self) -> str:
        return self.errors.read_text(errors="replace") if self.errors.exists() else ""

    def start(self) -> None:
        """Gives once every broker accepts. Raises AssertionError: it ended instead; its last words are in the text."""
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "kafka_rack.cli", "serve", "--quiet", "--ready-fd", str(writing)]
        command += ["--data-dir", str(self.data), *self._files, *self.options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                command, cwd=ROOT, pass_fds=[writing], stdin=subprocess.DEVNULL, stderr=errors, env=environment
            )
        os.close(writing)
        with os.fdopen(reading) as ready:
            line = ready.readline()
        assert line, f"the server did not start: {self.said[-3000:]}"
        assert json.loads(line)["bootstrap_servers"]

    def kill(self) -> None:
        """End it as a machine without power does, as far as a process can be."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """End it in order; gives its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None
