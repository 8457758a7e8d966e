"""One Spark session that knows Delta and Iceberg by their released packages.

The suite `formats` runs these tests; `make test` does not, as they need packages that nothing else needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import on_spark
from tests.formats.sessions import session_with_formats

HERE = Path(__file__).parent
NAMES = ("aiokafka.jsonl", "kcat.jsonl", "kafkajs.jsonl", "zk39-ibp0101.jsonl")

collected = on_spark.collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    on_spark.mark(items, HERE)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    session = session_with_formats()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of captures, a damaged one among them."""
    folder = tmp_path_factory.mktemp("captures")
    on_spark.put_captures(folder, NAMES)
    return folder
