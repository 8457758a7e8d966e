"""Captures put on a store that pyarrow reaches, and what jobs make of them there, beside plain Python's tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafka_rack.cli import main
from kafka_rack.pipeline.output.commits import TEMPORARY
from kafka_rack.pipeline.spark.storage_settings import known_to_spark
from kafka_rack.storage import location
from tests.fixture_data import CAPTURES
from tests.pipeline.plain import plain_tables, tables_of

CAPTURE = gzip.decompress((CAPTURES / "kafka-python.jsonl.gz").read_bytes())
HALF = CAPTURE[: CAPTURE.index(b"\n", len(CAPTURE) // 2) + 1]
SECOND = gzip.decompress((CAPTURES / "kcat.jsonl.gz").read_bytes())


def put(place: str, **files: bytes) -> None:
    """Captures below a folder's ``in``."""
    for name, content in files.items():
        location(f"{place}/in/{name}.jsonl").write_bytes(content)


def expected(tmp_path: Path, **files: bytes) -> dict[str, Any]:
    """The tables of these captures, as plain Python makes them."""
    folder = tmp_path / f"local-{uuid4().hex}"
    folder.mkdir()
    for name, content in files.items():
        (folder / f"{name}.jsonl").write_bytes(content)
    return plain_tables(folder, tmp_path / f"plain-{uuid4().hex}")


def found(place: str, tmp_path: Path) -> dict[str, Any]:
    """The tables below a folder's ``out`` as they are."""
    out, copy = location(f"{place}/out"), tmp_path / f"found-{uuid4().hex}"
    for file in out.files():
        inner = file.path.relative_to(out)
        if not inner.startswith("_"):
            (copy / inner).parent.mkdir(parents=True, exist_ok=True)
            (copy / inner).write_bytes(file.path.read_bytes())
    return tables_of(copy, f"{place}/in")


def ran(capsys: Any, *command: object) -> str:
    """What a job printed that had nothing to complain about; it runs in the session of this process."""
    assert main(["pipeline", *map(str, command), "--quiet"]) == 0
    printed, complaints = capsys.readouterr()
    assert complaints == ""
    return str(printed)


def check_tables_and_results(spark: Any, place: str, capsys: Any, tmp_path: Path) -> None:
    """Two runs leave tables that Spark reads, and locality is the same of the captures and of the tables."""
    put(place, a=CAPTURE, b=SECOND)
    location(f"{place}/in/empty.jsonl").write_bytes(b"")
    wanted = expected(tmp_path, a=CAPTURE, b=SECOND)
    for _ in range(2):
        ran(capsys, "decode", f"{place}/in", "--out", f"{place}/out")
    assert found(place, tmp_path) == wanted
    assert not location(f"{place}/out/{TEMPORARY}").exists()
    assert spark.read.parquet(known_to_spark(spark, f"{place}/out/frames")).count() == len(wanted["frames"])
    results = [
        json.loads(ran(capsys, "locality", given, "--out", f"{place}/{name}", "--format", "json"))
        for name, given in (("of-captures", f"{place}/in"), ("of-tables", f"{place}/out"))
    ]
    assert {**results[0], "out": ""} == {**results[1], "out": ""}
    assert json.loads(location(f"{place}/of-tables/locality.json").read_text()) == results[1]
