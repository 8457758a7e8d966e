"""``kafka-rack serve`` as a process that says on a descriptor when it is ready, as tests of any language start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class ServeProcess:
    """The process and what it said: ``ready`` is the line of ``--ready-fd``, ``rest`` what came behind it."""

    def __init__(self, *options: str, name: str = "serve") -> None:
        reading, writing = os.pipe()
        command = [sys.executable, "-m", "kafka_rack.cli", name, "--port", "0", "--ready-fd", str(writing)]
        self.process = subprocess.Popen(
            [*command, *options],
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


@contextmanager
def serve_process(*options: str, name: str = "serve") -> Iterator[ServeProcess]:
    served = ServeProcess(*options, name=name)
    try:
        yield served
    finally:
        served.kill()
