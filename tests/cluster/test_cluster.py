"""Two workers decode what one process does: rows of a connection meet wherever they were read.

What runs on a cluster takes a minute, so the suite `cluster` runs this test and `make test` does not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_rack.pipeline.decode import decode
from kafka_rack.pipeline.session import spark_session
from tests import on_spark
from tests.cluster.processes import LOOPBACK, cluster
from tests.pipeline.steps import comparable, stored_tables, tables_in_one

ROOT = Path(__file__).resolve().parents[2]
WORKERS = 2
collected = on_spark.collected
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


def test_two_workers_decode_what_one_process_does(tmp_path, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    captures = tmp_path / "captures"
    captures.mkdir()
    for name in ("java41-range.jsonl", "zk39-ibp0101.jsonl", "aiokafka.pcap"):
        (captures / name).write_bytes(on_spark.unpacked(name))
    settings = {
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.ui.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "4",
    }
    with cluster(tmp_path / "cluster", WORKERS) as address:
        spark = spark_session(address, driver_memory="1g", settings=settings)
        try:
            decode(spark, [str(captures)], str(tmp_path / "out"))
            executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
            tasks = {executors.apply(at).id(): executors.apply(at).completedTasks() for at in range(executors.size())}
        finally:
            spark.stop()
    assert comparable(stored_tables(tmp_path / "out")) == comparable(tables_in_one([captures]))
    assert len([executor for executor, done in tasks.items() if executor != "driver" and done]) == WORKERS
