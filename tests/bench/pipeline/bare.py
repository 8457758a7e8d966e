"""The codec without tables: what the pipeline is measured against.

From memory, headers and bodies alone; or from the very file that the pipeline reads, line by line: JSON to bytes, each
response joined to its request (no body can be read without), header and body, and the record batches' sizes as the
tables hold them: decompressed and counted. Nothing is learned, kept or written.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

PRODUCE, FETCH, SHARE_FETCH = 0, 1, 78


class Framed(NamedTuple):
    """A frame without its length, and the API and version that it is read by."""

    is_request: bool
    api_key: int
    version: int
    data: bytes


class FrameLine(msgspec.Struct):
    """What is needed of a line."""

    conn: int = -1
    dir: str | None = None
    data: bytes = b""


def frames_of(path: Path) -> Iterator[Framed]:
    """The frames of a capture of lines; responses without a request are left out."""
    decode = msgspec.json.Decoder(FrameLine).decode
    asked: dict[tuple[int, bytes], tuple[int, int]] = {}
    with path.open("rb") as file:
        for text in file:
            line = decode(text)
            if line.dir is None:
                continue
            data = line.data
            if line.dir == "req":
                key, version = int.from_bytes(data[:2], "big", signed=True), int.from_bytes(data[2:4], "big")
                asked[line.conn, data[4:8]] = key, version
                yield Framed(True, key, version, data)
            elif (found := asked.pop((line.conn, data[:4]), None)) is not None:
                yield Framed(False, *found, data)


def read(frame: Framed) -> Any:
    """A frame's header and body; None if it cannot be read, which a few of the captures' frames are made for."""
    from protocol.errors import ProtocolError
    from protocol.headers import read_request, read_response

    try:
        if frame.is_request:
            return read_request(frame.data, trailing="ignore")[1]
        return read_response(frame.data, frame.api_key, frame.version)[1]
    except ProtocolError:
        return None


def records_of(frame: Framed, message: Any) -> Iterator[bytes | None]:
    """The records fields of a message that has any."""
    if message is None:
        return
    if frame.is_request:
        if frame.api_key == PRODUCE:
            for topic in message.topic_data:
                for partition in topic.partition_data:
                    yield partition.records
    elif frame.api_key in (FETCH, SHARE_FETCH):
        for topic in message.responses:
            for partition in topic.partitions:
                yield partition.records


def from_memory(frames: list[Framed]) -> None:
    """Headers and bodies of frames that are there already."""
    for frame in frames:
        read(frame)


def from_file(path: Path) -> None:
    """Headers and bodies of a file's frames."""
    for frame in frames_of(path):
        read(frame)


def with_batches(path: Path) -> None:
    """The same and the sizes of the record batches: the bare codec that the tables are measured against."""
    from protocol.records.sizes import batch_sizes

    for frame in frames_of(path):
        for records in records_of(frame, read(frame)):
            for _ in batch_sizes(records):
                pass


def at_once(path: Path, processes: int) -> None:
    """The same by several processes at once, each of which reads the whole file: cores that share what they have."""
    children = []
    for _ in range(processes):
        child = os.fork()
        if not child:
            code = 1
            try:
                with_batches(path)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * processes
