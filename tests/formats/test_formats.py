"""Delta and Iceberg hold what Parquet holds, replace a capture in one step, and outlive whoever dies over them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_rack.locality.settings import Settings
from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.decode.job import DecodeSummary, write_blocks
from kafka_rack.pipeline.locality.job import measure
from kafka_rack.pipeline.output import formats
from kafka_rack.pipeline.output.formats import ADDED, SPARK_CATALOG, SPARK_EXTENSIONS, name_of, table_of
from kafka_rack.pipeline.output.writing import SchemaMismatch, prepare
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables import read
from kafka_rack.wire_tables.stored import DELTA, ICEBERG
from kafka_rack.wire_tables.tables import SCHEMA_VERSION, TABLES
from tests.formats.sessions import jars_of
from tests.pipeline.line_blocks import line_blocks
from tests.progress import wait_until

ROOT = Path(__file__).resolve().parents[2]
KINDS = (DELTA, ICEBERG)
SOME = ("frames", "fetches", "memberships", "problems")
"""A table of each shape: with nested lists, without rows of some captures, without a time."""


def rows_of(spark, out, kind, table, captures):
    """A table's rows as Spark reads them, times as numbers, as text."""
    from pyspark.sql import functions as sql

    rows = table_of(spark, out, kind, table)
    if "ts" in rows.columns:
        rows = rows.withColumn("ts", sql.unix_micros("ts"))
    return sorted(repr(sorted(row.asDict(recursive=True).items())).replace(str(captures), "") for row in rows.collect())


def wanted_of(captures, table):
    """The same of captures, in plain Python."""
    rows = read(captures, [table])[table]
    if "ts" in rows.column_names:
        rows = rows.set_column(rows.column_names.index("ts"), "ts", rows["ts"].cast("int64"))
    return sorted(repr(sorted(row.items())).replace(str(captures), "") for row in rows.to_pylist())


@pytest.fixture
def some(monkeypatch):
    """Only ``SOME`` of the tables are written: each costs a second or more, and they are written alike."""
    monkeypatch.setattr(formats, "TABLES", {name: TABLES[name] for name in SOME})


@pytest.fixture
def mine(captures, tmp_path):
    """The captures in a folder that a test may change."""
    folder = tmp_path / "captures"
    folder.mkdir()
    for path in captures.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def shorten(path):
    """A capture with fewer frames than it had."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_those_of_the_captures_and_a_capture_is_replaced(spark, mine, tmp_path, kind, monkeypatch):
    out = tmp_path / "out"
    summary = job.decode(spark, [str(mine)], out, output_format=kind)
    for table in TABLES:
        wanted = wanted_of(mine, table)
        assert rows_of(spark, out, kind, table, mine) == wanted, table
        assert summary.tables.get(table, 0) == len(wanted)
    measured = [
        measure(spark, [str(given)], tmp_path / name, Settings())
        for name, given in (("of-captures", mine), ("of-tables", out))
    ]
    assert measured[0]["total"]["bytes"]
    assert {**measured[1], "out": ""} == {**measured[0], "out": ""}
    shorten(mine / "zk39-ibp0101.jsonl")
    monkeypatch.setattr(formats, "TABLES", {name: TABLES[name] for name in SOME})
    job.decode(spark, [str(mine / "zk39-ibp0101.jsonl")], out, output_format=kind)
    for table in SOME:
        assert rows_of(spark, out, kind, table, mine) == wanted_of(mine, table), table
    assert not (out / "_temporary").exists()
    frames = spark.table(name_of(spark, out, kind, "frames"))
    assert set(ADDED) | {"day"} <= set(frames.columns)
    assert frames.where("day <> to_date(ts)").count() == 0
    shown = {
        row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name_of(spark, out, kind, 'frames')}").collect()
    }
    assert shown["kafka_rack.schema"] == str(SCHEMA_VERSION)
    with pytest.raises(SchemaMismatch, match=f"holds {kind} tables"):
        job.decode(spark, [str(mine)], out)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("some")
def test_a_batch_of_a_stream_that_is_written_again_is_there_once(spark, captures, tmp_path, kind):
    path = captures / "zk39-ibp0101.jsonl"
    (file,) = find_files([str(path)])[0]
    groups = [[block] for block in line_blocks(file, 4)]
    assert len(groups) > 2
    out = tmp_path / "out"
    prepare(out, kind)
    for batch in (groups[:1], groups[1:], groups[1:]):
        write_blocks(spark, batch, out, Options(), DecodeSummary(""), whole=False, output_format=kind)
    for table in SOME:
        assert rows_of(spark, out, kind, table, captures) == wanted_of(path, table), table


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_tables_do_not_have_yet_is_null_in_their_rows_and_comes_with_the_next(
    spark, captures, tmp_path, kind, monkeypatch
):
    monkeypatch.setattr(formats, "TABLES", {"frames": TABLES["frames"], "calls": TABLES["calls"]})
    older = TABLES["frames"]._replace(columns=tuple(one for one in TABLES["frames"].columns if one.name != "listener"))
    out, first, second = tmp_path / "out", captures / "zk39-ibp0101.jsonl", captures / "kcat.jsonl"
    with monkeypatch.context() as patched:
        patched.setitem(formats.TABLES, "frames", older)
        job.decode(spark, [str(first)], out, output_format=kind)
    assert {row.listener for row in table_of(spark, out, kind, "frames").collect()} == {None}
    job.decode(spark, [str(second)], out, output_format=kind)
    frames = table_of(spark, out, kind, "frames")
    assert {row.listener for row in frames.where("capture = 'zk39-ibp0101'").collect()} == {None}
    assert rows_of(spark, out, kind, "calls", captures) == wanted_of([first, second], "calls")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("some")
def test_a_run_that_is_killed_leaves_each_table_whole_and_the_next_one_finishes(spark, mine, tmp_path, kind):
    out = tmp_path / "out"
    job.decode(spark, [str(mine)], out, output_format=kind)
    before = {table: wanted_of(mine, table) for table in SOME}
    shorten(mine / "zk39-ibp0101.jsonl")
    after = {table: wanted_of(mine, table) for table in SOME}
    told = commits_of(out, kind)
    names = (SPARK_EXTENSIONS, SPARK_CATALOG)
    settings = {"spark.jars": ",".join(jars_of(spark)), **{name: spark.conf.get(name) for name in names}}
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", "--master", "local[1]", "--quiet"]
    command += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
    command += ["--output-format", kind, str(mine), "--out", str(out)]
    with subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: commits_of(out, kind) - told or process.poll() is not None, "the first table's new version")
        assert process.poll() is None, process.stderr.read()
        os.killpg(process.pid, signal.SIGKILL)
    for table in SOME:
        assert rows_of(spark, out, kind, table, mine) in (before[table], after[table]), table
    job.decode(spark, [str(mine)], out, output_format=kind)
    for table in SOME:
        assert rows_of(spark, out, kind, table, mine) == after[table], table
    assert before != after


def commits_of(out, kind):
    """What says that a table has a new version."""
    return set(out.glob("*/_delta_log/*.json" if kind == DELTA else "*/metadata/v*.metadata.json"))
