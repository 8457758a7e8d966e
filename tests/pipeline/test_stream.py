"""`kafka-rack pipeline decode` as a stream, as a process: growing files, signals, kill and start again."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_rack.pipeline.output.writing import read_table
from tests.fixture_data import CAPTURES
from tests.on_spark import complaints
from tests.pipeline.plain import plain_tables, tables_of
from tests.progress import end_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
DECODE = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", "--master", "local[1]", "--format", "json"]
FIRST = gzip.decompress((CAPTURES / "kafka-python.jsonl.gz").read_bytes())
SECOND = gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes())


@contextmanager
def streaming(folder, out):
    command = [*DECODE, "--stream", "--every", "0.5", str(folder), "--out", str(out)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def frames_told(process):
    """Frames of the next batch with some."""
    assert process.stdout is not None
    for line in process.stdout:
        found = json.loads(line)["tables"].get("frames", 0)
        if found:
            return found
    raise AssertionError(process.stderr.read())


def frames_of(content):
    return sum(b'"dir"' in line for line in content.splitlines(keepends=True) if line.endswith(b"\n"))


@pytest.fixture
def folder(tmp_path):
    growing = tmp_path / "growing"
    growing.mkdir()
    return growing


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stream_follows_a_growing_file_and_ends_cleanly_when_told(folder, tmp_path, sent):
    half = FIRST[: len(FIRST) // 2]
    (folder / "kafka-python.jsonl").write_bytes(half)
    with streaming(folder, tmp_path / "out") as process:
        assert frames_told(process) == frames_of(half)
        with (folder / "kafka-python.jsonl").open("ab") as growing:
            growing.write(FIRST[len(half) :])
        assert frames_told(process) == frames_of(FIRST) - frames_of(half)
        process.send_signal(sent)
        _, told = end_of(process, "the end of a stream that was told to")
        assert (process.returncode, complaints(told)) == (0, "")
    assert len(read_table(tmp_path / "out", "frames")) == frames_of(FIRST)


def test_a_stream_that_was_killed_in_a_batch_goes_on_where_it_was(folder, tmp_path):
    out = tmp_path / "out"
    (folder / "kafka-python.jsonl").write_bytes(FIRST[: len(FIRST) // 3])
    with streaming(folder, out) as process:
        assert frames_told(process)
        with (folder / "kafka-python.jsonl").open("ab") as growing:
            growing.write(FIRST[len(FIRST) // 3 :])
        (folder / "kcat.jsonl").write_bytes(SECOND)
        begun = out / "_checkpoint" / "offsets" / "1"
        wait_until(lambda: begun.exists() or process.poll() is not None, "the second batch")
        assert process.poll() is None
        process.kill()
    subprocess.run([*DECODE, "--once", str(folder), "--out", str(out)], check=True, cwd=ROOT, capture_output=True)
    assert tables_of(out, folder) == plain_tables(folder, tmp_path / "plain")
    assert not (out / "_temporary").exists()


def test_a_stream_told_to_be_none_is_wrong_usage(folder, tmp_path):
    for wrong, said in (
        (["--every", "1"], "--every is for a stream"),
        (["--stream", "--once"], "one of them"),
        (["--stream", "--tasks", "2"], "--tasks is for a batch"),
        (["--stream", "--every", "0"], "--every 0:"),
    ):
        done = subprocess.run(
            [*DECODE, *wrong, str(folder), "--out", str(tmp_path / "out")],
            check=False,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
