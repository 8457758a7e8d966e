"""Apache Kafka's own assignors as a process, for tests and for the benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.interop.fetched import java_answers, java_program, maven_jars

SOURCES = Path(__file__).parent / "java" / "assignors"


def java_assignments(groups: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What Kafka's classes answer: {"assignment": {member: [[topic, [partitions]]]}} or {"error": exception's name}.

    Args:
        groups: in the form of fixtures/oracle: assignor, cluster, members, topic_ids.

    Raises: ToolMissingError: see there.
    """
    return [json.loads(line) for line in run_java([json.dumps(group) for group in groups])]


def java_times(groups: Iterable[Mapping[str, Any]], milliseconds: int) -> list[float]:
    """The median time of each assignment in seconds, measured for about so long after as long a warm-up."""
    lines = [json.dumps(group) for group in groups]
    return [int(line) / 1e9 for line in run_java(lines, str(milliseconds))]


def run_java(lines: Sequence[str], *arguments: str) -> list[str]:
    program = java_program(SOURCES / "Assignors.java", jars())
    return java_answers(program, lines, *arguments, java=["-Xss8m"])


def jars() -> Path:
    """The folder with Kafka's assignors and what they need, fetched once into build/. Raises ToolMissingError."""
    return maven_jars("kafka-group-coordinator-4.1.0", SOURCES / "pom.xml", "kafka-group-coordinator-4.1.0.jar")
