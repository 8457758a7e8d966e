"""The job ``decode`` on Spark: however the input is cut or read, the tables are those of one process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_rack.pipeline.decode import decode, decode_stream, decoded_tables
from kafka_rack.pipeline.route import find_input
from kafka_rack.pipeline.tables import PACKAGES, FormatMissing
from tests.fixture_data import CAPTURES
from tests.on_spark import complaints, unpacked
from tests.pipeline.packet_files import rotate
from tests.pipeline.steps import comparable, stored_tables, tables_in_one

ROOT = Path(__file__).resolve().parents[2]
PARTS = 4


@pytest.fixture(scope="session")
def expected(captures):
    return comparable(tables_in_one([captures]))


@pytest.fixture
def small_parts(spark):
    """Spark reads a file of lines in parts of 64 KiB."""
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", str(1 << 16))
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def without_problems(tables):
    return {name: rows for name, rows in tables.items() if name != "problems"}


@pytest.mark.usefixtures("small_parts")
def test_tables_do_not_depend_on_parts_and_tasks(spark, captures, expected, tmp_path):
    summary = decode(spark, [str(captures)], str(tmp_path), tasks=5)
    found = stored_tables(tmp_path)
    assert without_problems(comparable(found)) == without_problems(expected)
    places = [(row["capture"], row["offset"]) for row in tables_in_one([captures])["problems"]]
    assert sorted((row["capture"], row["offset"]) for row in found["problems"]) == sorted(places)
    assert summary.tables == {table: len(rows) for table, rows in expected.items() if rows}
    answered = [row for row in found["frames"] if row["direction"] == "response" and row["api_key"] is not None]
    assert summary.unpaired == len(found["frames"]) - 2 * len(answered)


def test_reading_again_replaces_what_was_read_and_nothing_else(spark, captures, tmp_path):
    decode(spark, [str(captures)], str(tmp_path))
    before = comparable(stored_tables(tmp_path))
    decode(spark, [str(captures / "java41-range.jsonl")], str(tmp_path))
    assert comparable(stored_tables(tmp_path)) == before


def test_a_capture_cut_into_files_gives_the_rows_of_the_whole(spark, tmp_path):
    from tests.unit.kafka_rack.pipeline.test_route import NUMBERS

    (tmp_path / "in").mkdir()
    rotate(tmp_path / "in", "java41-range.pcap.gz", PARTS)
    (tmp_path / "whole.pcap").write_bytes(unpacked("java41-range.pcap"))
    summary = decode(spark, [str(tmp_path / "in")], str(tmp_path / "out"))
    whole = comparable(tables_in_one([tmp_path / "whole.pcap"]), NUMBERS)
    assert comparable(stored_tables(tmp_path / "out"), NUMBERS) == whole
    assert len(summary.files) == PARTS


def test_a_stream_reads_each_new_file_once_and_counts_what_it_cannot_pair(spark, tmp_path):
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    lines = unpacked("kafka-python.jsonl").splitlines(keepends=True)
    told = []

    def run():
        how = {"available_now": True, "on_batch": lambda _, summary: told.append(summary)}
        decode_stream(spark, [str(folder)], str(out), str(checkpoint), **how).awaitTermination()

    (folder / "first.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    run()
    (folder / "second.jsonl").write_bytes(b"".join(lines[len(lines) // 2 :]))
    run()
    run()
    wanted = tables_in_one([folder])
    assert comparable(stored_tables(out)) == comparable(wanted)
    assert [len(summary.files) for summary in told] == [1, 1]
    halves = [row for row in wanted["frames"] if row["error"] is not None and row["error"].startswith("no request")]
    assert halves
    assert sum(summary.unpaired for summary in told) >= 2 * len(halves)


def test_tables_are_data_frames(spark, captures):
    with decoded_tables(spark, find_input(spark, [str(captures / "java41-range.jsonl")])) as tables:
        assert tables["calls"].where("api_name = 'Fetch'").count() > 0
        assert set(tables["frames"].columns) >= {"capture", "ts", "api"}


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_format_that_spark_does_not_know_is_told_with_its_package(spark, captures, tmp_path, kind):
    with pytest.raises(FormatMissing, match=f"know {kind}: add --spark-conf spark.jars.packages={PACKAGES[kind]}"):
        decode(spark, [str(captures / "java41-range.jsonl")], str(tmp_path / "out"), output_format=kind)


def test_the_command_decodes_and_sums_up(tmp_path):
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", "--master", "local[1]", "--format", "json"]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "other.jsonl").write_text('{"no": "capture"}\n')
    (tmp_path / "in" / "aiokafka.jsonl").write_bytes(unpacked("aiokafka.jsonl"))
    places = [str(tmp_path / "in"), str(CAPTURES / "kcat.jsonl.gz"), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *places], capture_output=True, text=True, check=True, cwd=ROOT)
    assert complaints(done.stderr).startswith("kafka-rack pipeline decode: 3 files, ")
    summary = json.loads(done.stdout)
    assert summary["apis"]["Produce"]["frames"] > 0
    assert summary["tables"]["frames"] > 352
    assert summary["problems"] == 0


def test_an_input_without_a_frame_fails_and_the_others_are_in_the_tables(tmp_path):
    (tmp_path / "none.pcap").write_bytes(b"no packets")
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", "--master", "local[1]", "--quiet"]
    places = [str(tmp_path / "none.pcap"), str(CAPTURES / "kcat.jsonl.gz"), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *places], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, complaints(done.stderr)) == (
        1,
        f"kafka-rack pipeline decode: {tmp_path / 'none.pcap'}: no frame could be read\n",
    )
    (problem,) = stored_tables(tmp_path / "out")["problems"]
    assert problem["file"] == str(tmp_path / "none.pcap")
