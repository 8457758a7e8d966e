"""The tables as plain Python writes them, without Spark."""

from __future__ import annotations

from pathlib import Path

from kafka_rack.pipeline.output.writing import prepare, put_in_place, read_table, write_block
from kafka_rack.wire_capture.blocks import whole_files
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.tables import TABLES


def tables_of(out: Path, folder: Path) -> dict[str, list[str]]:
    """Every table's rows, paths relative to where the captures were."""
    return {table: sorted(repr(row).replace(str(folder), "") for row in read_table(out, table)) for table in TABLES}


def plain_tables(folder: Path, out: Path) -> dict[str, list[str]]:
    """Decode the captures of a folder in this process, each file in one piece."""
    prepare(out)
    blocks = whole_files(find_files([str(folder)])[0])
    written = [one for block in blocks for one in write_block(block, Options(), out / "_temporary" / "run")]
    put_in_place(out, "run", [(block.file.path, 0, 0) for block in blocks], written, whole=True)
    return tables_of(out, folder)
