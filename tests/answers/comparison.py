"""Two answers side by side, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.answers.normal import TEXT

MISSING = "(missing)"
MANY = 2


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one answer: Kafka's value and ours."""

    scenario: str
    step: str
    api: str
    field: str
    kafka: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.scenario} | {self.step} | {self.field}: Kafka {self.kafka!r}, ours {self.ours!r}"


def differing_fields(kafka: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The fields that are not the same, each by its path, with both values; texts of errors differ only where one
    is there and the other is not.

    >>> list(differing_fields({"errorCode": 3, "errorMessage": "no"}, {"errorCode": 0, "errorMessage": None}))
    [('errorCode', 3, 0), ('errorMessage', 'no', None)]
    >>> list(differing_fields({"errorMessage": "no"}, {"errorMessage": "nope"}))
    []
    """
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in (*kafka, *(name for name in ours if name not in kafka)):
            yield from differing_fields(
                kafka.get(name, MISSING), ours.get(name, MISSING), f"{path}.{name}" if path else name
            )
    elif (by_name := named_entries(kafka)) and (of_ours := named_entries(ours)):
        for name in (*by_name, *(name for name in of_ours if name not in by_name)):
            yield from differing_fields(by_name.get(name, MISSING), of_ours.get(name, MISSING), f"{path}[{name}]")
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for index, (one, other) in enumerate(zip(kafka, ours, strict=True)):
            yield from differing_fields(one, other, f"{path}[{index}]")
    elif TEXT.search(path) and isinstance(kafka, str) and isinstance(ours, str) and MISSING not in (kafka, ours):
        if bool(kafka) != bool(ours):
            yield path, kafka, ours
    elif kafka != ours or type(kafka) is not type(ours):
        yield path, kafka, ours


def named_entries(values: Any) -> dict[str, Any]:
    """Entries by what names each of them, so that one that only one side has moves no others; empty where none does.

    >>> named_entries([{"name": "b", "value": 1}, {"name": "a", "value": 2}])
    {'b': {'name': 'b', 'value': 1}, 'a': {'name': 'a', 'value': 2}}
    """
    if not isinstance(values, list) or len(values) < MANY:
        return {}
    names = [one.get("name") if isinstance(one, dict) else None for one in values]
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        return {}
    return dict(zip(names, values, strict=True))  # type: ignore[arg-type]
