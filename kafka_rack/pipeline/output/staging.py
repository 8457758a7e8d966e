"""A job's output: made beside what is there, and put in its place when all of it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_rack.pipeline.output.writing import TEMPORARY, clear_left_over, run_name

OURS = (".parquet", ".svg")
"""What folders of output hold; a folder with anything else is not ours to replace."""


class NotOurs(Exception):
    """Something of another origin is where output would go; the text says what."""


@contextmanager
def staged(out: Path, names: Sequence[str]) -> Iterator[Path]:
    """A folder for output; what is in it takes the place of the same names below ``out`` when the block ends well.

    Else nothing changes: readers see what was there. Only a process that is killed among the last renames leaves some
    of both, and what is missing below ``_temporary``, where the next run clears up.

    Args:
        names: folders and files that the job writes, also as ``folder/inner``, in the order in which they take their
            places; one that the job did not make this time goes.

    Raises: NotOurs: one of them is there and holds what no job wrote. OSError.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        check_ours(out / name)
    clear_left_over(out)
    folder = out / TEMPORARY / run_name()
    folder.mkdir(parents=True)
    try:
        yield folder
        put_in_place(folder, out, names)
    finally:
        remove(folder)


def clear(out: Path) -> None:
    """Remove what runs of this process left that were interrupted, and those of processes that are no more.

    Tasks may still have written while their run ended; call it once they cannot.
    """
    for folder in (out / TEMPORARY).glob(f"{os.getpid()}-*"):
        remove(folder)
    clear_left_over(out)


def remove(folder: Path) -> None:
    """A run's folder, and the one that it is in if it was the last there."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()


def check_ours(path: Path) -> None:
    """Refuse to replace a folder that holds other things."""
    if path.suffix:
        if path.is_dir():
            raise NotOurs(f"{path} is a folder, but a file goes there: choose another place for the output")
    elif path.exists():
        if not path.is_dir():
            raise NotOurs(f"{path} is a file, but a folder goes there: choose another place for the output")
        for found in sorted(path.iterdir()):
            if found.is_dir() or found.suffix not in OURS:
                raise NotOurs(f"{path} holds {found.name}, which no job wrote: choose another place for the output")


def put_in_place(folder: Path, out: Path, names: Sequence[str]) -> None:
    """Move what was made to its place, what was there out of the way; all of it, or after an error none of it."""
    fresh = [name for name in names if not (out / name).exists()]
    try:
        for name in names:
            (out / name).parent.mkdir(exist_ok=True)
            if (out / name).exists():
                (out / name).replace(kept(folder, name))
            if (folder / name).exists():
                (folder / name).replace(out / name)
    except BaseException:
        for name in names:
            was_there = kept(folder, name).exists()
            if (out / name).exists() and (was_there or name in fresh):
                (out / name).replace(beside(folder, "undone", name))
            if was_there:
                kept(folder, name).replace(out / name)
        raise


def kept(folder: Path, name: str) -> Path:
    """Where something that was there is until everything is in place."""
    return beside(folder, "old", name)


def beside(folder: Path, what: str, name: str) -> Path:
    return folder / f".{what}-{name.replace('/', '-')}"


def write_table(folder: Path, name: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> None:
    """A small table as one Parquet file in a folder of its name; without rows it still has its columns."""
    (folder / name).mkdir(exist_ok=True)
    table = pa.Table.from_pylist(list(rows), schema=schema)
    pq.write_table(table, folder / name / "part-00000.parquet", compression="lz4")
