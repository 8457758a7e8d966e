"""Tables as Delta and Iceberg on S3: written by Spark, and read by locality."""

from __future__ import annotations

from uuid import uuid4

import pytest

from kafka_rack.locality.settings import Settings
from kafka_rack.locality.tables import TABLES as READ_TABLES
from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.locality.job import measure
from kafka_rack.pipeline.output import formats
from kafka_rack.pipeline.output.formats import table_of
from kafka_rack.storage import location
from kafka_rack.wire_tables.stored import DELTA, ICEBERG
from kafka_rack.wire_tables.tables import TABLES
from tests.object_store.conftest import BUCKET
from tests.object_store.places import HALF
from tests.object_store.test_killed import key_of


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
