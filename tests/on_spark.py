"""What all tests on Spark share, whichever session their folder's conftest.py starts.

A folder's conftest.py takes it over so::

    collected = on_spark.collected


    def pytest_collection_modifyitems(items):
        on_spark.mark(items, HERE)
"""

from __future__ import annotations

import gc
import gzip
import os
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fixture_data import CAPTURES
from tests.interop.fetched import FOLDER, PAUSES_S, one_at_a_time

JARS = FOLDER / "ivy"
"""Where Spark keeps the jars that it has fetched once; with them it asks no network."""

# Jobs as small as these are over before Java's second compiler has done any good: it took half of the processor time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


def mark(items: list[pytest.Item], folder: Path) -> None:
    """Ignore warnings of sockets that Spark leaves to the garbage collector, in the tests of a folder."""
    start = f"{folder}{os.sep}"
    for item in items:
        if str(item.path).startswith(start):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Spark's sockets are collected here, not in another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def session_with(packages: list[str], settings: Mapping[str, str] | None = None) -> Any:
    """A session on two cores with packages that Spark fetches; tried again, as their repository fails now and then.

    Raises: SparkMissing: they could not be fetched.
    """
    from kafka_rack.pipeline.session import SparkMissing, spark_session

    given = {**(settings or {}), "spark.jars.ivy": str(JARS)}
    with one_at_a_time(JARS):  # two that fetch into one folder disturb each other
        for pause_s in PAUSES_S:
            try:
                return spark_session("local[2]", driver_memory="1g", packages=packages, settings=given)
            except SparkMissing:
                time.sleep(pause_s)
        return spark_session("local[2]", driver_memory="1g", packages=packages, settings=given)


def put_captures(folder: Path, names: Iterable[str]) -> None:
    """Captures that can be cut, and with them one that is damaged and cut off."""
    for name in names:
        (folder / name).write_bytes(unpacked(name))
    torn = unpacked("kafkajs.jsonl")
    (folder / "torn.jsonl").write_bytes(torn[:50_000] + b"\xff{" + torn[50_000:-100])


def unpacked(name: str) -> bytes:
    return gzip.decompress((CAPTURES / f"{name}.gz").read_bytes())


JAVAS_OWN = ("WARNING: Using incubator", "Picked up ", "Setting default log level", "To adjust logging level")


def complaints(stderr: str) -> str:
    """What a command with a driver here said on standard error, without what Java and Python's warnings say."""
    lines = re.sub(r"^\S+:\d+: \w*Warning: .*\n(?:  .*\n)?", "", stderr, flags=re.MULTILINE).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(JAVAS_OWN))
