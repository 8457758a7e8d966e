"""Captures read from S3, and tables and results written there, are those of local files: Spark's connector does it."""

from __future__ import annotations

import json

from kafka_rack.cli import main
from tests.object_store.conftest import BUCKET
from tests.pipeline.steps import comparable, stored_tables, tables_in_one

ON_S3 = f"s3a://{BUCKET}/captures"


def test_decoded_tables_are_those_of_local_captures(spark, captures, store, tmp_path):
    out = f"s3a://{BUCKET}/tables"
    for _ in range(2):
        assert main(["pipeline", "decode", ON_S3, "--out", out, "--quiet"]) == 0
    found = stored_tables(store.copy_to("tables", tmp_path))
    assert comparable(found) == comparable(tables_in_one([captures]))


def test_locality_is_that_of_local_files(spark, captures, store, capsys, tmp_path):
    for given, out in ((str(captures), str(tmp_path)), (ON_S3, f"s3a://{BUCKET}/locality")):
        assert main(["pipeline", "locality", given, "--out", out, "--quiet"]) == 0
    local, remote = (
        json.loads((tmp_path / "locality.json").read_text()),
        json.loads(store.get("locality/locality.json")),
    )
    assert {**local, "out": ""} == {**remote, "out": ""}
