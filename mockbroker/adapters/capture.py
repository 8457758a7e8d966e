"""Every frame between clients and brokers as lines of JSON, one a frame, in files of a size.

The form is that of fixtures/captures: line 1 describes the capture, ``open`` and ``close`` lines a connection's life,
and each frame has its time in microseconds, its connection, its direction and its bytes in base64. A file that is full
is followed by another, ``trace-0001.jsonl`` behind ``trace.jsonl``, that stands alone: it repeats the first line, the
connections that are open, the requests without an answer (``asked``) and what topics there are (``topic``).
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from io import FileIO
from pathlib import Path
from typing import Any

DEFAULT_FILE_BYTES = 64 << 20
MAX_FRAME_BYTES = 1 << 28
MAX_KEPT_BYTES = 4 << 20
"""Of requests without an answer, by connection; older ones are not carried into the next file."""
CAPTURE_FORMAT = 1


class Capture:
    """Writes what passes.

    Args:
        path: the first file. Raises OSError if it cannot be written.
        file_bytes: about how large a file gets; the lines that open the next one come on top.
        now_us: the time, in us since 1970.
        describe: the fields of the first line and the topics, asked at the start of each file: ``(fields, topics)``,
            a topic being its name, its 16-byte id and its partitions' leaders.
    """

    def __init__(
        self,
        path: Path,
        *,
        now_us: Callable[[], int],
        describe: Callable[[], tuple[dict[str, Any], Iterable[tuple[str, bytes, list[int]]]]],
        file_bytes: int = DEFAULT_FILE_BYTES,
    ) -> None:
        self.path, self.now_us, self.describe, self.file_bytes = path, now_us, describe, file_bytes
        self.files: list[Path] = []
        self.taps: dict[int, Tap] = {}
        self._file: FileIO | None = None
        self._written = 0
        self._begin()

    def connection(self, number: int, broker: int, listener: str, client: str) -> Tap:
        """A connection has been opened."""
        tap = self.taps[number] = Tap(self, number, broker, listener, client, self.now_us())
        self.write(tap.opening())
        return tap

    def write(self, line: str) -> None:
        """Write a line, whole and at once, so that who follows the file sees it."""
        if self._file is None:
            return
        if self._written > self.file_bytes:
            self._file.close()
            self._begin()
        self._put(line)

    def close(self) -> None:
        """Write the end of the recording."""
        if self._file is not None:
            self._put(f'{{"t":{self.now_us()},"ev":"end"}}\n')
            self._file.close()
            self._file = None

    def _put(self, line: str) -> None:
        assert self._file is not None
        data = line.encode()
        self._file.write(data)
        self._written += len(data)

    def _begin(self) -> None:
        number = len(self.files)
        path = self.path if number == 0 else self.path.with_name(f"{self.path.stem}-{number:04d}{self.path.suffix}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise OSError(error.errno, f"cannot write {path}: {error.strerror}") from None
        self.files.append(path)
        self._written = 0
        fields, topics = self.describe()
        first = {"name": path.stem, **fields, "ev": "capture", "format": CAPTURE_FORMAT, "started": self.now_us()}
        self._put(json.dumps(first, separators=(",", ":")) + "\n")
        for name, topic_id, leaders in topics:
            topic = {"ev": "topic", "name": name, "id": b64encode(topic_id).decode(), "leaders": leaders}
            self._put(json.dumps(topic, separators=(",", ":")) + "\n")
        for tap in self.taps.values():
            self._put(tap.opening())
            for line in tap.unanswered():
                self._put(line)
        self._written = 0  # a file has room for frames, however much stands before them


class Tap:
    """One connection's bytes, as they come and go."""

    __slots__ = (
        "asked",
        "asked_bytes",
        "broker",
        "capture",
        "client",
        "listener",
        "number",
        "opened",
        "_received",
        "_sent",
    )

    def __init__(self, capture: Capture, number: int, broker: int, listener: str, client: str, opened: int) -> None:
        self.capture, self.number, self.broker, self.listener = capture, number, broker, listener
        self.client, self.opened = client, opened
        self.asked: dict[int, tuple[int, bytes]] = {}
        self.asked_bytes = 0
        self._received = bytearray()
        self._sent = bytearray()

    def opening(self) -> str:
        """The line that opens it."""
        return (
            f'{{"t":{self.opened},"ev":"open","conn":{self.number},"broker":{self.broker},'
            f'"listener":{json.dumps(self.listener)},"client":{json.dumps(self.client)}}}\n'
        )

    def unanswered(self) -> list[str]:
        """A line for each request that an answer may still come for."""
        return [
            f'{{"t":{ts},"ev":"asked","conn":{self.number},"data":"{b64encode(data).decode()}"}}\n'
            for ts, data in self.asked.values()
        ]

    def received(self, data: bytes) -> None:
        """Bytes from the client, in any cut."""
        now = self.capture.now_us()
        for frame in frames(self._received, data):
            self.capture.write(self._line(now, "req", frame))
            number = correlation_id(frame[4:8])
            if number in self.asked:
                self._forget(number)
            self.asked[number] = (now, frame)
            self.asked_bytes += len(frame)
            while self.asked_bytes > MAX_KEPT_BYTES:
                self._forget(next(iter(self.asked)))

    def sent(self, data: bytes) -> None:
        """Bytes to the client, in any cut."""
        now = self.capture.now_us()
        for frame in frames(self._sent, data):
            self.capture.write(self._line(now, "resp", frame))
            answered = correlation_id(frame[:4])
            while answered in self.asked:  # what was asked before it will not be answered any more
                self._forget(next(iter(self.asked)))

    def closed(self) -> None:
        """The connection has ended."""
        self.capture.taps.pop(self.number, None)
        self.capture.write(
            f'{{"t":{self.capture.now_us()},"ev":"close","conn":{self.number},'
            f'"partial_req":{len(self._received)},"partial_resp":{len(self._sent)}}}\n'
        )

    def _line(self, ts: int, direction: str, frame: bytes) -> str:
        data = b64encode(frame).decode()
        return f'{{"t":{ts},"conn":{self.number},"dir":"{direction}","n":{len(frame)},"data":"{data}"}}\n'

    def _forget(self, number: int) -> None:
        self.asked_bytes -= len(self.asked.pop(number)[1])


def correlation_id(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def frames(buffer: bytearray, data: bytes) -> list[bytes]:
    """The frames that are whole with ``data`` behind what was there, without their lengths; the rest stays.

    >>> frames(bytearray(), bytes([0, 0, 0, 2, 7, 8, 0]))
    [b'\\x07\\x08']
    """
    buffer += data
    whole: list[bytes] = []
    at = 0
    while len(buffer) - at >= 4:
        size = int.from_bytes(buffer[at : at + 4], "big")
        if size > MAX_FRAME_BYTES:  # no frame: the broker ends this connection
            at = len(buffer)
            break
        if len(buffer) - at - 4 < size:
            break
        whole.append(bytes(buffer[at + 4 : at + 4 + size]))
        at += 4 + size
    del buffer[:at]
    return whole
