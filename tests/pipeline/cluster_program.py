"""Decodes a folder on a cluster of two workers that get this package as a zip; prints what they did."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def where(_: int) -> str:
    """Where a worker has the package from."""
    import kafka_rack

    return str(kafka_rack.__file__)


def main(captures: str, out: str, zip_file: str) -> None:
    from kafka_rack.pipeline.job import decode
    from kafka_rack.pipeline.session import spark_session
    from kafka_rack.pipeline.shipping import package_zip

    spark = spark_session("local-cluster[2,1,700]", driver_memory="700m", settings={"spark.executor.memory": "700m"})
    spark.sparkContext.addPyFile(package_zip(zip_file))
    summary = decode(spark, [captures], Path(out), partitions=4)
    homes = sorted(set(spark.sparkContext.parallelize(range(4), 4).map(where).collect()))
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    sys.stdout.write(json.dumps({"tables": summary.tables, "homes": homes, "workers": len(executors) - 1}) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
