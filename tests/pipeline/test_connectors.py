"""A Spark without the connector of a store says which package brings it, before it has read or written anything."""

from __future__ import annotations

import pytest

from kafka_rack.pipeline.spark.storage_settings import known_to_spark


@pytest.mark.parametrize(
    ("url", "package", "how"),
    [
        ("s3a://trace/x", "org.apache.hadoop:hadoop-aws:3.4.1", "--packages, or spark.jars, brings it"),
        (
            "abfss://trace@us.dfs.core.windows.net/x",
            "org.apache.hadoop:hadoop-azure:3.4.1",
            "--packages, or spark.jars, brings it",
        ),
        ("gs://trace/x", "com.google.cloud.bigdataoss:gcs-connector:hadoop3-", "spark.jars with its jar named shaded"),
        ("oss://trace/x", "its connector for Hadoop", "--packages, or spark.jars, brings it"),
    ],
)
def test_a_connector_that_is_missing_is_named(spark, url, package, how):
    with pytest.raises(OSError, match="Spark itself needs") as told:
        known_to_spark(spark, url)
    assert str(told.value).startswith(f"{url}: Spark itself needs {package}")
    assert how in str(told.value)


def test_what_needs_no_connector_is_taken(spark, tmp_path):
    for given in ("hdfs://127.0.0.1:1/x", str(tmp_path), f"file://{tmp_path}"):
        assert known_to_spark(spark, given) == given
