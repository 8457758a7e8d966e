"""What a `where` asks of captures: Spark 4.0 keeps it to itself, newer ones hand it over; rows are the same in both."""

from __future__ import annotations

import gzip

import pytest

from tests.fixture_data import CAPTURES


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    file = tmp_path_factory.mktemp("capture") / "java41-range.jsonl"
    file.write_bytes(gzip.decompress((CAPTURES / f"{file.name}.gz").read_bytes()))
    return file


def read(spark, capture, table):
    return spark.read.format("kafka-wire").option("table", table).load(str(capture))


@pytest.mark.parametrize("asked", ["api in ('Fetch', 'Metadata') and client_id is not null", "api = 'none'"])
def test_rows_are_those_of_a_filter_behind_the_source(spark, capture, asked):
    behind = read(spark, capture, "calls").cache()
    try:
        wanted = sorted(map(repr, behind.where(asked).collect()))
        assert bool(wanted) == ("none" not in asked)
    finally:
        behind.unpersist()
    assert sorted(map(repr, read(spark, capture, "calls").where(asked).collect())) == wanted
