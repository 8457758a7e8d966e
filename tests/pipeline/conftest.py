"""One Spark session for the whole run.

Without Java 17 or newer these tests fail, with the line that says how to get it.
"""

from __future__ import annotations

import gc
import gzip
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixture_data import CAPTURES
from tests.interop.fetched import FOLDER, PAUSES_S, one_at_a_time

HERE = Path(__file__).parent
JARS = FOLDER / "ivy"
"""Where Spark keeps the jars that it has fetched once; with them it asks no network."""

# Jobs as small as these are over before Java's second compiler has done any good: it took half of the processor time.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All here need Spark. It leaves sockets to the garbage collector, which would warn."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Spark's sockets are collected here, not in another test."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores, with Spark's Kafka connector; without it where it cannot be fetched."""
    from kafka_rack.pipeline.spark.session import KAFKA_CONNECTOR, SparkMissing, spark_session

    settings = {"spark.jars.ivy": str(JARS)}
    with one_at_a_time(JARS):  # two that fetch into one folder disturb each other
        for pause_s in (*PAUSES_S, None):
            try:
                session = spark_session("local[2]", driver_memory="1g", packages=[KAFKA_CONNECTOR], settings=settings)
            except SparkMissing as missing:
                if pause_s is not None:
                    time.sleep(pause_s)
                    continue
                session = spark_session("local[2]", driver_memory="1g")
                session.without_connector = str(missing)
            break
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three captures that can be cut, a compressed one, and one that is damaged and cut off."""
    folder = tmp_path_factory.mktemp("captures")
    for name in ("java41-range.jsonl", "zk39-ibp0101.jsonl", "aiokafka.pcap"):
        (folder / name).write_bytes(gzip.decompress((CAPTURES / f"{name}.gz").read_bytes()))
    (folder / "confluent-kip848.jsonl.gz").write_bytes((CAPTURES / "confluent-kip848.jsonl.gz").read_bytes())
    torn = gzip.decompress((CAPTURES / "kafkajs.jsonl.gz").read_bytes())
    (folder / "torn.jsonl").write_bytes(torn[:50_000] + b"\xff{" + torn[50_000:-100])
    return folder
