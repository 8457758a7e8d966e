"""What tests need of other languages, fetched once into build/interop, by one process at a time.

A test that lacks a program or its packages is skipped, and says which. Java, Go and Node must be there in CI: there
tests fail instead, so that they cannot vanish unseen.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

import pytest

from tests.progress import run

FOLDER = Path(__file__).resolve().parents[2] / "build" / "interop"
FETCH_QUIET_S = 240.0
PAUSES_S = (3.0, 15.0, 45.0)
"""Before each further try of what could not be fetched: a registry fails for a moment, now and then."""
MAVENS_REPOSITORY = Path.home() / ".m2" / "kafka-rack"
"""The lock of Maven's folder in the home directory, which two fetches at once damage."""
NEEDED_IN_CI = ("java", "go", "node")
PACKAGES = {
    "java": "Debian, Ubuntu: apt-get install default-jdk-headless",
    "javac": "Debian, Ubuntu: apt-get install default-jdk-headless",
    "mvn": "Debian, Ubuntu: apt-get install maven",
    "node": "Debian, Ubuntu: apt-get install nodejs",
    "npm": "Debian, Ubuntu: apt-get install npm",
    "go": "https://go.dev/dl",
    "kcat": "Debian, Ubuntu: apt-get install kcat",
    "cargo": "https://rustup.rs",
    "cc": "Debian, Ubuntu: apt-get install gcc",
    "make": "Debian, Ubuntu: apt-get install make",
}


class ToolMissingError(Exception):
    """A program or the packages that it runs on are not there; the text says which."""


@contextmanager
def skipped_without_tools() -> Iterator[None]:
    """Skip the test where something is missing; in CI fail it where that is Java, Go or Node."""
    try:
        yield
    except ToolMissingError as missing:
        if os.environ.get("CI") and any(shutil.which(program) is None for program in NEEDED_IN_CI):
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@cache
def maven_jars(name: str, pom: Path, jar: str, *properties: str) -> Path:
    """The folder build/interop/NAME with the jars that a pom names.

    Args:
        jar: one of them; where it is, all are.
        properties: of the pom, as ``kafka.version=4.1.0``.

    Raises: ToolMissingError: Java, Maven or the jars are not there.
    """
    needs_programs("java", "mvn")
    command = ["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", *(f"-D{one}" for one in properties)]
    return fetched(name, jar, [*command, f"-DoutputDirectory={FOLDER / name}"], uses=MAVENS_REPOSITORY)


@cache
def java_program(source: Path, jars: Path) -> list[str]:
    """What follows ``java`` and its options to run a program of one source file: compiled once for each set of jars.

    A Java without compiler is given the source as it stands.
    """
    classes = FOLDER / "classes" / f"{source.stem}-{jars.name}"
    if shutil.which("javac") is None:
        return ["-cp", f"{jars}/*", str(source)]
    with one_at_a_time(classes):
        kept = classes / source.name
        if not kept.exists() or kept.read_bytes() != source.read_bytes():
            done = run(["javac", "-nowarn", "-d", classes, "-cp", f"{jars}/*", source])
            assert done.returncode == 0, done.stderr
            kept.write_bytes(source.read_bytes())
    return ["-cp", f"{classes}:{jars}/*", source.stem]


def java_answers(program: Sequence[str], lines: Sequence[str], *arguments: str, java: Sequence[str] = ()) -> list[str]:
    """What a program of ``java_program`` answers: a line to each line that it is given."""
    done = run(["java", *java, *program, *arguments], given="".join(f"{line}\n" for line in lines))
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr[-2000:]
    return answers


def needs_programs(*programs: str) -> None:
    """Raises ToolMissingError: one of these is not installed."""
    for program in programs:
        if shutil.which(program) is None:
            raise ToolMissingError(f"{program} is not installed ({PACKAGES[program]})")


def fetched(
    name: str,
    file: str,
    command: Sequence[str | Path],
    files: Mapping[str, str] | None = None,
    uses: Path | None = None,
) -> Path:
    """The folder build/interop/NAME, filled by a command run in it; whoever comes meanwhile waits.

    Args:
        file: where it is, the command has done its work before.
        files: name -> text of what the command needs there.
        uses: what it shares with other commands that cannot run beside it.

    Raises: ToolMissingError: the command failed, each time that it was tried.
    """
    folder = FOLDER / name
    with one_at_a_time(folder):
        if not (folder / file).exists():
            folder.mkdir(exist_ok=True)
            for other, text in (files or {}).items():
                (folder / other).write_text(text)
            for pause_s in (*PAUSES_S, None):
                with nullcontext() if uses is None else one_at_a_time(uses):
                    done = run(command, cwd=folder, seen=lambda: size_of(folder), quiet_s=FETCH_QUIET_S)
                if not done.returncode:
                    break
                if pause_s is None:
                    complaint = (done.stdout.strip() or done.stderr.strip())[:200]
                    raise ToolMissingError(f"{command[0]} could not fetch {name}: {complaint}")
                time.sleep(pause_s)
    return folder


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Keep other processes out that ask for the same folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
