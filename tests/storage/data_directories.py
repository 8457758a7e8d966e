"""Reads fixtures/data_directories: directories that a real Kafka wrote, and what it answered from them."""

from __future__ import annotations

import gzip
import json
import tarfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tests.fixture_data import FIXTURES
from tests.storage.questions import AnsweredQuestion

DIRECTORIES = FIXTURES / "data_directories"
KINDS = ("stopped", "killed")


class Recorded(NamedTuple):
    """What was asked of Kafka before it ended, and again after it had been opened anew."""

    times: list[int]
    groups: dict[str, str]
    before: list[AnsweredQuestion]
    after: list[AnsweredQuestion]


def unpack(kind: str, folder: Path) -> Path:
    """Unpack a data directory into a new folder, which has the log directories ``one`` and ``two``; gives it."""
    place = folder / kind
    with tarfile.open(DIRECTORIES / f"{kind}.tar.xz") as archive:
        archive.extractall(place, filter="data")
    return place


@cache
def recorded(kind: str) -> Recorded:
    lines = gzip.decompress((DIRECTORIES / f"{kind}.jsonl.gz").read_bytes()).splitlines()
    told, *exchanges = map(json.loads, lines)
    asked: dict[str, list[AnsweredQuestion]] = {"before": [], "after": []}
    for one in exchanges:
        asked[one.pop("when")].append(AnsweredQuestion(**one))
    return Recorded(told["times"], told["groups"], asked["before"], asked["after"])


def fetched(asked: list[AnsweredQuestion]) -> dict[tuple[str, int, int], list[dict[str, Any]]]:
    """The partitions of Fetch answers that have records, by topic id, partition and isolation level, in order."""
    found: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for one in asked:
        if one.api != "Fetch":
            continue
        (topic,) = one.answer["responses"]
        (partition,) = topic["partitions"]
        if partition["records"]["size"]:
            key = (topic["topicId"], partition["partitionIndex"], one.request["isolationLevel"])
            found.setdefault(key, []).append(partition)
    return found
