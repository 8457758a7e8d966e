"""Spark's own Kafka sink and source: written as a batch, read as a stream."""

from __future__ import annotations

import queue
import tempfile
from functools import cached_property
from typing import Any

import pyspark
from pyspark.sql import DataFrame, Row, SparkSession

from kafka_rack.pipeline.session import spark_session
from tests.interop.fetched import FOLDER, one_at_a_time
from tests.interop.matrix.actors.orders import Actor, given, serve, told

KAFKA_CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
SCHEMA = "partition int, key binary, value binary, headers array<struct<key string, value binary>>"


class SparkConsumer:
    """A streaming query; it keeps its offsets in a checkpoint, and has no group."""

    def __init__(self, source: DataFrame) -> None:
        self.found: queue.Queue[str] = queue.Queue()
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        writer = source.writeStream.foreachBatch(self._keep).option("checkpointLocation", self.folder.name)
        self.query = writer.trigger(processingTime="100 milliseconds").start()

    def _keep(self, rows: DataFrame, _: int) -> None:
        for row in rows.select("partition", "offset", "key", "value", "headers").collect():
            pairs = [(one["key"], one["value"]) for one in row["headers"] or ()]
            self.found.put(told(row["partition"], row["offset"], row["key"], row["value"], pairs))

    def poll(self, timeout_s: float) -> list[str]:
        failed = self.query.exception()
        if failed is not None:
            raise RuntimeError(str(failed))
        try:
            return [self.found.get(timeout=timeout_s)]
        except queue.Empty:
            return []

    def partitions(self) -> int:
        return 0

    def commit(self) -> None:
        pass

    def close(self) -> None:
        self.query.stop()
        self.folder.cleanup()


class Spark(Actor):
    @cached_property
    def spark(self) -> SparkSession:
        jars = {"spark.jars.ivy": str(FOLDER / "ivy")}
        with one_at_a_time(FOLDER / "ivy"):  # two that fetch into one folder disturb each other
            return spark_session(
                "local[1]", driver_memory="768m", log_level="OFF", packages=[KAFKA_CONNECTOR], settings=jars
            )

    def source(self, reader: Any, topic: str, **options: str) -> DataFrame:
        ours = {"kafka.bootstrap.servers": self.address, "subscribe": topic}
        ours |= {"startingOffsets": "earliest", "includeHeaders": "true"}
        return reader.format("kafka").options(**ours, **options).load()

    def produce(self, topic: str, compression: str, *records: str) -> str:
        texts = [given(text) for text in records]
        rows = [Row(one.partition, one.key, one.value, [Row(*pair) for pair in one.headers] or None) for one in texts]
        sink = self.spark.createDataFrame(rows, SCHEMA).write.format("kafka").option("topic", topic)
        sink = sink.option("kafka.bootstrap.servers", self.address).option("includeHeaders", "true")
        sink = sink.option("kafka.client.id", self.client_id).option("kafka.compression.type", compression)
        sink.option("kafka.linger.ms", "5").save()
        written = (
            self.source(self.spark.read, topic, **{"kafka.client.id": "places"})
            .select("partition", "offset", "key", "value")
            .collect()
        )
        places = {(bytes(row["key"]), bytes(row["value"])): f"{row['partition']}/{row['offset']}" for row in written}
        return " ".join(places[one.key, one.value] for one in texts)

    def consumer(self, topic: str, group: str, settings: dict[str, str]) -> Any:
        del group
        rack = {"kafka.client.rack": settings["rack"]} if "rack" in settings else {}
        client_id = {"kafka.client.id": self.client_id}
        return SparkConsumer(self.source(self.spark.readStream, topic, **rack, **client_id))


if __name__ == "__main__":
    serve(Spark())
