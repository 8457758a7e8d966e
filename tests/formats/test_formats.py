"""Delta and Iceberg hold what one process makes, and running again replaces a capture's rows."""

from __future__ import annotations

import pytest

from kafka_rack.pipeline import decode as decoding
from kafka_rack.pipeline.decode import decode
from kafka_rack.wire_tables.tables import TABLES
from tests.pipeline.steps import comparable, tables_in_one

SOME = ("frames", "fetches", "memberships", "problems")
"""A table of each shape: with nested lists, without rows of some captures, without a time."""


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_format_holds_what_one_process_makes_and_replaces_captures(spark, captures, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(decoding, "TABLES", {name: TABLES[name] for name in SOME})
    out = tmp_path / "tables"
    decode(spark, [str(captures)], str(out), output_format=kind)
    decode(spark, [str(captures / "kcat.jsonl")], str(out), output_format=kind)
    wanted = tables_in_one([captures])
    found = {}
    for name in SOME:
        rows = spark.read.format(kind).load(f"file://{out / name}")
        found[name] = rows.select(*TABLES[name].names, "api").toArrow().to_pylist()
    problems = [[(row["capture"], row["offset"]) for row in one.pop("problems")] for one in (found, wanted)]
    assert sorted(problems[0]) == sorted(problems[1])
    assert comparable(found) == comparable({name: wanted[name] for name in found})
