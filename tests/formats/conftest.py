"""One Spark session that knows Delta and Iceberg by their released packages.

`make formats` runs these tests; `make test` does not, as they need packages that nothing else needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import on_spark
from tests.formats.sessions import session_with_formats

HERE = Path(__file__).parent
ASKED_FOR = "TABLE_FORMATS"
"""The variable of the environment by which `make formats` asks for these tests."""
NAMES = ("aiokafka.jsonl", "kcat.jsonl", "kafkajs.jsonl", "zk39-ibp0101.jsonl")

collect_ignore_glob = [] if ASKED_FOR in os.environ else ["test_*.py"]

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
