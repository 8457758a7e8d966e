"""One Spark session for the whole run.

Without Java 17 or newer these tests fail, with the line that says how to get it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import on_spark
from tests.fixture_data import CAPTURES

HERE = Path(__file__).parent

collected = on_spark.collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    on_spark.mark(items, HERE)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores."""
    from kafka_rack.pipeline.session import spark_session

    session = spark_session("local[2]", driver_memory="1g")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three captures that can be cut, a compressed one, and one that is damaged and cut off."""
    folder = tmp_path_factory.mktemp("captures")
    on_spark.put_captures(folder, ("java41-range.jsonl", "zk39-ibp0101.jsonl", "aiokafka.pcap"))
    (folder / "confluent-kip848.jsonl.gz").write_bytes((CAPTURES / "confluent-kip848.jsonl.gz").read_bytes())
    return folder
