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
from kafka_rack.storage import Location, location
from kafka_rack.wire_capture.files import (
    CHUNK_BYTES,
    GZIP_MAGIC,
    DamagedCapture,
    DecompressedFile,
    unreadable,
    why_missing,
)

LINES = ".jsonl"
SUFFIXES = (".json", LINES)
MAX_ID = 2**31 - 1
"""A broker id is an int32 on the wire, and in the tables."""

MAX_DESCRIPTION_BYTES = 128 << 20
"""A million partitions take about a hundred bytes each."""
TOO_LARGE = f"is longer than {MAX_DESCRIPTION_BYTES} bytes, which no cluster's description is"
TOO_DEEP = "lists or objects nested far deeper than any description"
MAX_REASON_CHARACTERS = 400
"""Characters of a reason; longer ones quote whole files."""


class FleetPart(NamedTuple):
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


class UnreadableCluster(NamedTuple):
    """A file, or a line of it, that gives no cluster."""

    file: str
    line: int | None
    reason: str


def find_pieces(
    paths: Iterable[str], *, leave_out: Sequence[Location] = ()
) -> tuple[list[FleetPart], list[UnreadableCluster]]:
    """All that is to be read under these files and folders, by path and line; and what cannot be.

    In folders, other files are passed over, and so are names that begin with ``.`` or ``_``. Plain files of lines are
    given line by line.

    Args:
        leave_out: files that are passed over in folders: the job's own.

    Raises: FileNotFoundError: a path that is not there.
    """
    found: dict[str, str] = {}
    problems: list[UnreadableCluster] = []
    own = {str(path.resolve()) for path in leave_out}
    for given in paths:
        path = location(given)
        if path.is_dir():
            for inside in files_inside(path, problems):
                if str(inside.resolve()) not in own:
                    found.setdefault(str(inside.resolve()), str(inside))
        elif path.exists():
            found.setdefault(str(path.resolve()), str(path))
        else:
            raise FileNotFoundError(f"{given}: {why_missing(path)}")
    pieces: list[FleetPart] = []
    for real, shown in sorted(found.items(), key=lambda item: (item[1], item[0])):
        try:
            pieces += pieces_of(real, shown)
        except OSError as error:
            problems.append(UnreadableCluster(shown, None, unreadable(error)))
    return pieces, problems


def files_inside(folder: Location, problems: list[UnreadableCluster]) -> Iterator[Location]:
    """The files below a folder that have the name of a description; folders that cannot be listed are problems."""
    if not isinstance(folder, Path):
        for file in folder.files():
            names = file.path.relative_to(folder).split("/")
            if plain_name(names[-1]).endswith(SUFFIXES) and not any(name.startswith((".", "_")) for name in names):
                yield file.path
        return

    def shut(error: OSError) -> None:
        problems.append(UnreadableCluster(str(error.filename), None, f"cannot be listed: {error.strerror}"))

    for here, inner, names in os.walk(folder, onerror=shut):
        inner[:] = sorted(name for name in inner if not name.startswith((".", "_")))
        for name in sorted(names):
            inside = Path(here, name)
            if not name.startswith((".", "_")) and plain_name(name).endswith(SUFFIXES) and inside.is_file():
                yield inside


def plain_name(name: str) -> str:
    return name.removesuffix(".gz")


def pieces_of(path: str, shown: str) -> list[FleetPart]:
    """A file whole, or line by line where lines can be found without reading what they say. Raises OSError."""
    whole = FleetPart(path, shown, 0, None, 0)
    with location(path).open("rb") as file:
        if not whole.in_lines or file.read(2) == GZIP_MAGIC:
            return [whole]
        file.seek(0)
        pieces = []
        start, number, size, says = 0, 1, 0, False
        while part := file.readline(CHUNK_BYTES):
            size += len(part)
            says = says or bool(part.strip())
            if part.endswith(b"\n"):
                if says:
                    pieces.append(FleetPart(path, shown, start, start + size, number))
                start, number, size, says = start + size, number + 1, 0, False
        if says:
            pieces.append(FleetPart(path, shown, start, start + size, number))
    return pieces


def clusters_of(
    piece: FleetPart, brokers: Sequence[UsableBroker] | None = None
) -> Iterator[Described | UnreadableCluster]:
    """The clusters of a piece, in order; what cannot be read as problems.

    Args:
        brokers: of descriptions that name none, as the plans of Kafka's reassignment tool.
    """
    number = max(piece.line, 1)
    try:
        with DecompressedFile(piece.path, piece.start) as source:
            if not piece.in_lines:
                content = source.read(MAX_DESCRIPTION_BYTES + 1)
                if len(content) > MAX_DESCRIPTION_BYTES:
                    yield UnreadableCluster(piece.shown, None, TOO_LARGE)
                else:
                    yield cluster_of(content, piece.shown, None, brokers)
                return
            while piece.end is None or source.position < piece.end:
                line = source.read_line(MAX_DESCRIPTION_BYTES + 1)
                if not line:
                    return
                if len(line) > MAX_DESCRIPTION_BYTES and not line.endswith(b"\n"):
                    source.pass_line()
                    yield UnreadableCluster(piece.shown, number, TOO_LARGE)
                elif line.strip():
                    yield cluster_of(line.rstrip(b"\r\n"), piece.shown, number, brokers)
                number += 1
    except DamagedCapture as damage:
        yield UnreadableCluster(piece.shown, number if piece.in_lines else None, damage.reason)


def cluster_of(
    content: bytes, file: str, line: int | None, brokers: Sequence[UsableBroker] | None = None
) -> Described | UnreadableCluster:
    """The cluster that a file's or a line's bytes describe, or why there is none."""
    try:
        said = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        return UnreadableCluster(file, line, "is no UTF-8 text")
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}" if line is None else f"column {error.colno}"
        return UnreadableCluster(file, line, f"{place}: {error.msg}")
    except ValueError:
        return UnreadableCluster(file, line, "a number with more digits than any field has")
    except RecursionError:
        return UnreadableCluster(file, line, TOO_DEEP)
    try:
        layout = layout_of_json(said, brokers if isinstance(said, dict) and not said.get("brokers") else None)
        name = name_of(said, file, line)
        check_values(layout, name)
    except InputError as error:
        return UnreadableCluster(file, line, shortened(printable(str(error))))
    except RecursionError:
        return UnreadableCluster(file, line, TOO_DEEP)
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
        if broker.id > MAX_ID:
            raise InputError(f"broker {broker.id}: ids go up to {MAX_ID}")
    texts = [name, *layout.topics, *layout.racks]
    for text in texts:
        if printable(text) != text:
            raise InputError(f"{printable(text)}: half of a surrogate pair is no text")


def printable(text: str) -> str:
    """A text with what no encoding can hold replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")


def shortened(text: str) -> str:
    """A reason with its middle left out where it is long."""
    half = MAX_REASON_CHARACTERS // 2
    return text if len(text) <= MAX_REASON_CHARACTERS else f"{text[:half]} ... {text[-half:]}"
