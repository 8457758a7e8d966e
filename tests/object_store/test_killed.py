"""Whoever is killed while tables are written to S3: the earlier ones are whole, and the next run has all of them.

The store itself says when: its gate holds what a process was about to change, and then the process is killed. What it
was about to change is refused, as if it had never been sent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_rack.pipeline.output.commits import TEMPORARY, settle
from kafka_rack.pipeline.output.writing import WrittenFile, file_key, prepare, put_in_place, write_block
from kafka_rack.storage import StorageSettings, location, use_settings
from kafka_rack.wire_capture.blocks import whole_files
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from tests.object_store.conftest import BUCKET
from tests.object_store.places import CAPTURE, HALF, SECOND, expected
from tests.pipeline.plain import tables_of
from tests.progress import end_of, wait_until

ROOT = Path(__file__).resolve().parents[2]
STAGED, DECIDED, MOVED = "PUT .*/_temporary/.*parquet", "PUT .*/commit.json$", "COPY "


@pytest.fixture
def place(store):
    """The URL of a folder of its own."""
    use_settings(StorageSettings.of(store.settings))
    return f"s3a://{BUCKET}/killed-{uuid4().hex}"


def key_of(url):
    return url.removeprefix(f"s3a://{BUCKET}/")


def found(store, place, tmp_path):
    """The tables on S3 as they are."""
    return tables_of(store.copy_to(f"{key_of(place)}/out", tmp_path / f"found-{uuid4().hex}"), f"{place}/in")


def decode_here(place):
    """Decode without Spark."""
    out = location(f"{place}/out")
    prepare(out)
    blocks = whole_files(find_files([f"{place}/in"])[0])
    written = [one for block in blocks for one in write_block(block, Options(), out / TEMPORARY / "run@nowhere")]
    put_in_place(out, "run@nowhere", [(block.file.path, 0, 0) for block in blocks], written, whole=True)


@contextmanager
def decoding(place, settings, *more, master="local[1]") -> Iterator[subprocess.Popen[str]]:
    """The command, a process in a group of its own, with Spark's in it."""
    told = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", f"{place}/in", "--out", f"{place}/out"]
    with subprocess.Popen(
        [*command, "--master", master, "--driver-memory", "600m", "--quiet", *told, *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            kill_all_of(process)


def kill_all_of(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def killed_at(store, place, settings, after, matching, *more):
    """Run the command, and kill it and all its processes when it is about to make a change."""
    store.close_gate(after, matching)
    with decoding(place, settings, *more) as process:
        wait_until(lambda: store.gate_is_closed or process.poll() is not None, f"{matching}, {after} times")
        assert process.poll() is None, process.communicate()
        kill_all_of(process)
        process.wait()
    store.open_gate()


def ends_well(place, settings, *more, **options):
    with decoding(place, settings, *more, **options) as process:
        _, complaints = end_of(process, "the end of decoding")
        assert process.returncode == 0, complaints


@pytest.mark.parametrize(("after", "matching"), [(2, STAGED), (1, DECIDED)])
def test_a_driver_that_is_killed_before_it_has_decided_changes_nothing(
    store, spark_settings, place, tmp_path, after, matching
):
    store.put(f"{key_of(place)}/in/a.jsonl", HALF)
    decode_here(place)
    old = expected(tmp_path, a=HALF)
    assert found(store, place, tmp_path) == old
    store.put(f"{key_of(place)}/in/a.jsonl", CAPTURE)
    killed_at(store, place, spark_settings, after, matching)
    assert found(store, place, tmp_path) == old
    settle(location(f"{place}/out"))
    assert found(store, place, tmp_path) == old
    assert not [key for key in store.keys(f"{key_of(place)}/out") if key.startswith(TEMPORARY)]


def test_what_a_driver_had_decided_that_is_killed_the_next_run_finishes(store, spark_settings, place, tmp_path):
    store.put(f"{key_of(place)}/in/a.jsonl", HALF)
    decode_here(place)
    old = expected(tmp_path, a=HALF)
    store.put(f"{key_of(place)}/in/a.jsonl", CAPTURE)
    killed_at(store, place, spark_settings, 3, MOVED)
    between = found(store, place, tmp_path)
    assert all(set(old[table]) <= set(between[table]) for table in old)  # nothing that was there is missing
    store.put(f"{key_of(place)}/in/b.jsonl", SECOND)
    settle(location(f"{place}/out"))
    assert found(store, place, tmp_path) == expected(tmp_path, a=CAPTURE)
    ends_well(place, spark_settings)
    assert found(store, place, tmp_path) == expected(tmp_path, a=CAPTURE, b=SECOND)
    assert not [key for key in store.keys(f"{key_of(place)}/out") if key.startswith(TEMPORARY)]


@pytest.mark.parametrize(("after", "matching"), [(3, MOVED), (1, "_checkpoint/commits/")])
def test_a_stream_that_is_killed_goes_on_exactly_once(store, spark_settings, place, tmp_path, after, matching):
    store.put(f"{key_of(place)}/in/a.jsonl", HALF)
    killed_at(store, place, spark_settings, after, matching, "--once")
    store.put(f"{key_of(place)}/in/a.jsonl", CAPTURE)
    store.put(f"{key_of(place)}/in/b.jsonl", SECOND)
    ends_well(place, spark_settings, "--once")
    assert found(store, place, tmp_path) == expected(tmp_path, a=CAPTURE, b=SECOND)
    assert [key for key in store.keys(f"{key_of(place)}/out") if key.startswith("_checkpoint/commits/")]


def test_a_worker_that_is_killed_costs_its_task_alone(store, spark_settings, place, tmp_path):
    store.put(f"{key_of(place)}/in/a.jsonl", CAPTURE)
    store.put(f"{key_of(place)}/in/b.jsonl", SECOND)
    store.close_gate(2, STAGED)
    with decoding(place, spark_settings, master="local[2,6]") as process:
        wait_until(lambda: store.gate_is_closed or process.poll() is not None, "a worker that writes")
        assert process.poll() is None, process.communicate()
        workers = workers_below(process.pid)
        assert workers
        for worker in workers:
            with suppress(ProcessLookupError):  # it had ended by itself
                os.kill(worker, signal.SIGKILL)
        store.open_gate()
        _, complaints = end_of(process, "the end of decoding")
        assert process.returncode == 0, complaints
    assert found(store, place, tmp_path) == expected(tmp_path, a=CAPTURE, b=SECOND)
    assert not [key for key in store.keys(f"{key_of(place)}/out") if key.startswith(TEMPORARY)]


def workers_below(group):
    """Spark's Python workers in a group of processes: each is a child of the daemon that forks them."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[3]) == group and b"pyspark.daemon" in words:  # the session, which is the group's
            parents[int(folder.name)] = int(fields[1])
    return [process for process, parent in parents.items() if parent in parents]


# -- without Spark: at each change -------------------------------------------------------------------------------------


def part(place, start):
    return f"frames/capture=a/day=2026-11-23/part-{file_key(f'{place}/in/a.jsonl')}-{start:015d}.parquet"


def replace_parts(place, starts, text):
    """What a run on another machine does at its end that read a capture in blocks from these starts."""
    out, run = location(f"{place}/out"), f"1-{uuid4().hex}@elsewhere"
    written = []
    for start in starts:
        staged = f"{part(place, start)}.one"
        (out / TEMPORARY / run / staged).write_text(text)
        written.append(WrittenFile("frames", "Fetch", part(place, start), 1, 1, 0, 0, staged))
    read = [(f"{place}/in/a.jsonl", start, start + 1) for start in starts]
    put_in_place(out, run, read, written, whole=True)


def parts(store, place):
    """Starts of blocks, and what is in their files."""
    keys = [key for key in store.keys(f"{key_of(place)}/out") if key.startswith("frames/") and "part-" in key]
    return {int(key[-23:-8]): store.get(f"{key_of(place)}/out/{key}").decode() for key in keys}


def test_tables_are_the_old_or_the_new_ones_wherever_a_run_on_another_machine_ends(store, place, monkeypatch):
    from kafka_rack.pipeline.output import writing

    monkeypatch.setattr(writing, "ensure_table", lambda *_: None)
    old, new = dict.fromkeys((0, 10, 20), "old"), dict.fromkeys((0, 15), "new")
    seen_decided = False
    for step in count(1):
        at = f"{place}/{step}"
        replace_parts(at, old, "old")
        assert parts(store, at) == old
        store.close_gate(step, how="refuse")
        with suppress(OSError):
            replace_parts(at, new, "new")
        died = store.gate_is_closed
        store.open_gate()
        decided = any(key.endswith("commit.json") for key in store.keys(f"{key_of(at)}/out"))
        if died and not decided and not seen_decided:
            assert parts(store, at) == old
        seen_decided |= decided
        settle(location(f"{at}/out"))
        assert parts(store, at) == (new if seen_decided else old)
        if not died:
            break
    assert seen_decided
