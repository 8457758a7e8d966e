"""Builds workers with a pinned version of a client, fetched by name from its registry, in a folder of their own.

A later run finds what was built. Missing programs raise ToolMissingError with what to install.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.interop.fetched import (
    FETCH_QUIET_S,
    MAVENS_REPOSITORY,
    PAUSES_S,
    ToolMissingError,
    needs_programs,
    one_at_a_time,
    size_of,
)
from tests.progress import run

WORKERS = Path(__file__).with_name("workers")
LAST_CHARACTERS = 600
DONE = ".done"


def go_worker(
    source: Path, requires: Mapping[str, str], folder: Path, replaces: Mapping[str, str] | None = None
) -> list[str]:
    """The command of a Go program of one file.

    Args:
        requires: module -> version. replaces: module -> ``other module version`` that takes its place.

    Raises: ToolMissingError.
    """

    def build() -> None:
        needs_programs("go")
        shutil.copy(source, folder / "main.go")
        lines = ["module worker", "", "go 1.21", ""]
        lines += [f"require {module} {version}" for module, version in requires.items()]
        lines += [f"replace {module} => {other}" for module, other in (replaces or {}).items()]
        (folder / "go.mod").write_text("\n".join(lines) + "\n")
        fetch(["go", "mod", "tidy"], folder)
        step(["go", "build", "-o", "worker", "."], folder)

    built(folder, build)
    return [str(folder / "worker")]


def java_worker(version: str, folder: Path) -> list[str]:
    """The command of ``RackWorker`` with a release of kafka-clients. Raises ToolMissingError."""

    def build() -> None:
        needs_programs("java", "javac", "mvn")
        source = WORKERS / "java"
        copy: list[str | Path] = ["mvn", "-q", "-B", "-f", source / "pom.xml", "dependency:copy-dependencies"]
        with one_at_a_time(MAVENS_REPOSITORY):
            fetch([*copy, f"-Dkafka.version={version}", f"-DoutputDirectory={folder}"], folder)
        step(["javac", "-nowarn", "-d", folder, "-cp", f"{folder}/*", source / "RackWorker.java"], folder)

    built(folder, build)
    return ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", f"{folder}:{folder}/*", "RackWorker"]


def node_worker(source: Path, package: str, version: str, folder: Path) -> list[str]:
    """The command of a script of Node with a package. Raises ToolMissingError."""

    def build() -> None:
        needs_programs("node", "npm")
        (folder / "package.json").write_text("{}\n")
        fetch(["npm", "install", "--no-audit", "--no-fund", "--silent", f"{package}@{version}"], folder)

    built(folder, build)
    copied = Path(shutil.copy(source, folder / f"worker-{os.getpid()}.js"))
    copied.replace(folder / "worker.js")  # in one step: another process may start it just now
    return ["node", str(folder / "worker.js")]


def python_worker(source: Path, requires: Sequence[str], folder: Path) -> list[str]:
    """The command of a Python program with packages of its own, as ``aiokafka==0.14.0``. Raises ToolMissingError."""

    def build() -> None:
        step([sys.executable, "-m", "venv", folder / "venv"], folder)
        fetch([folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-input", *requires], folder)

    built(folder, build)
    return [str(folder / "venv/bin/python"), str(source)]


def built(folder: Path, build: Callable[[], None]) -> None:
    """Build once. Other processes wait meanwhile; a build that did not finish begins again."""
    with one_at_a_time(folder):
        if (folder / DONE).exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        build()
        (folder / DONE).touch()


def fetch(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command that reads from a registry; if it fails, retry after each pause. Raises ToolMissingError."""
    for pause_s in PAUSES_S:
        try:
            return step(command, folder)
        except ToolMissingError:
            time.sleep(pause_s)
    return step(command, folder)


def step(command: Sequence[str | Path], folder: Path) -> None:
    """Run one command. Raises ToolMissingError: it failed; the end of its output is in the text."""
    done = run(command, cwd=folder, seen=lambda: size_of(folder), quiet_s=FETCH_QUIET_S)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-LAST_CHARACTERS:]
        raise ToolMissingError(f"{' '.join(map(str, command[:3]))} failed: {said}")
