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
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A session on two cores; with Spark's Kafka connector where a test of it runs and it can be fetched."""
    from kafka_rack.pipeline.spark.session import KAFKA_CONNECTOR, SparkMissing, spark_session

    missing = ""
    session = None
    if any(item.path.name == "test_kafka_connector.py" for item in request.session.items):
        try:
            session = on_spark.session_with([KAFKA_CONNECTOR])
        except SparkMissing as error:
            missing = str(error)
    session = session or spark_session("local[2]", driver_memory="1g")
    session.without_connector = missing
    yield session
    session.stop()


@pytest.fixture
def progress() -> Iterator[Any]:
    """Where the jobs of a test are; at its end, what the last step had counted. ``steps`` has what each one had."""
    from kafka_rack.pipeline.spark.progress import Progress, Step, watched_by

    class AllSteps(Progress):
        def __init__(self) -> None:
            super().__init__()
            self._before: list[Step] = []

        def begin(self, *args: Any) -> None:
            self._before.append(self.now())
            super().begin(*args)

        @property
        def steps(self) -> dict[str, Step]:
            return {one.what: one for one in (*self._before, self.now())}

    looked_at = AllSteps()
    with watched_by(looked_at):
        yield looked_at


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three captures that can be cut, a compressed one, and one that is damaged and cut off."""
    folder = tmp_path_factory.mktemp("captures")
    on_spark.put_captures(folder, ("java41-range.jsonl", "zk39-ibp0101.jsonl", "aiokafka.pcap"))
    (folder / "confluent-kip848.jsonl.gz").write_bytes((CAPTURES / "confluent-kip848.jsonl.gz").read_bytes())
    return folder
