"""A name node and a data node of Hadoop's own on loopback: captures, tables, checkpoints and results on hdfs://."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_rack.cli import main
from kafka_rack.pipeline.output.commits import TEMPORARY, settle
from kafka_rack.pipeline.output.writing import WrittenFile, file_key, put_in_place
from kafka_rack.storage import RemotePath, StorageSettings, location, use_settings
from tests.interop.fetched import maven_jars, skipped_without_tools
from tests.object_store.conftest import HADOOP
from tests.object_store.places import (
    CAPTURE,
    HALF,
    check_stream_goes_on,
    check_tables_and_results,
    expected,
    found,
    put,
    ran,
)
from tests.progress import wait_until

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = "org.apache.hadoop.test.MiniDFSClusterManager"


@pytest.fixture(scope="module")
def name_node(tmp_path_factory):
    """``hdfs://127.0.0.1:PORT`` of an HDFS of one data node, empty at first."""
    with skipped_without_tools():
        jars = maven_jars("hdfs", Path(__file__).with_name("hdfs-pom.xml"), f"hadoop-client-minicluster-{HADOOP}.jar")
    folder = tmp_path_factory.mktemp("hdfs")
    command = ["java", "-Xmx400m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", CLUSTER]
    command += ["-format", "-datanodes", "1", "-writeDetails", "details.json"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            details = folder / "details.json"
            wait_until(
                lambda: (details.is_file() and details.read_text().endswith("}")) or process.poll() is not None,
                "the name node's port",
                seen=lambda: sum(1 for _ in folder.rglob("*")),
            )
            assert process.poll() is None
            yield f"hdfs://127.0.0.1:{json.loads(details.read_text())['namenode_port']}"
        finally:
            process.kill()


@pytest.fixture
def place(name_node):
    """The URL of a folder of its own."""
    use_settings(StorageSettings())
    return f"{name_node}/trace/{uuid4().hex}"


def test_captures_become_tables_and_results_on_hdfs(spark, place, capsys, tmp_path):
    check_tables_and_results(spark, place, capsys, tmp_path)


def test_a_stream_whose_checkpoint_is_on_hdfs_goes_on_exactly_once(spark, place, capsys, tmp_path):
    check_stream_goes_on(place, capsys, tmp_path)


def test_a_driver_that_is_killed_while_it_writes_leaves_the_earlier_tables_whole(spark, place, capsys, tmp_path):
    put(place, a=HALF)
    ran(capsys, "decode", f"{place}/in", "--out", f"{place}/out")
    old, new = expected(tmp_path, a=HALF), expected(tmp_path, a=CAPTURE)
    put(place, a=CAPTURE)
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", f"{place}/in", "--out", f"{place}/out"]
    command += ["--master", "local[1]", "--driver-memory", "600m", "--quiet"]
    staged = location(f"{place}/out/{TEMPORARY}")
    with subprocess.Popen(
        command, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: staged.files() or process.poll() is not None, "the first file of a table")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    between = found(place, tmp_path)
    assert all(set(old[table]) <= set(between[table]) for table in old)  # nothing that was there is missing
    settle(location(f"{place}/out"))
    assert found(place, tmp_path) in (old, new)
    ran(capsys, "decode", f"{place}/in", "--out", f"{place}/out")
    assert found(place, tmp_path) == new
    assert not location(f"{place}/out/{TEMPORARY}").exists()


class ProcessDied(BaseException):
    """In the place of a kill."""


CHANGES = {"create_dir", "open_output_stream", "move", "copy_file", "delete_file", "delete_dir"}


def test_tables_are_the_old_or_the_new_ones_wherever_a_run_ends(place, monkeypatch):
    from kafka_rack.pipeline.output import writing

    monkeypatch.setattr(writing, "ensure_table", lambda *_: None)
    asked = RemotePath._ask
    left = [0]

    def ask(self, operation, *given, **options):
        if operation in CHANGES and left[0] > 0:
            left[0] -= 1
            if not left[0]:
                raise ProcessDied
        return asked(self, operation, *given, **options)

    monkeypatch.setattr(RemotePath, "_ask", ask)
    seen = set()
    for step in count(1):
        at = location(f"{place}/{step}")
        replace_parts(at, (0, 10, 20), "old")
        assert parts(at) == dict.fromkeys((0, 10, 20), "old")
        left[0] = step
        try:
            replace_parts(at, (0, 15), "new")
        except ProcessDied:
            died = True
        else:
            died = False
        left[0] = 0
        settle(at)
        seen.add(frozenset(parts(at).items()))
        if not died:
            break
    old, new = dict.fromkeys((0, 10, 20), "old"), dict.fromkeys((0, 15), "new")
    assert seen == {frozenset(old.items()), frozenset(new.items())}


def part(start):
    return f"frames/capture=a/day=2026-11-23/part-{file_key('a.jsonl')}-{start:015d}.parquet"


def replace_parts(out, starts, text):
    """What a run on another machine does at its end that read a capture in blocks from these starts."""
    run = f"1-{uuid4().hex}@elsewhere"
    written = [WrittenFile("frames", "Fetch", part(start), 1, 1, 0, 0, f"{part(start)}.one") for start in starts]
    for one in written:
        (out / TEMPORARY / run / one.staged).write_text(text)
    put_in_place(out, run, [("a.jsonl", start, start + 1) for start in starts], written, whole=True)


def parts(out):
    """Starts of blocks, and what is in their files."""
    return {
        int(file.path.name[-23:-8]): file.path.read_text()
        for file in (out / "frames").files()
        if file.path.name.startswith("part-")
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("/nothing", "no such file or folder"),
        (":1/x", "the store cannot be reached"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(spark, name_node, capsys, tmp_path, given, said):
    url = f"{name_node}{given}" if given.startswith("/") else f"hdfs://127.0.0.1{given}"
    assert main(["pipeline", "decode", url, "--out", str(tmp_path / "out"), "--quiet"]) in (1, 2)
    printed, complaints = capsys.readouterr()
    assert (printed, complaints.count("\n")) == ("", 1)
    assert url in complaints
    assert said in complaints
