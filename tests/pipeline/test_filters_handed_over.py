"""What a `where` asks of captures: Spark 4.0 keeps it to itself, newer ones hand it over; rows are the same in both."""

from __future__ import annotations

import gzip

import pytest
from pyspark.sql import functions as f

from kafka_rack.pipeline.spark.pushdown import HANDED_OVER
from tests.fixture_data import CAPTURES

BLOCK_BYTES = "65536"


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    """One that is cut into several blocks, of format 1: what each holds is known when it is planned."""
    file = tmp_path_factory.mktemp("capture") / "java41-range.jsonl"
    file.write_bytes(gzip.decompress((CAPTURES / f"{file.name}.gz").read_bytes()))
    return file


def read(spark, capture, table):
    return spark.read.format("kafka-wire").option("table", table).option("blockBytes", BLOCK_BYTES).load(str(capture))


def test_blocks_outside_of_the_times_asked_for_are_left_out_where_spark_hands_filters_over(spark, capture):
    every = read(spark, capture, "frames")
    first, last = every.agg(f.min("ts"), f.max("ts")).first()
    late = first + (last - first) * 0.9
    asked = every.where(f.col("ts") >= late)
    blocks, wanted = every.rdd.getNumPartitions(), asked.rdd.getNumPartitions()
    assert blocks > 3
    assert (wanted < blocks / 2) if HANDED_OVER else (wanted == blocks)
    assert asked.count() == sum(row.ts >= late for row in every.select("ts").collect()) > 0


@pytest.mark.parametrize("asked", ["api in ('Fetch', 'Metadata') and client_id is not null", "api = 'none'"])
def test_rows_are_those_of_a_filter_behind_the_source(spark, capture, asked):
    behind = read(spark, capture, "calls").cache()
    try:
        wanted = sorted(map(repr, behind.where(asked).collect()))
        assert bool(wanted) == ("none" not in asked)
    finally:
        behind.unpersist()
    assert sorted(map(repr, read(spark, capture, "calls").where(asked).collect())) == wanted
