"""Builds workers with a pinned version of a client, fetched by name from its registry, in a folder of their own.

What was built stays there: another run finds it. Programs that are missing raise ToolMissingError with what to install.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

WORKERS = Path(__file__).with_name("workers")
PACKAGES = {
    "java": "Debian, Ubuntu: apt-get install default-jdk-headless",
    "javac": "Debian, Ubuntu: apt-get install default-jdk-headless",
    "mvn": "Debian, Ubuntu: apt-get install maven",
    "node": "Debian, Ubuntu: apt-get install nodejs",
    "npm": "Debian, Ubuntu: apt-get install npm",
    "go": "https://go.dev/dl",
}
MAVENS_REPOSITORY = Path.home() / ".m2" / "kafka-rack"
"""What each fetch with Maven is alone in: its folder in the home directory is not made for two that fetch at once."""
PAUSES_S = (3.0, 15.0)
"""Before each further try of what could not be fetched: a registry fails for a moment, now and then."""
LAST_CHARACTERS = 600
DONE = ".done"


class ToolMissingError(Exception):
    """A program, or what is to be fetched with it, cannot be had; the text says which and why."""


def cache_folder() -> Path:
    """Where what is fetched is kept: below XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-rack" / "museum"


def go_worker(
    source: Path, requires: Mapping[str, str], folder: Path, replaces: Mapping[str, str] | None = None
) -> list[str]:
    """The command of a Go program of one file.

    Args:
        requires: module -> version. replaces: module -> ``other module version`` that takes its place.

    Raises: ToolMissingError.
    """

    def build() -> None:
        needs("go")
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
    """What runs ``RackWorker`` with a release of kafka-clients. Raises ToolMissingError."""

    def build() -> None:
        needs("java", "javac", "mvn")
        source = WORKERS / "java"
        copy: list[str | Path] = ["mvn", "-q", "-B", "-f", source / "pom.xml", "dependency:copy-dependencies"]
        with alone(MAVENS_REPOSITORY):
            fetch([*copy, f"-Dkafka.version={version}", f"-DoutputDirectory={folder}"], folder)
        step(["javac", "-nowarn", "-d", folder, "-cp", f"{folder}/*", source / "RackWorker.java"], folder)

    built(folder, build)
    return ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-cp", f"{folder}:{folder}/*", "RackWorker"]


def node_worker(source: Path, package: str, version: str, folder: Path) -> list[str]:
    """What runs a script of Node with a package. Raises ToolMissingError."""

    def build() -> None:
        needs("node", "npm")
        (folder / "package.json").write_text("{}\n")
        fetch(["npm", "install", "--no-audit", "--no-fund", "--silent", f"{package}@{version}"], folder)

    built(folder, build)
    copied = Path(shutil.copy(source, folder / f"worker-{os.getpid()}.js"))
    copied.replace(folder / "worker.js")  # in one step: another process may start it just now
    return ["node", str(folder / "worker.js")]


def python_worker(source: Path, requires: Sequence[str], folder: Path) -> list[str]:
    """What runs a Python program with packages of its own, as ``aiokafka==0.14.0``. Raises ToolMissingError."""

    def build() -> None:
        step([sys.executable, "-m", "venv", folder / "venv"], folder)
        fetch([folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-input", *requires], folder)

    built(folder, build)
    return [str(folder / "venv/bin/python"), str(source)]


def needs(*programs: str) -> None:
    """Raises ToolMissingError: one of these is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            raise ToolMissingError(f"{program} is not installed ({PACKAGES[program]})")


def built(folder: Path, build: Callable[[], None]) -> None:
    """Build once; who comes meanwhile waits, and what was left half done is begun anew."""
    with alone(folder):
        if (folder / DONE).exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        build()
        (folder / DONE).touch()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep other processes out that build in the same folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command that asks a registry; where it fails, try it again, some times. Raises ToolMissingError."""
    for pause_s in PAUSES_S:
        try:
            return step(command, folder)
        except ToolMissingError:
            time.sleep(pause_s)
    return step(command, folder)


def step(command: Sequence[str | Path], folder: Path) -> None:
    """Run one command. Raises ToolMissingError: it failed; its last words are in the text."""
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-LAST_CHARACTERS:]
        raise ToolMissingError(f"{' '.join(map(str, command[:3]))} failed: {said}")
