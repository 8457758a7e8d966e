"""Changes of several files that are made whole, whenever their process dies.

What a run makes lies below ``_temporary`` until all of it is there. Then ``commit.json`` beside it says what goes where
and what goes away: one small file, which is there or not. From that moment the change is decided. Whoever comes next
and finds it unfinished finishes it, so no moment is one in which something is lost.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import msgspec

from kafka_rack.pipeline.output.table_file import write_whole
from kafka_rack.storage import Location, matching

Item = TypeVar("Item")
TEMPORARY = "_temporary"
COMMIT = "commit.json"
STORE_THREADS = 16
"""An object store answers many at once, each after tens of milliseconds."""
STATE, STARTED = 0, 19
"""Places in a line of Linux's /proc/PID/stat, counted after the name of the program; a time counts from the boot."""
ENDED = "Z"
"""As a state: it is no more, but its parent has not asked how it ended."""


class Commit(msgspec.Struct):
    """What is decided, of files or whole folders: pairs are paths in the run's folder and in the output.

    What is new comes first and what goes is last, so that readers who look on miss nothing that was there.
    """

    added: list[tuple[str, str]]
    replaced: list[tuple[str, str]]
    removed: list[str]


def run_name() -> str:
    """A name for a run's folder that says whose it is: PROCESS-UNIQUE@MACHINE."""
    return f"{process_name(os.getpid())}-{uuid4().hex}@{socket.gethostname()}"


def process_name(process: int) -> str:
    """A process's number and, where the system says it, when it began: a container that starts again has the same ones.

    >>> process_name(1 << 30)
    '1073741824'
    """
    began = process_fields(process)[STARTED:][:1]
    return ".".join([str(process), *began])


def process_fields(process: int) -> list[str]:
    """What Linux tells of a process; nothing elsewhere, or where it is no more."""
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return told.rpartition(")")[2].split()


def is_own(run: str) -> bool:
    """Whether this process named a run so."""
    return run.startswith(f"{process_name(os.getpid())}-") and run.endswith(f"@{socket.gethostname()}")


def commit(out: Location, run: Location, change: Commit) -> None:
    """Make a change: it is decided, carried out, and its run's folder goes.

    Raises: OSError: not all could be moved; what was decided stays, and ``settle`` takes it up again.
    """
    decide(run, change)
    carry_out(out, run, change)
    drop(run)


def decide(run: Location, change: Commit) -> None:
    """From here on the change is made, by this process or by the next."""
    run.mkdir(parents=True, exist_ok=True)
    write_whole(run / COMMIT, msgspec.json.encode(change))


def carry_out(out: Location, run: Location, change: Commit) -> None:
    """Move and remove; what was moved before by somebody else is left as it is."""

    def move(pair: tuple[str, str]) -> None:
        with suppress(FileNotFoundError):
            put(run / pair[0], out / pair[1], run)

    def remove(path: str) -> None:
        old = out / path
        if old.is_dir():
            remove_tree(old)
        else:
            old.unlink(missing_ok=True)

    each(move, change.added, out)
    each(move, change.replaced, out)
    each(remove, change.removed, out)


def put(made: Location, place: Location, run: Location) -> None:
    """Have one file or folder take its place. Raises FileNotFoundError: it is not there any more."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(made, Path) and isinstance(place, Path):
        if made.is_dir() and place.exists():
            place.replace(str(run / f".old-{uuid4().hex}"))
        made.replace(place)
        return
    assert not isinstance(made, Path)
    assert not isinstance(place, Path)
    made.replace(place)


def drop(run: Location) -> None:
    """A run's folder goes, first what it had decided; and the folder of all runs if it was the last there."""
    (run / COMMIT).unlink(missing_ok=True)
    remove_tree(run)
    with suppress(OSError):
        run.parent.rmdir()


def settle(out: Location) -> None:
    """Finish what runs had decided that died over it, and remove what others of this machine left."""
    for run in matching(out / TEMPORARY, "*@*"):
        mine = run.name.endswith(f"@{socket.gethostname()}")
        if mine and is_running(run.name.partition("-")[0]):
            continue
        change = decided(run)
        if change is not None:
            carry_out(out, run, change)
        if change is not None or mine:
            drop(run)


def decided(run: Location) -> Commit | None:
    try:
        return msgspec.json.decode((run / COMMIT).read_bytes(), type=Commit)
    except FileNotFoundError:
        return None


def is_running(process: str) -> bool:
    """Whether a process of this machine still is, by its name; one that has no such name is left alone."""
    number = process.partition(".")[0]
    if not number.isdigit():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        pass
    state = process_fields(int(number))[STATE:][:1]
    return state != [ENDED] and process in (number, process_name(int(number)))


def remove_tree(folder: Location) -> None:
    if isinstance(folder, Path):
        shutil.rmtree(folder, ignore_errors=True)
    else:
        folder.remove_tree()


def each(work: Callable[[Item], None], items: Iterable[Item], out: Location) -> None:
    """``work`` over items: one after the other on this machine, side by side on a store."""
    if isinstance(out, Path):
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(STORE_THREADS) as pool:
        for _ in pool.map(work, items):
            pass
