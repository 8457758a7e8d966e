"""Writes every frame between clients and brokers to files, as lines of JSON.

The form is that of fixtures/captures: line 1 describes the capture, ``open`` and ``close`` lines a connection's life,
and each frame has its time in microseconds, its connection, its direction and its bytes in base64. A full file is
followed by another, ``trace-0001.jsonl`` after ``trace.jsonl``, that is complete in itself: it repeats the first line,
the open connections, the requests without an answer (``asked``) and the topics (``topic``).

Lines are collected, and written every ``BATCH_S``, or once they are large. If a file cannot be written, that is logged,
the capture ends, and clients are served as before.
"""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from mockbroker.call import Call, Outcome
from mockbroker.core.redaction import has_secrets, is_bare_token, redacted_request, redacted_response

log = logging.getLogger("mockbroker")

MAX_KEPT_BYTES = 4 << 20
"""Of requests without an answer, by connection; older ones are not carried into the next file."""
BATCH_S = 0.05
WRITE_BYTES = 1 << 16
"""The size of lines that are written at once."""
LENGTH_BYTES = 4  # in front of each frame
FORMAT = 1

Fields = dict[str, Any]
Topics = Iterable[tuple[str, bytes, list[int]]]


class Capture:
    """Records what passes. ``files`` are the files so far, the first one first.

    Args:
        path: the first file. Raises OSError if it cannot be written.
        file_bytes: how large a file gets, without the lines that open it.
        now_us: the time, in us since 1970.
        later: calls a function after a number of seconds.
        describe: the fields of the first line and the topics, at the start of each file: ``(fields, topics)``, a topic
            being its name, its 16-byte id and its partitions' leaders.
    """

    def __init__(
        self,
        path: Path,
        *,
        now_us: Callable[[], int],
        later: Callable[[float, Callable[[], None]], object],
        describe: Callable[[], tuple[Fields, Topics]],
        file_bytes: int,
    ) -> None:
        self.files: list[Path] = []
        self._path, self._now_us, self._later, self._describe = path, now_us, later, describe
        self._file_bytes = file_bytes
        self._noted_bytes = 0  # in this file, without the lines that open it
        self._whole_bytes = 0  # of whole lines in this file
        self._pending = bytearray()
        self._is_due = False
        self._taps: dict[int, Tap] = {}  # by the connection's number
        self._file: FileIO | None = None
        self._begin_file()

    def connection(self, number: int, broker: int, listener: str, client: str) -> Tap:
        """A connection has been opened, from this address with its port."""
        fields = {"t": self._now_us(), "ev": "open", "conn": number, "broker": broker}
        tap = Tap(self, number, json_line({**fields, "listener": listener, "client": client}))
        self._add(tap.opened_line)
        self._taps[number] = tap
        return tap

    def call_arrived(self, call: Call) -> None:
        """A request has been taken from its connection."""
        tap = self._taps.get(call.session.connection)
        if tap is not None and call.frame and not is_bare_token(call):
            tap.request(redacted_request(call.frame))

    def call_ended(self, outcome: Outcome) -> None:
        """A call has ended, with or without an answer."""
        tap = self._taps.get(outcome.call.session.connection)
        if tap is not None and outcome.output:
            call, frame = outcome.call, b"".join(outcome.output)[LENGTH_BYTES:]
            if not has_secrets(call.api_key, "response"):
                tap.response(frame)
            elif not is_bare_token(call):
                tap.response(redacted_response(call, frame))

    def frame(self, tap: Tap, direction: bytes, frame: bytes) -> int:
        """A whole frame has passed, without its length. Returns the time."""
        at_us = self._now_us()
        values = at_us, tap.number, direction, len(frame), b64encode(frame)
        self._add(b'{"t":%d,"conn":%d,"dir":"%b","n":%d,"data":"%b"}\n' % values)
        return at_us

    def closed(self, tap: Tap, unread_bytes: int) -> None:
        """A connection has ended."""
        fields = {"t": self._now_us(), "ev": "close", "conn": tap.number}
        self._add(json_line({**fields, "partial_req": unread_bytes, "partial_resp": 0}))
        self._taps.pop(tap.number, None)

    def close(self) -> None:
        """Write all lines, and the end of the recording."""
        self._add(json_line({"t": self._now_us(), "ev": "end"}))
        self._write_lines()
        self._end()

    def _add(self, line: bytes) -> None:
        if self._noted_bytes > self._file_bytes:
            self._next_file()
        if self._file is None:
            return
        self._pending += line
        self._noted_bytes += len(line)
        if len(self._pending) > WRITE_BYTES:
            self._write_lines()
        elif not self._is_due:
            self._is_due = True
            self._later(BATCH_S, self._write_lines)

    # files

    def _next_file(self) -> None:
        """Continue in the next file, unless the capture has ended."""
        self._write_lines()
        if self._file is not None:
            try:
                self._begin_file()
            except OSError as error:
                self._give_up(error.strerror or str(error))

    def _begin_file(self) -> None:
        """Begin the next file, with the lines that make it complete in itself. Raises OSError, naming it."""
        number = len(self.files)
        path = self._path if number == 0 else self._path.with_name(f"{self._path.stem}-{number:04d}{self._path.suffix}")
        fields, topics = self._describe()
        start = {"name": path.stem, **fields, "ev": "capture", "format": FORMAT, "started": self._now_us()}
        lines = [json_line(start)]
        for name, topic_id, leaders in topics:
            topic = {"ev": "topic", "name": name, "id": b64encode(topic_id).decode(), "leaders": leaders}
            lines.append(json_line(topic))
        for tap in self._taps.values():
            lines += [tap.opened_line, *tap.asked_lines()]
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("wb", buffering=0)
            try:
                whole_bytes = write_whole(file, b"".join(lines))
            except OSError:
                file.close()
                path.unlink()
                raise
        except OSError as error:
            raise OSError(error.errno, f"cannot write {path}: {error.strerror}") from None
        self._end()
        self._file, self._whole_bytes, self._noted_bytes = file, whole_bytes, 0
        self.files.append(path)

    def _write_lines(self) -> None:
        """Write the lines, whole; if that fails, the capture ends."""
        lines, self._pending, self._is_due = self._pending, bytearray(), False
        if self._file is None:
            return
        try:
            self._whole_bytes += write_whole(self._file, lines)
        except OSError as error:
            with suppress(OSError):  # a pipe cannot take the beginning of a line back
                self._file.truncate(self._whole_bytes)
            self._give_up(f"cannot write {self.files[-1]}: {error.strerror}")

    def _give_up(self, reason: str) -> None:
        log.warning("capture: %s; it ends here", reason)
        self._end()

    def _end(self) -> None:
        """Close the file, if one is open."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Tap:
    """Notes the frames of one connection, and stores its requests that may still be answered."""

    def __init__(self, capture: Capture, number: int, opened_line: bytes) -> None:
        self._capture, self.number, self.opened_line = capture, number, opened_line
        self._asked: dict[bytes, tuple[int, bytes]] = {}  # by correlation id
        self._asked_bytes = 0

    def request(self, frame: bytes) -> None:
        """A whole frame from the client, without its length."""
        at_us, correlation_id = self._capture.frame(self, b"req", frame), frame[4:8]
        if correlation_id in self._asked:
            self._forget(correlation_id)
        self._asked[correlation_id] = (at_us, frame)
        self._asked_bytes += len(frame)
        while self._asked_bytes > MAX_KEPT_BYTES:
            self._forget(next(iter(self._asked)))

    def response(self, frame: bytes) -> None:
        """A whole frame to the client, without its length."""
        self._capture.frame(self, b"resp", frame)
        correlation_id = frame[:4]
        while correlation_id in self._asked:  # earlier requests will not be answered
            self._forget(next(iter(self._asked)))

    def closed(self, unread_bytes: int) -> None:
        """The connection has ended; the bytes, lengths included, are those that did not become calls."""
        self._capture.closed(self, unread_bytes)

    def asked_lines(self) -> list[bytes]:
        """A line for each request that may still be answered."""
        return [
            json_line({"t": at_us, "ev": "asked", "conn": self.number, "data": b64encode(frame).decode()})
            for at_us, frame in self._asked.values()
        ]

    def _forget(self, correlation_id: bytes) -> None:
        self._asked_bytes -= len(self._asked.pop(correlation_id)[1])


def json_line(value: Fields) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def write_whole(file: FileIO, lines: bytes | bytearray) -> int:
    """Write lines, and return their size. Raises OSError: some are not written."""
    left = memoryview(lines)
    while left:
        left = left[file.write(left) or 0 :]
    return len(lines)
