"""Tables in a folder: where their files lie, by days and captures."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafka_rack.pipeline.output import writing
from kafka_rack.pipeline.output.writing import prepare, put_in_place, read_table, write_block
from kafka_rack.wire_capture.blocks import CaptureBlock
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables import read
from kafka_rack.wire_tables.stored import (
    SchemaMismatch,
    is_stored,
    partition,
    read_stored,
    stored_file,
)
from kafka_rack.wire_tables.tables import SCHEMA_VERSION
from tests.fixture_data import CAPTURES

KCAT = CAPTURES / "kcat.jsonl.gz"


def decoded(path: Path, out: Path) -> Path:
    """The tables of one capture."""
    prepare(out)
    file = find_files([str(path)])[0][0]
    written = list(write_block(CaptureBlock(file, 0, file.size), Options(), out / "_temporary" / "run"))
    put_in_place(out, "run", [(file.path, 0, file.size)], written, whole=True)
    return out


def rows_of(table):
    return Counter(map(repr, table.to_pylist()))


def shifted(path: Path, target: Path, days: int) -> None:
    """A capture with every other frame so many days later."""
    lines = []
    for number, line in enumerate(gzip.decompress(path.read_bytes()).splitlines()):
        found = json.loads(line)
        if "t" in found and number % 2:
            found["t"] += days * 86_400_000_000
        lines.append(json.dumps(found, separators=(",", ":")))
    target.write_text("\n".join(lines) + "\n")


def test_files_lie_by_capture_and_day_and_say_their_version(tmp_path):
    capture = tmp_path / "two days.jsonl"
    shifted(KCAT, capture, 3)
    out = decoded(capture, tmp_path / "out")
    frames = read_stored(out, "frames").to_pylist()
    days = {datetime.fromtimestamp(row["ts"].timestamp(), UTC).date().isoformat() for row in frames}
    assert len(days) == 2
    there = {path.parent.relative_to(out).as_posix() for path in out.rglob("part-*")}
    assert {f"frames/capture=two days/day={day}" for day in days} <= there
    assert {path.split("/")[1] for path in there} == {"capture=two days"}
    for day in days:
        (path,) = (out / "frames" / "capture=two days" / f"day={day}").iterdir()
        with pq.ParquetFile(path) as file:
            assert file.schema_arrow.metadata[b"kafka_rack.schema"] == str(SCHEMA_VERSION).encode()
            assert "capture" not in file.schema_arrow.names
            assert {ts.date().isoformat() for ts in file.read(["ts"])["ts"].to_pylist()} == {day}
    assert rows_of(read(out)["frames"]) == rows_of(read(capture)["frames"])


def test_more_days_than_files_may_be_open_give_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "MAX_OPEN", 3)
    monkeypatch.setattr(writing, "MAX_HELD", 0)
    capture = tmp_path / "days.jsonl"
    shifted(KCAT, capture, 1)
    for _ in range(2):
        out = decoded(capture, tmp_path / "out")
        for table, rows in read(capture).items():
            assert rows_of(read(out)[table]) == rows_of(rows), table


def test_what_is_read_anew_is_replaced_though_its_days_are_others(tmp_path):
    capture = tmp_path / "a.jsonl"
    capture.write_bytes(gzip.decompress(KCAT.read_bytes()))
    out = decoded(capture, tmp_path / "out")
    before = {path.parent for path in (out / "frames").rglob("part-*")}
    lines = [json.loads(line) for line in capture.read_bytes().splitlines()]
    for line in lines:
        if "t" in line:
            line["t"] += 86_400_000_000
    capture.write_text("".join(json.dumps(line) + "\n" for line in lines))
    decoded(capture, out)
    after = {path.parent for path in (out / "frames").rglob("part-*")}
    assert not before & after
    assert not any(folder.exists() for folder in before)
    assert read_table(out, "frames") == sorted(read(capture)["frames"].to_pylist(), key=repr)


@pytest.mark.parametrize("name", ["kcat", "a=b/c:d%", "007", "2026-11-23", "1e5", "NaN", "-1", "über uns", "x" * 300])
def test_a_folders_name_gives_the_value_back(name, tmp_path):
    folder = partition("capture", name)
    assert len(folder.encode()) < 255
    assert not set('/:"') & set(folder)
    found = stored_file(tmp_path / folder / "day=2026-11-23" / "part-ab-0001.parquet", 2)
    assert found.named == {"capture": name if len(name) < 240 else found.named["capture"], "day": "2026-11-23"}
    assert (found.key, found.start) == ("ab", 1)


def test_a_capture_with_a_name_too_long_for_a_folder_keeps_it(tmp_path):
    capture = tmp_path / f"{'n' * 240}.jsonl"
    capture.write_bytes(gzip.decompress(KCAT.read_bytes()))
    assert set(read(decoded(capture, tmp_path / "out"))["frames"]["capture"].to_pylist()) == {"n" * 240}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ('{"schema_version": 999}', "schema version 999, but this reads 2"),
        ("{}", "does not say which version"),
        ("[1]", "does not say which version"),
        ('{"schema_version": 2, "format": "delta"}', "no table frames"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, told, said):
    (tmp_path / "schema.json").write_text(told)
    with pytest.raises(SchemaMismatch, match=said):
        is_stored(tmp_path)


def test_tables_of_another_format_are_not_added_to(tmp_path):
    prepare(tmp_path, "delta")
    with pytest.raises(SchemaMismatch, match="holds delta tables, not parquet"):
        prepare(tmp_path)
