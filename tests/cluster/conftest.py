"""What runs on clusters takes minutes, so the suite `cluster` runs these tests and `make test` does not.

Workers have nothing but a new Python; what they need of this package they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_rack.pipeline.spark.session import find_java
from tests import on_spark
from tests.fixture_data import CAPTURES
from tests.pipeline.cluster import LOOPBACK, QUICK_JAVA, SparkCluster, bare_python, cluster_of_processes
from tests.pipeline.sent import needs_zip, settings_of

HERE = Path(__file__).parent
WORKERS = 2
CUT_OFF = 2 / 3
"""How much is there of a capture that was cut off."""
NAMES = ("java41-range", "java41-coop", "confluent-kip848", "franz-go", "zk39-ibp0101")
PACKETS = ("aiokafka.pcap", "kafka-python.pcapng")

collected = on_spark.collected


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    on_spark.mark(items, HERE)


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workers' Python, which has nothing but its standard library."""
    return bare_python(tmp_path_factory.mktemp("bare") / "python")


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory, python: Path) -> dict[str, str]:
    """Those of a session whose workers are sent this package, with executors that take little of this machine."""
    find_java()
    return {
        **settings_of(needs_zip(tmp_path_factory.mktemp("sent"))),
        "spark.pyspark.python": str(python),
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.cores.max": str(WORKERS),
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "600m",
        "spark.executor.extraJavaOptions": QUICK_JAVA,
    }


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[SparkCluster]:
    """A cluster of a test's own, which may kill it."""
    with cluster_of_processes(tmp_path / "cluster", WORKERS) as started:
        yield started


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures as they were recorded, each to its end."""
    folder = tmp_path_factory.mktemp("whole")
    for name in (*(f"{name}.jsonl" for name in NAMES), *PACKETS):
        (folder / f"{name}.gz").write_bytes((CAPTURES / f"{name}.gz").read_bytes())
    return folder


@pytest.fixture(scope="session")
def cut_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, of which the last part is missing, in the middle of a line or of a packet, and one that is damaged.

    They are not compressed, so that many tasks share each.
    """
    folder = tmp_path_factory.mktemp("cut-off")
    on_spark.put_captures(folder, ())
    for name in (*(f"{name}.jsonl" for name in NAMES), *PACKETS):
        content = on_spark.unpacked(name)
        (folder / name).write_bytes(content[: int(len(content) * CUT_OFF)])
    return folder
