"""Apache Kafka's own placement classes as a process, for tests and for the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from kafka_rack.placement import UsableBroker
from tests.interop.fetched import java_answers, java_program, maven_jars

SOURCES = Path(__file__).parent / "java" / "placement"
DRAWN = -1


class PlacementQuestion(NamedTuple):
    """One placement; ``start_index`` fixes start and shift as Kafka's own does, else both are drawn from the seed."""

    placer: str
    brokers: Sequence[UsableBroker]
    start_partition: int
    partitions: int
    replicas: int
    seed: int = 0
    start_index: int = DRAWN

    def line(self, rounds: int) -> str:
        """The request in the program's form."""
        brokers = ",".join(
            f"{broker.id}={'~' if broker.rack is None else broker.rack}={str(broker.fenced).lower()}"
            for broker in self.brokers
        )
        numbers = (self.start_partition, self.partitions, self.replicas, self.seed, self.start_index, rounds)
        return "\t".join([self.placer, *map(str, numbers), brokers])


def java_placements(asked: Iterable[PlacementQuestion]) -> list[list[list[int]] | str]:
    """What Kafka's classes answer: rows, or the simple name of the exception.

    Raises: ToolMissingError: see there.
    """
    return [
        text[1:] if text.startswith("!") else [[int(one) for one in row.split(",")] for row in text.split(";")]
        for text in run_java([one.line(rounds=0) for one in asked])
    ]


def java_times(asked: Iterable[PlacementQuestion], rounds: int) -> list[float]:
    """The median time of each placement in seconds, over ``rounds`` after as many to warm up."""
    return [int(text) / 1e9 for text in run_java([one.line(rounds) for one in asked])]


def run_java(lines: Sequence[str]) -> list[str]:
    return java_answers(java_program(SOURCES / "Placement.java", jars()), lines)


def jars() -> Path:
    """The folder with Kafka's placement classes, fetched once into build/. Raises ToolMissingError."""
    return maven_jars("kafka-metadata-3.9.1", SOURCES / "pom.xml", "kafka-metadata-3.9.1.jar")
