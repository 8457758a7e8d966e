"""Captures put on a store that pyarrow reaches, and the tables that are found there, beside those of plain Python."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafka_rack.cli import main
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
