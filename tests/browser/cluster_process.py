"""``kafka-rack serve`` as a process, for clients that block."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.progress import wait_until

ROOT = Path(__file__).resolve().parents[2]


class Served:
    """A running cluster: the addresses of its brokers, and of its control API."""

    def __init__(self, process: subprocess.Popen[bytes], servers: str, address: str, http: httpx.Client) -> None:
        self.process, self.servers, self.address, self.http = process, servers, address, http

    def get(self, path: str, **parameters: Any) -> Any:
        return self.http.get(path, params=parameters).raise_for_status().json()

    def post(self, path: str, body: Any = None) -> Any:
        return self.http.post(path, json={} if body is None else body).raise_for_status().json()


@contextmanager
def serving(folder: Path, *options: str, control_port: int = 0) -> Iterator[Served]:
    """Run a cluster until the block ends."""
    bootstrap, control = folder / "bootstrap", folder / "control"
    for file in (bootstrap, control):
        file.unlink(missing_ok=True)
    files = ["--bootstrap-file", str(bootstrap), "--control-file", str(control)]
    command = [sys.executable, "-m", "kafka_rack.cli", "serve", "--port", "0", "--control-port", str(control_port)]
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen([*command, *files, *options], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_until(
            lambda: (control.exists() and control.read_text().strip()) or process.poll() is not None,
            "kafka-rack serve",
            (folder / "serve.log").read_text,
        )
        assert process.poll() is None, (folder / "serve.log").read_text()
        address = f"http://{control.read_text().strip()}"
        with httpx.Client(base_url=address, timeout=None) as http:
            yield Served(process, bootstrap.read_text().strip(), address, http)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
