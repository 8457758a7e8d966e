"""Descriptions of clusters in files: which there are, and the clusters in each, or why one cannot be read.

A file ``.json`` holds one cluster, ``.jsonl`` one a line, either plain or gzip; a file named outright may have any
name and then holds one. The forms are those of ``kafka_rack.cluster_layout``; a text ``name`` or ``cluster`` names a
cluster.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka_rack.cluster_layout import ClusterLayout, layout_of_json
from kafka_rack.errors import InputError
from kafka_rack.placement import UsableBroker
from kafka_rack.wire_capture.files import CHUNK_BYTES, GZIP_MAGIC, Damage, Source, unreadable

LINES = ".jsonl"
SUFFIXES = (".json", LINES)
HIGHEST_ID = 2**31 - 1
"""A broker id is an int32 on the wire, and in the tables."""

TOO_DEEP = "lists or objects nested far deeper than any description"
MOST_REASON = 400
"""Characters of a reason; longer ones quote whole files."""


class Piece(NamedTuple):
    """A file, or the lines of a file from byte ``start``, of which the first has number ``line``, to byte ``end``.

    ``shown`` is its path as it was given; ``line`` is 0 and ``end`` None for a whole file.
    """

    path: str
    shown: str
    start: int
    end: int | None
    line: int

    @property
    def in_lines(self) -> bool:
        return plain_name(self.shown).endswith(LINES)


class Described(NamedTuple):
    """A cluster of a file; ``line`` in a file with one cluster a line."""

    cluster: str
    file: str
    line: int | None
    layout: ClusterLayout


class Problem(NamedTuple):
    """A file, or a line of it, that gives no cluster."""

    file: str
    line: int | None
    reason: str


def find_pieces(paths: Iterable[str], *, leave_out: Sequence[Path] = ()) -> tuple[list[Piece], list[Problem]]:
    """All that is to be read under these files and folders, by path and line; and what cannot be.

    In folders, other files are passed over, and so are names that begin with ``.`` or ``_``. Plain files of lines are
    given line by line.

    Args:
        leave_out: files that are passed over in folders: the job's own.

    Raises: FileNotFoundError: a path that is not there.
    """
    found: dict[str, str] = {}
    problems: list[Problem] = []
    own = {str(path.resolve()) for path in leave_out}
    for given in paths:
        path = Path(given)
        if path.is_dir():
            for inside in files_inside(path, problems):
                if str(inside.resolve()) not in own:
                    found.setdefault(str(inside.resolve()), str(inside))
        elif path.exists():
            found.setdefault(str(path.resolve()), str(path))
        else:
            raise FileNotFoundError(f"{given}: no such file or folder")
    pieces: list[Piece] = []
    for real, shown in sorted(found.items(), key=lambda item: (item[1], item[0])):
        try:
            pieces += pieces_of(real, shown)
        except OSError as error:
            problems.append(Problem(shown, None, unreadable(error)))
    return pieces, problems


def files_inside(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    """The files below a folder that have the name of a description; folders that cannot be listed are problems."""

    def shut(error: OSError) -> None:
        problems.append(Problem(str(error.filename), None, f"cannot be listed: {error.strerror}"))

    for here, inner, names in os.walk(folder, onerror=shut):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "_")))
        for name in sorted(names):
            inside = Path(here, name)
            if not name.startswith((".", "_")) and plain_name(name).endswith(SUFFIXES) and inside.is_file():
                yield inside


def plain_name(name: str) -> str:
    return name.removesuffix(".gz")


def pieces_of(path: str, shown: str) -> list[Piece]:
    """A file whole, or line by line where lines can be found without reading what they say. Raises OSError."""
    whole = Piece(path, shown, 0, None, 0)
    with Path(path).open("rb") as file:
        if not whole.in_lines or file.read(2) == GZIP_MAGIC:
            return [whole]
        file.seek(0)
        pieces = []
        start = 0
        for number, line in enumerate(file, 1):
            if line.strip():
                pieces.append(Piece(path, shown, start, start + len(line), number))
            start += len(line)
    return pieces


def clusters_of(piece: Piece, brokers: Sequence[UsableBroker] | None = None) -> Iterator[Described | Problem]:
    """The clusters of a piece, in order; what cannot be read as problems.

    Args:
        brokers: of descriptions that name none, as the plans of Kafka's reassignment tool.
    """
    number = max(piece.line, 1)
    try:
        with Source(piece.path, piece.start) as source:
            if not piece.in_lines:
                content = b"".join(iter(lambda: source.read(CHUNK_BYTES), b""))
                yield cluster_of(content, piece.shown, None, brokers)
                return
            while piece.end is None or source.position < piece.end:
                line = source.read_line()
                if not line:
                    return
                if line.strip():
                    yield cluster_of(line.rstrip(b"\r\n"), piece.shown, number, brokers)
                number += 1
    except Damage as damage:
        yield Problem(piece.shown, number if piece.in_lines else None, damage.reason)


def cluster_of(
    content: bytes, file: str, line: int | None, brokers: Sequence[UsableBroker] | None = None
) -> Described | Problem:
    """The cluster that a file's or a line's bytes describe, or why there is none."""
    try:
        said = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        return Problem(file, line, "is no UTF-8 text")
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}" if line is None else f"column {error.colno}"
        return Problem(file, line, f"{place}: {error.msg}")
    except ValueError:
        return Problem(file, line, "a number with more digits than any field has")
    except RecursionError:
        return Problem(file, line, TOO_DEEP)
    try:
        layout = layout_of_json(said, brokers if isinstance(said, dict) and not said.get("brokers") else None)
        name = name_of(said, file, line)
        check_values(layout, name)
    except InputError as error:
        return Problem(file, line, shortened(printable(str(error))))
    except RecursionError:
        return Problem(file, line, TOO_DEEP)
    return Described(name, file, line, layout)


def name_of(said: Any, file: str, line: int | None) -> str:
    """What the description calls the cluster; else the file's name, with the line where there are several.

    >>> name_of({}, "fleet/eu.jsonl.gz", 3), name_of({"name": "eu"}, "fleet/1.json", None)
    ('eu:3', 'eu')
    >>> name_of({"cluster_id": "xQ"}, "fleet/1.json", None)  # as `kafka-rack inspect` writes it
    'xQ'
    """
    for key in ("name", "cluster", "cluster_id"):
        if isinstance(said.get(key), str) and said[key]:
            return str(said[key])
    stem = Path(plain_name(file)).name
    for suffix in (LINES, ".json"):
        stem = stem.removesuffix(suffix)
    return stem if line is None else f"{stem}:{line}"


def check_values(layout: ClusterLayout, name: str) -> None:
    """Refuse what has no place in a table. Raises InputError."""
    for broker in layout.brokers:
        if broker.id > HIGHEST_ID:
            raise InputError(f"broker {broker.id}: ids go up to {HIGHEST_ID}")
    texts = [name, *layout.topics, *layout.racks]
    for text in texts:
        if printable(text) != text:
            raise InputError(f"{printable(text)}: half of a surrogate pair is no text")


def printable(text: str) -> str:
    """A text with what no encoding can hold replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened(text: str) -> str:
    """A reason with its middle left out where it is long."""
    half = MOST_REASON // 2
    return text if len(text) <= MOST_REASON else f"{text[:half]} ... {text[-half:]}"
