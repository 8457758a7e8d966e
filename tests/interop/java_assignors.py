"""Apache Kafka's own assignors as a process, for tests and for the benchmark."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "java" / "assignors"
JARS = Path(__file__).resolve().parents[2] / "build" / "interop" / "kafka-group-coordinator-4.1.0"
FETCH_TIMEOUT_S = 240
RUN_TIMEOUT_S = 280


class JavaMissingError(Exception):
    """Java, Maven or the jars are not there; the text says which."""


def java_assignments(groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What Kafka's classes answer: {"assignment": {member: [[topic, [partitions]]]}} or {"error": exception's name}.

    Args:
        groups: in the form of fixtures/oracle: assignor, cluster, members, topic_ids.

    Raises: JavaMissingError: see there.
    """
    return [json.loads(line) for line in run_java([json.dumps(group) for group in groups])]


def java_times(groups: Iterable[Mapping[str, Any]], milliseconds: int) -> list[float]:
    """The median time of each assignment in seconds, measured for about so long after as long a warm-up."""
    lines = [json.dumps(group) for group in groups]
    return [int(line) / 1e9 for line in run_java(lines, str(milliseconds))]


def run_java(lines: Sequence[str], *arguments: str) -> list[str]:
    """One answer a line."""
    done = subprocess.run(
        ["java", "-Xss8m", "-cp", f"{jars()}/*", str(SOURCES / "Assignors.java"), *arguments],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr[-2000:]
    return answers


@cache
def jars() -> Path:
    """The folder with Kafka's assignors and what they need, fetched once into build/."""
    for program, package in (("java", "default-jdk-headless"), ("mvn", "maven")):
        if shutil.which(program) is None:
            raise JavaMissingError(f"{program} is not installed (Debian, Ubuntu: apt-get install {package})")
    if not (JARS / "kafka-group-coordinator-4.1.0.jar").exists():
        fetch = ["mvn", "-q", "-B", "-f", SOURCES / "pom.xml", "dependency:copy-dependencies"]
        done = subprocess.run(
            [*fetch, f"-DoutputDirectory={JARS}"], capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False
        )
        if done.returncode:
            raise JavaMissingError(f"Maven could not fetch kafka-group-coordinator 4.1.0: {done.stdout.strip()[:200]}")
    return JARS
