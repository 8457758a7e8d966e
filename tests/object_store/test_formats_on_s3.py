"""Tables as Delta and Iceberg on S3: written by Spark, read by the jobs that read tables, whole when a driver dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES as READ_TABLES
from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.locality.job import measure
from kafka_rack.pipeline.output import formats
from kafka_rack.pipeline.output.formats import SPARK_CATALOG, SPARK_EXTENSIONS, table_of
from kafka_rack.storage import location
from kafka_rack.wire_tables.stored import DELTA, ICEBERG
from kafka_rack.wire_tables.tables import TABLES
from tests.formats.sessions import jars_of
from tests.object_store.conftest import BUCKET
from tests.object_store.places import CAPTURE, HALF
from tests.object_store.test_killed import key_of, kill_all_of
from tests.progress import wait_until

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = {
    DELTA: "PUT .*/frames/_delta_log/[0-9]*[1-9].json",
    ICEBERG: "COPY .*/frames/metadata/v[0-9]+.metadata.json",
}
"""The change by which another version of the table ``frames`` is there."""


@pytest.fixture
def place(store):
    return f"s3a://{BUCKET}/formats-{uuid4().hex}"


def rows_of(spark, place, kind, table):
    rows = table_of(spark, location(f"{place}/out"), kind, table)
    return sorted(repr(row) for row in rows.collect())


@pytest.mark.parametrize("kind", [DELTA, ICEBERG])
def test_locality_of_tables_is_that_of_the_captures(spark, store, place, tmp_path, monkeypatch, kind):
    monkeypatch.setattr(formats, "TABLES", {name: TABLES[name] for name in READ_TABLES})
    store.put(f"{key_of(place)}/in/a.jsonl", HALF)
    job.decode(spark, [f"{place}/in"], f"{place}/out", output_format=kind)
    (tmp_path / "a.jsonl").write_bytes(HALF)
    local = measure(spark, [str(tmp_path / "a.jsonl")], tmp_path / "results", Settings())
    assert local["total"]["bytes"]
    assert {**measure(spark, [f"{place}/out"], f"{place}/results", Settings()), "out": ""} == {**local, "out": ""}
    assert not [key for key in store.keys(key_of(place)) if "/_temporary/" in key]


@pytest.mark.parametrize("kind", [DELTA])
def test_a_driver_that_dies_before_a_table_is_committed_leaves_the_earlier_one(spark, store, place, monkeypatch, kind):
    monkeypatch.setattr(formats, "TABLES", {"frames": TABLES["frames"]})
    store.put(f"{key_of(place)}/in/a.jsonl", HALF)
    job.decode(spark, [f"{place}/in"], f"{place}/out", output_format=kind)
    old = rows_of(spark, place, kind, "frames")
    store.put(f"{key_of(place)}/in/a.jsonl", CAPTURE)
    die_before_the_first_commit(spark, store, place, kind)
    assert rows_of(spark, place, kind, "frames") == old
    job.decode(spark, [f"{place}/in"], f"{place}/out", output_format=kind)
    assert set(old) < set(rows_of(spark, place, kind, "frames"))
    assert not [key for key in store.keys(key_of(place)) if "/_temporary/" in key]


def die_before_the_first_commit(spark, store, place, kind):
    names = (SPARK_EXTENSIONS, SPARK_CATALOG)
    settings = {"spark.jars": ",".join(jars_of(spark)), **{name: spark.conf.get(name) for name in names}}
    settings |= {f"spark.hadoop.{name}": value for name, value in store.settings.items()}
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", f"{place}/in", "--out", f"{place}/out"]
    command += ["--output-format", kind, "--master", "local[1]", "--driver-memory", "700m", "--quiet"]
    command += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    store.close_gate(1, COMMITTED[kind])
    with subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_until(lambda: store.gate_is_closed or process.poll() is not None, "the commit of the table frames")
            assert process.poll() is None, process.communicate()
        finally:
            kill_all_of(process)
    store.open_gate()
