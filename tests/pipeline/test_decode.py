"""The jobs on Spark: however the input is cut, read or interrupted, the tables are the same as without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.output import merging
from kafka_rack.pipeline.output.formats import FormatMissing, missing
from kafka_rack.pipeline.output.writing import SchemaMismatch
from kafka_rack.pipeline.spark.settings import AVAILABLE_NOW
from kafka_rack.wire_tables.reading import decode_paths
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES
from tests.on_spark import complaints
from tests.pipeline.plain import plain_tables, tables_of


@pytest.fixture(scope="session")
def expected(captures, tmp_path_factory):
    return plain_tables(captures, tmp_path_factory.mktemp("plain"))


def test_plain_python_and_parquet_agree(captures, expected):
    rows = decode_paths([str(captures)])
    assert {table: len(found) for table, found in expected.items()} == {
        table: sum(1 for _ in rows.of(table)) for table in TABLES
    }
    assert len(expected["problems"]) == 2


@pytest.mark.parametrize("partitions", [5])
def test_tables_do_not_depend_on_partitions(spark, captures, expected, tmp_path, partitions, progress):
    summary = job.decode(spark, [str(captures)], tmp_path, partitions=partitions)
    assert tables_of(tmp_path, captures) == expected
    assert summary.tables == {table: len(rows) for table, rows in expected.items() if rows}
    step = progress.steps["decoding"]
    assert step.done == {**step.totals, "frames": len(expected["frames"])}
    assert step.totals == {"blocks": summary.blocks, "bytes": sum(file.stat().st_size for file in captures.iterdir())}


def test_reading_again_replaces_what_was_read_and_nothing_else(spark, captures, expected, tmp_path):
    job.decode(spark, [str(captures)], tmp_path, partitions=6)
    job.decode(spark, [str(captures / "java41-range.jsonl")], tmp_path, partitions=2)
    assert tables_of(tmp_path, captures) == expected
    assert not list(tmp_path.rglob("_temporary"))


def test_a_stream_that_is_killed_and_started_again_gives_the_same_tables(
    spark, captures, expected, tmp_path, monkeypatch
):
    """The first stream dies after it has put a batch in place and before Spark notes that it is done."""
    folder, out, checkpoint = tmp_path / "growing", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    whole = {path.name: path.read_bytes() for path in sorted(captures.iterdir())}

    def grow(share: float) -> None:
        for name, content in whole.items():
            if name.endswith(".jsonl"):
                (folder / name).write_bytes(content[: int(len(content) * share)])
            elif share > 0.5:
                (folder / name).write_bytes(content)

    monkeypatch.setattr(job, "EVERY_BATCHES", 1)
    monkeypatch.setattr(merging, "MIN_FILES", 2)
    merged = []
    change_of = merging.change_of
    monkeypatch.setattr(merging, "change_of", lambda merges: merged.extend(merges) or change_of(merges))

    class Killed(Exception):
        pass

    def die(batch, summary):
        raise Killed

    def run(**kwargs):
        job.decode_stream(spark, [str(folder)], out, checkpoint, available_now=True, **kwargs).awaitTermination()

    grow(0.3)
    with pytest.raises(Exception, match="Killed"):
        run(on_batch=die)
    grow(0.7)
    run()
    grow(1)
    run()
    (folder / "torn.jsonl").write_bytes(whole["torn.jsonl"] + b"\n")  # a stream waits for a line's end
    run()
    found = tables_of(out, folder)
    assert {name: rows for name, rows in found.items() if name != "problems"} == {
        name: rows for name, rows in expected.items() if name != "problems"
    }
    assert len(found["problems"]) == len(expected["problems"])
    assert merged


def test_a_stream_that_takes_what_is_there_takes_all_of_it_in_sessions_of_others(spark, captures, tmp_path):
    """Spark by itself would take the batch that an earlier stream had begun, and nothing that came after it."""
    folder, out, checkpoint = tmp_path / "growing", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "first.jsonl").write_bytes((captures / "zk39-ibp0101.jsonl").read_bytes())

    def run(**kwargs):
        job.decode_stream(spark, [str(folder)], out, checkpoint, available_now=True, **kwargs).awaitTermination()

    def die(batch, summary):
        raise InterruptedError("in the first batch")

    set_by_us = spark.conf.get(AVAILABLE_NOW)
    spark.conf.set(AVAILABLE_NOW, "false")
    try:
        with pytest.raises(Exception, match="in the first batch"):
            run(on_batch=die)
        (folder / "second.jsonl").write_bytes((captures / "java41-range.jsonl").read_bytes())
        run()
        assert spark.conf.get(AVAILABLE_NOW) == "false"
    finally:
        spark.conf.set(AVAILABLE_NOW, set_by_us)
    assert tables_of(out, folder) == plain_tables(folder, tmp_path / "plain")


def in_microseconds(row):
    """A row of Spark's with its times as plain Python has them."""
    return {
        name: round(value.timestamp() * 1e6) if isinstance(value, datetime) else value for name, value in row.items()
    }


