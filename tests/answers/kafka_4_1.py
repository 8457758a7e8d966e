"""The recorded answers of Kafka 4.1: exchanges of which scenarios and steps with the same names are told here too.

The file keeps what its recorder thought worth comparing: of some answers a few fields or a summary. So every field
that it has counts, and what only ours has does not; where ours tells a summary of another kind there is no comparison.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from tests.answers.comparison import Difference
from tests.answers.normal import TEXT
from tests.answers.story import Exchange
from tests.fixture_data import FIXTURES, json_lines

FILE = FIXTURES / "answers" / "kafka-4.1.jsonl.gz"
LABEL = "4.1: "
"""Stands before the scenarios' names in differences and excuses."""
NAME = re.compile(r"<.*>|T\+\d+|.*<uuid \d+>")
LEFT_OUT_DEFAULTS = (
    {"epoch": -1, "endOffset": -1},
    {"leaderId": -1, "leaderEpoch": -1},
    [],
    -1,
)
"""Tagged fields at their defaults, which that recorder wrote down."""


@cache
def recorded_by_4_1() -> dict[str, dict[str, dict[str, Any]]]:
    """Scenario -> step -> line; a step that stands there twice counts where it stood last."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in json_lines(FILE):
        if "scenario" in line:
            found.setdefault(line["scenario"], {})[line["step"]] = line
    return found


def differences_from_4_1(scenario: str, told: list[Exchange]) -> Iterator[Difference]:
    """Where our answers differ from those of 4.1 to steps of the same name."""
    lines = recorded_by_4_1().get(scenario, {})
    for one in told:
        line = lines.get(one.step)
        if line is None:
            continue
        for field, kafka, ours in differing(line["answer"], json.loads(json.dumps(one.answer))):
            yield Difference(LABEL + scenario, one.step, one.api, field, kafka, ours)


def compared(scenario: str, told: list[Exchange]) -> int:
    """How many of a scenario's steps 4.1 has too."""
    lines = recorded_by_4_1().get(scenario, {})
    return sum(one.step in lines for one in told)


def differing(kafka: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:  # noqa: C901 - a case a line
    """The fields of Kafka's answer that ours has otherwise.

    >>> list(differing({"errorCode": 3, "topicId": "<id of t>"}, {"errorCode": 0, "topicId": "<id 1>", "more": 1}))
    [('errorCode', 3, 0)]
    """
    if any(isinstance(one, str) and NAME.fullmatch(one) for one in (kafka, ours)):
        return
    if isinstance(kafka, bool) is not isinstance(ours, bool):
        return  # there it only says that something is there
    if TEXT.search(path):
        if bool(kafka) != bool(ours) and kafka != "NONE":
            yield path, kafka, ours
    elif path == "apis" and isinstance(ours, dict):
        for one in kafka:  # those that its recorder looked at
            name, versions = one["name"], f"{one['min']}-{one['max']}"
            if versions != ours.get(name):
                yield f"apis.{name}", versions, ours.get(name, "(missing)")
    elif isinstance(kafka, dict) and isinstance(ours, dict):
        for name, value in kafka.items():
            inner = f"{path}.{name}" if path else name
            if name in ours:
                yield from differing(value, ours[name], inner)
            elif (
                value not in LEFT_OUT_DEFAULTS
                and not isinstance(value, bool)
                and "errorCode" in ours
                and name not in ("any", "topicConfigErrorCode")
            ):
                yield inner, value, "(missing)"
    elif path.endswith(("records", "emberMetadata", "emberAssignment", "metadata", "assignment")):
        return  # opened there in a form of its own
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for index, (one, other) in enumerate(zip(in_order(kafka), in_order(ours), strict=True)):
            yield from differing(one, other, f"{path}[{index}]")
    elif not isinstance(kafka, dict) and kafka != ours:
        yield path, kafka, ours


def in_order(values: list[Any]) -> list[Any]:
    """Lists of entries by what names them, whatever the order of the two recorders."""

    def key(value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        names = ("name", "topic", "groupId", "partitionIndex", "partition", "index", "nodeId", "brokerId", "memberId")
        return json.dumps([value[name] for name in names if name in value] + [value.get("errorCode")])

    return sorted(values, key=key)
