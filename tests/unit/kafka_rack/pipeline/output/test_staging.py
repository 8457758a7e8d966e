"""Output takes its place whole, or what was there stays."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_rack.pipeline.output import staging
from kafka_rack.pipeline.output.commits import Commit, decide, process_name, run_name, settle
from kafka_rack.pipeline.output.staging import NotOurs, staged, write_table
from kafka_rack.pipeline.output.table_file import TableFile

NAMES = ("rows", "notes", "page.html")
HERE = socket.gethostname()
SCHEMA = pa.schema([("number", pa.int32())])


def made(out, number, names=NAMES):
    with staged(out, NAMES) as folder:
        for name in names:
            if name == "page.html":
                (folder / name).write_text(str(number))
            else:
                write_table(folder, name, SCHEMA, [{"number": number}])


def crash(out, end):
    """A job that ends so after its first table."""
    with staged(out, NAMES) as folder:
        write_table(folder, "rows", SCHEMA, [{"number": 2}])
        raise end


def content(out):
    """Path -> what stands there, of every file."""
    return {
        str(path.relative_to(out)): path.read_text()
        if path.suffix == ".html"
        else pq.read_table(path).to_pylist()[0]["number"]
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def whole(number):
    return {"notes/part-00000.parquet": number, "page.html": str(number), "rows/part-00000.parquet": number}


def test_output_replaces_an_earlier_ones_and_leaves_nothing_else(tmp_path):
    made(tmp_path, 1)
    assert content(tmp_path) == whole(1)
    made(tmp_path, 2)
    assert content(tmp_path) == whole(2)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NAMES)


def test_what_is_not_made_again_goes(tmp_path):
    made(tmp_path, 1)
    made(tmp_path, 2, names=("rows",))
    assert content(tmp_path) == {"rows/part-00000.parquet": 2}


def test_what_other_jobs_wrote_stays(tmp_path):
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "x.html").write_text("theirs")
    made(tmp_path, 1)
    assert content(tmp_path) == whole(1) | {"frames/x.html": "theirs"}


@pytest.mark.parametrize("end", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_crash_while_it_is_made_leaves_the_old_result_whole(tmp_path, end):
    made(tmp_path, 1)
    with pytest.raises(end):
        crash(tmp_path, end)
    assert content(tmp_path) == whole(1)
    assert not (tmp_path / staging.TEMPORARY).exists()


@pytest.mark.parametrize("fails_at", range(1, 9))
def test_a_crash_while_it_is_put_in_place_leaves_the_old_result_whole(tmp_path, monkeypatch, fails_at):
    made(tmp_path, 1)
    calls = []
    replace = Path.replace

    def one_fails(self, target):
        calls.append(self)
        if len(calls) == fails_at:
            raise OSError(28, "No space left on device", str(target))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", one_fails)
    try:
        made(tmp_path, 2)
    except OSError:
        assert content(tmp_path) == whole(1)
    else:
        assert len(calls) < fails_at
        assert content(tmp_path) == whole(2)
    assert not (tmp_path / staging.TEMPORARY).exists()


def test_a_crash_the_first_time_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError):
        crash(tmp_path / "new", RuntimeError)
    assert list((tmp_path / "new").rglob("*")) == []


def test_a_folder_may_hold_other_things_beside_what_goes_into_it(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "thesis.txt").write_text("theirs")
    for number in (1, 2):
        with staged(tmp_path, ("results/rows", "results/notes")) as folder:
            (folder / "results").mkdir()
            write_table(folder / "results", "rows", SCHEMA, [{"number": number}])
        assert pq.read_table(tmp_path / "results" / "rows").to_pylist() == [{"number": number}]
    assert (tmp_path / "results" / "thesis.txt").read_text() == "theirs"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["part-00000.parquet", "results", "rows", "thesis.txt"]


def left_by(out, *names):
    for name in names:
        (out / staging.TEMPORARY / name).mkdir(parents=True)


def runs_of(out):
    return {path.name for path in (out / staging.TEMPORARY).iterdir()}


def test_what_killed_runs_left_goes_and_what_others_write_stays(tmp_path):
    ended = subprocess.Popen(["true"])
    left_by(tmp_path, f"{ended.pid}-not-waited-for@{HERE}")
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    made(tmp_path, 0)
    assert not (tmp_path / staging.TEMPORARY).exists()
    ended.wait()
    mine, process = run_name(), process_name(os.getpid())
    theirs = {f"{process_name(os.getppid())}-other@{HERE}", "1-far@elsewhere", f"{process}-far@elsewhere"}
    left_by(tmp_path, f"{ended.pid}-killed@{HERE}", mine, *theirs)
    made(tmp_path, 1)
    assert runs_of(tmp_path) == theirs | {mine}
    staging.clear(tmp_path)
    assert runs_of(tmp_path) == theirs


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says here when a process began")
@pytest.mark.parametrize("number_of", [os.getpid, os.getppid])
def test_a_process_that_was_killed_is_not_taken_for_one_that_has_its_number_now(tmp_path, number_of):
    """A container that starts again has its name, and its processes the numbers that they had before."""
    made(tmp_path, 1)
    killed = f"{number_of()}.1-killed@{HERE}"
    left_by(tmp_path, killed)
    write_table(tmp_path / staging.TEMPORARY / killed, "rows", SCHEMA, [{"number": 2}])
    decide(tmp_path / staging.TEMPORARY / killed, Commit([], [("rows", "rows")], []))
    settle(tmp_path)
    assert content(tmp_path) == whole(1) | {"rows/part-00000.parquet": 2}
    assert not (tmp_path / staging.TEMPORARY).exists()


def test_a_task_that_is_slower_than_its_second_try_leaves_nothing_in_the_result(tmp_path):
    """Spark tries a slow task beside itself, and does not wait for it once one of the two is done."""
    out = tmp_path / "out"
    with staged(out, NAMES) as folder:
        (folder / "rows").mkdir()
        slow, quick = (TableFile(folder / "rows" / "part-00000.parquet", SCHEMA) for _ in range(2))
        for task in (slow, quick):
            task.add([{"number": 1}])
        quick.close()
    with pytest.raises(FileNotFoundError):
        slow.close()
    assert [path.name for path in out.rglob("*")] == ["rows", "part-00000.parquet"]
    assert pq.read_table(out / "rows" / "part-00000.parquet").to_pylist() == [{"number": 1}]
    made(out, 2)
    assert pq.read_table(out / "rows").to_pylist() == [{"number": 2}]


def test_an_empty_table_has_its_columns(tmp_path):
    write_table(tmp_path, "rows", SCHEMA, [])
    assert pq.read_table(tmp_path / "rows").schema.names == ["number"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("rows/thesis.txt", "holds thesis.txt, which no job wrote: choose another place for the output"),
        ("rows/inner/x.parquet", "holds inner, which no job wrote: choose another place for the output"),
        ("rows", "is a file, but a folder goes there: choose another place for the output"),
        ("page.html/x", "is a folder, but a file goes there: choose another place for the output"),
    ],
)
def test_what_no_job_wrote_is_not_replaced(tmp_path, path, text):
    stranger = tmp_path / path
    stranger.parent.mkdir(parents=True, exist_ok=True)
    stranger.write_text("theirs")
    with pytest.raises(NotOurs) as refused:
        made(tmp_path, 1)
    assert str(refused.value) == f"{tmp_path / path.split('/')[0]} {text}"
    assert stranger.read_text() == "theirs"