def test_the_source_gives_each_table_and_takes_filters(spark, captures):
    def load(table, **options):
        reader = spark.read.format("kafka-wire").option("table", table)
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.load(str(captures))

    rows = decode_paths([str(captures)])
    calls = load("calls", api="Fetch,Produce", client="live-writer", numPartitions="3").collect()
    wanted = [
        row for row in rows.as_dicts("calls") if row["client_id"] == "live-writer" and row["api_name"] == "Produce"
    ]
    assert sorted(row.frame for row in calls) == sorted(row["frame"] for row in wanted)
    first = min(row["ts"] for row in rows.as_dicts("frames"))
    assert load("frames", until=str(first + 1)).count() == 1
    for table in TABLES:
        loaded = load(table)
        read = sorted(repr(sorted(in_microseconds(row.asDict(recursive=True)).items())) for row in loaded.collect())
        plain = sorted(repr(sorted((name, row[name]) for name in loaded.columns)) for row in rows.as_dicts(table))
        assert read == plain, table
        assert read, table


def test_each_option_of_the_source_does_what_the_manual_says(spark, captures):
    frames = decode_paths([str(captures)]).as_dicts("frames")
    ordered = sorted(row["ts"] for row in frames)
    early, late = ordered[len(ordered) // 3], ordered[-len(ordered) // 3]

    def load(paths=str(captures), **options):
        return spark.read.format("kafka-wire").options(**options).load(paths)

    def count(wanted):
        return sum(1 for row in frames if wanted(row))

    since = datetime.fromtimestamp(early / 1e6, UTC).isoformat()
    assert load(since=since, until=str(late)).count() == count(lambda row: early <= row["ts"] < late)
    clients = {"live-writer", "aio-admin"}
    assert load(client="live-writer, aio-admin").count() == count(lambda row: row["client_id"] in clients)
    packets = str(captures / "aiokafka.pcap")
    assert load(packets, ports="9999").count() == 0
    said = "7@z=:22100,8=127.0.0.1:22101"
    rows = load(packets, ports="22100,22101,22102", brokers=said).select("broker", "broker_rack").distinct().collect()
    assert {tuple(row) for row in rows} == {(7, "z"), (8, None), (2, "az-c")}
    tasks = load(numPartitions="3")
    assert (tasks.count(), tasks.rdd.getNumPartitions()) == (len(frames), 3)
    assert load().rdd.getNumPartitions() == len([*captures.iterdir()])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "frame"}, "table 'frame', but there are frames, calls"),
        ({"api": "fetch"}, "did you mean Fetch"),
        ({"until": "tomorrow"}, "until: expected ISO 8601"),
        ({"numPartitions": "many"}, "numPartitions: expected a number"),
        ({"brokers": "az-a=1"}, "brokers: expected ID"),
        ({"path": ""}, "no path: load"),
        ({"path": "/nowhere/at/all"}, "/nowhere/at/all: no such file or folder"),
    ],
)
def test_wrong_options_are_told_with_what_would_be_right(spark, captures, options, said):
    asked = {"path": str(captures), **options}
    with pytest.raises(Exception, match=said):
        spark.read.format("kafka-wire").options(**asked).load().count()


def test_a_stream_takes_the_sources_options(spark, captures):
    reader = spark.readStream.format("kafka-wire").option("table", "calls").option("api", "Produce")
    stream = reader.option("client", "live-writer").load(str(captures))
    query = stream.writeStream.format("memory").queryName("produced").trigger(availableNow=True).start()
    query.awaitTermination()
    wanted = [
        row["frame"]
        for row in decode_paths([str(captures)]).as_dicts("calls")
        if (row["client_id"], row["api_name"]) == ("live-writer", "Produce")
    ]
    assert sorted(row.frame for row in spark.table("produced").collect()) == sorted(wanted)


def test_captures_and_days_are_sparks_partitions_and_names_like_numbers_stay_text(spark, captures, tmp_path):
    names = {"007", "2026-11-23", "1e5", "java41-range"}
    (tmp_path / "in").mkdir()
    for name in names:
        (tmp_path / "in" / f"{name}.jsonl").write_bytes((captures / "java41-range.jsonl").read_bytes())
    job.decode(spark, [str(tmp_path / "in")], tmp_path / "out")
    frames = spark.read.parquet(str(tmp_path / "out" / "frames"))
    assert {row.capture for row in frames.select("capture").distinct().collect()} == names
    assert dict(frames.dtypes)["day"] == "date"
    assert frames.where("day <> to_date(ts)").count() == 0
    assert frames.where("capture = '007' and api = 'Fetch'").count() == frames.where("api = 'Fetch'").count() / 4 > 0
    assert frames.where("capture = '007'").rdd.getNumPartitions() == 1


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_format_that_spark_does_not_know_is_told_with_its_package(spark, captures, tmp_path, kind):
    with pytest.raises(FormatMissing) as told:
        job.decode(spark, [str(captures)], tmp_path / "out", output_format=kind)
    assert str(told.value) == missing(kind, spark.version, "2.13")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_schema_version_is_refused(spark, captures, tmp_path):
    (tmp_path / "schema.json").write_text('{"schema_version": 999}')
    with pytest.raises(SchemaMismatch, match="schema version 999"):
        job.decode(spark, [str(captures)], tmp_path)


def test_the_command_decodes_and_sums_up(tmp_path):
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", "--master", "local[1]", "--format", "json"]
    capture = CAPTURES / "aiokafka.jsonl.gz"
    done = subprocess.run(
        [*command, str(capture), "--out", str(tmp_path), "--quiet"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert complaints(done.stderr) == ""
    summary = json.loads(done.stdout)
    assert summary["tables"]["frames"] == 352
    assert summary["problems"] == 0
