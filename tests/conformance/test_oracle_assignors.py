"""Kafka's own assignors and ours give the same partitions to the same members, line by line of the recorded answers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from kafka_rack.assignment import PartitionAssignorError, assign
from tests.cases import for_each
from tests.fixture_data import FIXTURES

KAFKA_FAILS = {"NullPointerException", "IllegalStateException", "Hang"}
"""Where Kafka's code fails on its own; ours then still gives no partition to two members."""


@cache
def lines(folder: str) -> list[dict[str, Any]]:
    with gzip.open(FIXTURES / folder / "assignors.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def label(index: int, line: dict[str, Any]) -> str:
    return f"{index}-{line['input']['assignor']}-{len(line['input']['members'])}-members"


def cases() -> list[Any]:
    return [
        (f"{folder}-{label(index, line)}", (line,))
        for folder in ("oracle", "assignment")
        for index, line in enumerate(lines(folder))
    ]


def ours(line: dict[str, Any]) -> dict[str, list[tuple[str, int]]]:
    given = line["input"]
    cluster = {**given["cluster"], "topic_ids": given.get("topic_ids")}
    return assign(given["assignor"], cluster, given["members"])


@for_each(cases)
def test_the_assignment_is_kafkas_member_for_member(line):
    if "error" in line:
        if line["error"]["type"] in KAFKA_FAILS:
            once = Counter(pair for pairs in ours(line).values() for pair in pairs)
            assert not [pair for pair, count in once.items() if count > 1]
            return
        with pytest.raises(PartitionAssignorError):
            ours(line)
        return
    expected = {
        member: sorted((topic, partition) for topic, partitions in owned for partition in partitions)
        for member, owned in line["expect"]["assignment"].items()
    }
    assert {member: sorted(pairs) for member, pairs in ours(line).items()} == expected


def test_every_assignor_is_among_the_recorded_answers():
    recorded = {line["input"]["assignor"] for line in lines("oracle")}
    assert recorded == {"range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "server-range"}
