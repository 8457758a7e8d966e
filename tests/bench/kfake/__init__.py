"""kfake, franz-go's own fake cluster, as a process beside ours: built by `go` from the sources here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parent
PROGRAM = SOURCES.parents[2] / "build" / "kfake"
BUILD_WITHIN_S = 300


class Missing(Exception):
    """kfake cannot be had here; says why."""


@cache
def built() -> Path:
    """The program. Raises Missing."""
    if shutil.which("go") is None:
        raise Missing("go is not installed")
    command = ["go", "build", "-o", str(PROGRAM), "."]
    try:
        done = subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=BUILD_WITHIN_S, check=False)
    except subprocess.TimeoutExpired:
        raise Missing(f"go build took more than {BUILD_WITHIN_S} s") from None
    if done.returncode:
        raise Missing(f"go build failed: {done.stderr.strip().splitlines()[-1]}")
    return PROGRAM


@contextmanager
def serving_kfake(topic: str, partitions: int) -> Iterator[list[str]]:
    """The addresses of three brokers with one topic. Raises Missing."""
    with subprocess.Popen(
        [str(built()), topic, str(partitions)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().split(",")
        finally:
            process.stdin.close()  # which ends it
