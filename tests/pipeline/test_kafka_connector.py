"""Spark's own Kafka source and sink against `kafka-rack serve`; what passed is counted by this package's tables."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.errors import StreamingQueryException

from kafka_rack.pipeline.fuzz.job import fuzz
from kafka_rack.pipeline.fuzz.plan import FuzzPlan, chosen
from kafka_rack.pipeline.spark.kafka_messages import as_messages, from_messages
from kafka_rack.wire_tables.reading import decode_paths
from tests.fixture_data import CAPTURES, capture_summary
from tests.pipeline.serving import kafka_rack_serve

RECORDS = 3000
TOPICS = ("plain", "zstd", "versions", "source", "copy", "twice", "once", "live", "fetches", "memberships")


@pytest.fixture(scope="module")
def kafka(spark, tmp_path_factory):
    """A cluster that writes a capture, for the whole module."""
    assert spark.without_connector == ""
    folder = tmp_path_factory.mktemp("trace")
    topics = [word for topic in TOPICS for word in ("--topic", f"{topic}:6:3")]
    with kafka_rack_serve(*topics, "--capture", str(folder / "trace.jsonl")) as served:
        served.capture = folder
        yield served


def write(spark, kafka, topic, numbers, **options):
    """Records ``key-N`` of these numbers, each with the value ``value-N``."""
    rows = spark.createDataFrame(
        [(f"key-{number}", f"value-{number}") for number in numbers], "key string, value string"
    )
    sink = rows.write.format("kafka").option("kafka.bootstrap.servers", kafka.servers).option("topic", topic)
    sink.options(**options).save()


def source(reader, kafka, topic, **options):
    """Spark's source over a topic, from its beginning, as a client in rack b."""
    found = reader.format("kafka").option("kafka.bootstrap.servers", kafka.servers).option("subscribe", topic)
    return found.option("startingOffsets", "earliest").option("kafka.client.rack", "b").options(**options).load()


def keys(rows):
    """How often each key came."""
    return Counter(row.key for row in rows.selectExpr("cast(key as string) as key").collect())


def each_once(count):
    return Counter(f"key-{number}" for number in range(count))


@pytest.mark.parametrize(("topic", "codec"), [("plain", "none"), ("zstd", "zstd")])
def test_all_records_are_read_in_the_readers_rack(spark, kafka, topic, codec):
    """Counted by rack from the capture: the leaders elsewhere answer with where to go, and no bytes."""
    write(spark, kafka, topic, range(RECORDS), **({"kafka.compression.type": codec} if codec != "none" else {}))
    rows = source(spark.read, kafka, topic).selectExpr("cast(key as string) k", "cast(value as string) v").collect()
    assert Counter((row.k, row.v) for row in rows) == Counter((f"key-{n}", f"value-{n}") for n in range(RECORDS))
    fetches = spark.read.format("kafka-wire").option("table", "fetches").load(str(kafka.capture))
    bytes_by_rack = Counter()
    for row in fetches.where(f"topic = '{topic}' and client_rack = 'b'").collect():
        assert row.redirected == (row.broker_rack != "b")
        bytes_by_rack[row.broker_rack] += row.record_bytes
    batches = spark.read.format("kafka-wire").option("table", "batches").option("api", "Produce")
    sent = batches.load(str(kafka.capture)).where(f"topic = '{topic}'").collect()
    assert {row.codec for row in sent} == {codec}
    assert sum(row.records for row in sent) == RECORDS
    assert bytes_by_rack == {"a": 0, "b": sum(row.bytes for row in sent), "c": 0}


def test_spark_negotiates_the_versions_that_it_does_with_kafka(spark, kafka):
    write(spark, kafka, "versions", range(10))
    assert source(spark.read, kafka, "versions").count() == 10
    known = {(row["api"], row["version"]) for row in capture_summary("spark40-kafka")["counts"]}
    frames = decode_paths([str(kafka.capture)], only=["frames", "problems"])
    found = frames.as_dicts("frames")
    assert {(row["api_name"], row["api_version"]) for row in found} == known
    assert [row for row in found if row["error"]] == frames.as_dicts("problems") == []


