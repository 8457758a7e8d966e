"""The files of fixtures/answers/kafka-4.4/, one a family: read, written, and compared with what ours answers now."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from tests.answers.comparison import Difference, differing_fields
from tests.answers.drivers import SimulatedCluster
from tests.answers.kafka_4_1 import differences_from_4_1, recorded_by_4_1
from tests.answers.scenarios import Scenario, settings_of
from tests.answers.story import Exchange, Story
from tests.fixture_data import FIXTURES, json_lines

FOLDER = FIXTURES / "answers" / "kafka-4.4"
MAX_REQUEST_CHARACTERS = 400


def path_of(family: str) -> Path:
    return FOLDER / f"{family}.jsonl.gz"


def recorded_families() -> list[str]:
    return sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz"))


@cache
def recorded(family: str) -> dict[str, dict[str, Any]]:
    """What Kafka answered: scenario -> step -> line."""
    found: dict[str, dict[str, Any]] = {}
    for line in json_lines(path_of(family)):
        if "scenario" in line:
            found.setdefault(line["scenario"], {})[line["step"]] = line
    return found


def write(family: str, kept: Iterable[Exchange], settings: dict[str, str]) -> int:
    """Write a family's file; gives how many exchanges it has."""
    lines = [json.dumps({"kafka": "4.4.0", "settings": settings})]
    for one in kept:
        line = asdict(one)
        request = json.dumps(one.request, separators=(",", ":"))
        line["request"] = request[:MAX_REQUEST_CHARACTERS]
        lines.append(json.dumps(line, separators=(",", ":")))
    FOLDER.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as file:
        file.write("\n".join([*lines, ""]).encode())
    path_of(family).write_bytes(buffer.getvalue())
    return len(lines) - 1


def told_by_ours(scenario: Scenario, release: str = "4.4") -> list[Exchange]:
    """What our cluster answers in a scenario, as a release of Kafka."""
    story = Story(scenario.name, SimulatedCluster(settings_of(scenario.family), release))
    scenario.run(story)
    return story.kept


def differences(scenario: Scenario, lines: dict[str, Any]) -> Iterator[Difference]:
    """Where our answers to a scenario differ from those that were recorded, of 4.4 and, where it has them, of 4.1."""
    told = told_by_ours(scenario)
    ours = {one.step: one for one in told}
    for step, line in lines.items():
        if step not in ours:
            yield Difference(scenario.name, step, line["api"], "", "a step", "no such step: record again")
            continue
        given = json.loads(json.dumps(ours[step].answer))
        for field, kafka, other in differing_fields(line["answer"], given):
            yield Difference(scenario.name, step, line["api"], field, kafka, other)
    if scenario.name in recorded_by_4_1():
        yield from differences_from_4_1(scenario.name, told_by_ours(scenario, "4.1"))
