"""A client of Spark Connect: what of captures it can read, and what the jobs say to it. Run as a script."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(address: str, capture: str, out: str) -> None:
    SparkSession.builder.remote(address).getOrCreate()
    from kafka_rack.pipeline.decode.job import decode
    from kafka_rack.pipeline.spark.session import SparkMissing, spark_session

    spark = spark_session()
    calls = spark.read.format("kafka-wire").option("table", "calls").load(capture)
    found = {row["api_name"]: row["count"] for row in calls.groupBy("api_name").count().collect()}
    fetches = calls.where("api = 'Fetch'").count()
    try:
        decode(spark, [capture], Path(out))
        refused = None
    except SparkMissing as error:
        refused = str(error)
    sys.stdout.write(json.dumps({"calls": found, "fetches": fetches, "refused": refused}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
