"""A job's output: made beside what is there, and put in its place when all of it is whole."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from kafka_rack.pipeline.output.commits import TEMPORARY, Commit, commit, decide, drop, is_own, run_name, settle
from kafka_rack.pipeline.output.table_file import write_parquet
from kafka_rack.storage import Location, RemoteFile, RemotePath, matching

OURS = (".parquet",)
"""What folders of output hold; a folder with anything else is not ours to replace."""


class NotOurs(Exception):
    """Something of another origin is where output would go; the text says what."""


@contextmanager
def staged(out: Location, names: Sequence[str], checked: Collection[str] = ()) -> Iterator[Any]:
    """A folder for output; what is in it takes the place of the same names below ``out`` when the block ends well.

    Else nothing changes: readers see what was there. A process that is killed among the last renames has decided what
    goes where, and the next run ends its work before it begins its own.

    Args:
        names: folders and files that the job writes, also as ``folder/inner``, in the order in which they take their
            places; one that the job did not make this time goes.
        checked: those of them of which the caller knows that they may be replaced.

    Raises: NotOurs: one of them is there and holds what no job wrote. OSError.
    """
    out.mkdir(parents=True, exist_ok=True)
    settle(out)
    for name in names:
        if name not in checked:
            check_ours(out / name)
    folder = out / TEMPORARY / run_name()
    folder.mkdir(parents=True)
    try:
        yield folder
        drop_unfinished(folder, names)
        change = change_of(folder, out, names)
        if isinstance(folder, Path) and isinstance(out, Path):
            decide(folder, change)
            put_in_place(folder, out, names)
            drop(folder)
    except BaseException:
        drop(folder)
        raise
    if not isinstance(folder, Path):
        commit(out, folder, change)


def drop_unfinished(folder: Location, names: Sequence[str]) -> None:
    """Remove what tasks are still writing that Spark tried beside themselves: others have done their work.

    They write under names of their own, and theirs would be what no job knows; in a store files appear whole.
    """
    if isinstance(folder, Path):
        for name in names:
            for left in (folder / name).glob(".*"):
                left.unlink(missing_ok=True)


def change_of(folder: Location, out: Location, names: Sequence[str]) -> Commit:
    """What has to happen for output to take its place: folders whole on this machine, file by file in a store."""
    if isinstance(folder, Path):
        made = [name for name in names if (folder / name).exists()]
        return Commit([], [(name, name) for name in made], [name for name in names if name not in made])
    assert isinstance(out, RemotePath)
    made = [file.path.relative_to(folder) for name in names for file in below(folder / name)]
    there = {file.path.relative_to(out) for name in names for file in below(out / name)}
    added, replaced = ([(path, path) for path in made if (path in there) == known] for known in (False, True))
    return Commit(added, replaced, sorted(there.difference(made)))


def below(place: RemotePath) -> list[RemoteFile]:
    """The files of a folder in a store; a file itself."""
    return [RemoteFile(place, 0)] if place.is_file() else place.files()


def clear(out: Location) -> None:
    """Remove what runs of this process left that were interrupted, and those of processes that are no more.

    Tasks may still have written while their run ended; call it once they cannot.
    """
    for folder in matching(out / TEMPORARY, "*@*"):
        if is_own(folder.name):
            drop(folder)
    settle(out)


def check_ours(path: Location) -> None:
    """Refuse to replace a folder that holds other things."""
    if path.suffix:
        if path.is_dir():
            raise NotOurs(f"{path} is a folder, but a file goes there: choose another place for the output")
    elif path.exists():
        if not path.is_dir():
            raise NotOurs(f"{path} is a file, but a folder goes there: choose another place for the output")
        for found in matching(path, "*"):
            if found.is_dir() or found.suffix not in OURS:
                raise NotOurs(f"{path} holds {found.name}, which no job wrote: choose another place for the output")


def put_in_place(folder: Path, out: Path, names: Sequence[str]) -> None:
    """Move what was made to its place, what was there out of the way; all of it, or after an error none of it.

    At each moment what was made is either below ``folder`` by its name or in its place, so that ``settle`` can go on.
    """
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
                (out / name).replace(folder / name)
            if was_there:
                kept(folder, name).replace(out / name)
        raise


def kept(folder: Path, name: str) -> Path:
    """Where something that was there is until everything is in place."""
    return folder / f".old-{name.replace('/', '-')}"


def write_table(folder: Location, name: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> None:
    """A small table as one Parquet file in a folder of its name; without rows it still has its columns."""
    (folder / name).mkdir(exist_ok=True)
    table = pa.Table.from_pylist(list(rows), schema=schema)
    write_parquet(table, folder / name / "part-00000.parquet")
