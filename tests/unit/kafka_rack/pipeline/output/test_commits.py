"""A process that dies over its output, wherever that is, has lost nothing: neither what was there nor what it made."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

from kafka_rack.pipeline.output import commits, writing
from kafka_rack.pipeline.output.commits import TEMPORARY, run_name, settle
from kafka_rack.pipeline.output.staging import staged
from kafka_rack.pipeline.output.writing import WrittenFile, file_key, put_in_place
from kafka_rack.wire_capture.blocks import whole_files
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.tables import TABLES
from tests.fixture_data import CAPTURES

CAPTURE = "/trace/a.jsonl"
NAMES = ("rows", "notes", "page.html")


def dies_at(step, work):
    """Do ``work`` in a process that is gone, as by kill -9, before its ``step``th change of a file's place or end.

    Gives whether it came so far.
    """
    child = os.fork()
    if child == 0:
        left = [step]
        for name in ("replace", "unlink", "rmdir"):
            setattr(Path, name, counted(getattr(Path, name), left))
        commits.remove_tree = counted(commits.remove_tree, left)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def counted(change, left):
    def changed(*given, **options):
        left[0] -= 1
        if left[0] < 0:
            os._exit(9)
        return change(*given, **options)

    return changed


def part(start):
    return f"frames/capture=a/day=2026-11-23/part-{file_key(CAPTURE)}-{start:015d}.parquet"


def decode_again(out, starts, text):
    """What a run does at its end that read the capture in blocks from these starts."""
    run = run_name()
    written = []
    for start in starts:
        staged_as = f"{part(start)}.one"
        (out / TEMPORARY / run / staged_as).parent.mkdir(parents=True, exist_ok=True)
        (out / TEMPORARY / run / staged_as).write_text(text)
        written.append(WrittenFile("frames", "Fetch", part(start), 1, 1, 0, 0, staged_as))
    put_in_place(out, run, [(CAPTURE, start, start + 1) for start in starts], written, whole=True)


def parts(out):
    return {path.name[-23:-8]: path.read_text() for path in (out / "frames").glob("capture=a/day=*/part-*")}


OLD = {f"{start:015d}": "old" for start in (0, 10, 20)}
NEW = {f"{start:015d}": "new" for start in (0, 15)}


def test_tables_are_the_old_or_the_new_ones_after_a_crash_at_any_change(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "ensure_table", lambda *_: None)
    for step in count():
        out = tmp_path / str(step)
        decode_again(out, (0, 10, 20), "old")
        died = dies_at(step, lambda out=out: decode_again(out, (0, 15), "new"))
        seen = parts(out)
        assert seen == OLD or seen.keys() >= NEW.keys(), "nothing old goes before all that is new is there"
        settle(out)
        assert parts(out) == (OLD if step == 0 else NEW)
        if not died:
            break
    assert step > 5


def test_no_table_is_missing_where_one_has_rows_after_a_crash_at_any_change(tmp_path, monkeypatch):
    some = {name: TABLES[name] for name in ("frames", "fetches", "memberships")}
    monkeypatch.setattr(writing, "TABLES", some)
    seen = set()
    for step in count():
        out = tmp_path / str(step)
        died = dies_at(step, lambda out=out: decode_again(out, (0,), "new"))
        settle(out)
        missing = {table for table in some if not [*out.glob(f"{table}/**/*.parquet")]}
        assert not (parts(out) and missing)
        seen.add(bool(parts(out)))
        if not died:
            break
    assert seen == {True, False}


def make(out, text, names=NAMES):
    with staged(out, NAMES) as folder:
        for name in names:
            if name == "page.html":
                (folder / name).write_text(text)
            else:
                (folder / name).mkdir()
                (folder / name / "part.parquet").write_text(text)


def content(out):
    return {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}


def whole(text, names=NAMES):
    return {name if name == "page.html" else f"{name}/part.parquet": text for name in names}


def test_results_are_the_old_or_the_new_ones_after_a_crash_at_any_change(tmp_path):
    for step in count():
        out = tmp_path / str(step)
        make(out, "old")
        died = dies_at(step, lambda out=out: make(out, "new", NAMES[1:]))
        settle(out)
        assert content(out) == (whole("old") if step == 0 else whole("new", NAMES[1:]))
        if not died:
            break
    assert step > 5


def test_two_tasks_never_write_into_one_file(tmp_path, monkeypatch):
    """Two executors' objects may well have one ``id``, which names were once made of."""
    monkeypatch.setattr(writing, "id", lambda _: 7, raising=False)
    (block,) = whole_files(find_files([str(CAPTURES / "kcat.jsonl.gz")])[0])
    first, second = (list(writing.write_block(block, Options(), tmp_path)) for _ in range(2))
    assert [one.path for one in first] == [one.path for one in second]
    assert not {one.staged for one in first} & {one.staged for one in second}
    assert all((tmp_path / one.staged).stat().st_size for one in (*first, *second))