def run_now(writer, checkpoint):
    """Run a stream over what is there; gives how many records each of its batches had."""
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def test_a_copying_stream_goes_on_at_its_checkpoint(spark, kafka, tmp_path):
    def copy():
        rows = source(spark.readStream, kafka, "source", maxOffsetsPerTrigger=1000).select("key", "value")
        sink = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", kafka.servers)
        return run_now(sink.option("topic", "copy"), tmp_path)

    write(spark, kafka, "source", range(2500))
    first = copy()
    assert len(first) > 2
    assert sum(first) == 2500
    write(spark, kafka, "source", range(2500, RECORDS))
    assert sum(copy()) == 500
    assert keys(source(spark.read, kafka, "copy")) == each_once(RECORDS)


def test_a_batch_that_is_written_twice_is_told_by_its_source_offsets(spark, kafka, tmp_path):
    """Spark's sink writes at least once: a stream that dies behind a write writes that batch again."""
    write(spark, kafka, "twice", range(RECORDS))
    dies = [True]

    class Killed(Exception):
        pass

    def put(batch, number):
        rows = batch.selectExpr("key", "concat_ws('-', partition, offset) as value")
        rows.write.format("kafka").option("kafka.bootstrap.servers", kafka.servers).option("topic", "once").save()
        if number == 1 and dies:
            dies.clear()
            raise Killed

    def run():
        run_now(
            source(spark.readStream, kafka, "twice", maxOffsetsPerTrigger=1000).writeStream.foreachBatch(put), tmp_path
        )

    with pytest.raises(StreamingQueryException, match="Killed"):
        run()
    run()
    found = source(spark.read, kafka, "once")
    came = keys(found)
    assert came.keys() == each_once(RECORDS).keys()
    assert 500 < sum(count == 2 for count in came.values()) <= 1000
    assert keys(found.dropDuplicates(["key", "value"])) == each_once(RECORDS)


def test_a_stream_reads_on_while_its_rack_is_down(spark, kafka):
    rows = source(spark.readStream, kafka, "live").groupBy("key").count()
    query = rows.writeStream.format("memory").queryName("live").outputMode("complete").start()
    try:
        for third, command in enumerate(("stop", "start", None)):
            write(spark, kafka, "live", range(third * 1000, third * 1000 + 1000))
            query.processAllAvailable()
            if command is not None:
                kafka.post(f"/racks/b/{command}")
    finally:
        query.stop()
    counts = spark.sql("select cast(key as string) as key, count from live").collect()
    assert {row.key: row["count"] for row in counts} == each_once(RECORDS)
    read = Counter()
    for row in decode_paths([str(kafka.capture)], only=["fetches"]).as_dicts("fetches"):
        if row["topic"] == "live":
            read[row["broker_rack"] == "b"] += row["records"]
    assert read == {True: 2000, False: 1000}


@pytest.mark.parametrize("table", ["fetches", "memberships"])
def test_rows_of_the_tables_pass_through_kafka_unchanged(spark, kafka, tmp_path, table):
    capture = str(CAPTURES / "aiokafka.jsonl.gz")
    wire = spark.readStream.format("kafka-wire").option("table", table).load(capture)
    sink = as_messages(wire, table).writeStream.format("kafka").option("topic", table)
    run_now(sink.option("kafka.bootstrap.servers", kafka.servers), tmp_path / "out")
    rows = from_messages(source(spark.readStream, kafka, table), table)
    run_now(rows.writeStream.format("memory").queryName(table), tmp_path / "in")
    there = spark.read.format("kafka-wire").option("table", table).load(capture)
    assert sorted(spark.table(table).collect(), key=repr) == sorted(there.collect(), key=repr)
    assert spark.table(table).count() == len(decode_paths([capture]).as_dicts(table))


def test_kafkas_classes_in_sparks_jvm_write_the_same_bytes(spark):
    """The connector brings Kafka's classes."""
    assert spark.without_connector == ""
    plan = FuzzPlan(chosen(["MetadataResponse", "DescribeQuorumRequest"], "0-1"), 40, 2)
    run = fuzz(spark, plan, ["java"], tasks=2)
    assert run.kafka is not None
    assert run.kafka.startswith("3.9.")
    assert run.results.failures == {}
    assert run.results.tallies["java"].agreed == 40 * plan.message_versions
    assert fuzz(spark, plan, ["java"], tasks=1) == run  # a session that has the classes already
