"""Writes every frame between clients and brokers to files, as lines of JSON.

The form is that of fixtures/captures: line 1 describes the capture, ``open`` and ``close`` lines a connection's life,
and each frame has its time in microseconds, its connection, its direction and its bytes in base64. A full file is
followed by another, ``trace-0001.jsonl`` after ``trace.jsonl``, that is complete in itself: it repeats the first line,
the open connections, the requests without an answer (``asked``) and the topics (``topic``).

The cluster's thread only queues notes; a thread writes them in batches, every ``BATCH_S``. If a file cannot be written,
that is logged, the capture ends, and clients are served as before.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

from mockbroker.call import Call, Outcome
from mockbroker.core.redaction import has_secrets, is_bare_token, redacted_request, redacted_response

log = logging.getLogger("mockbroker")

MAX_KEPT_BYTES = 4 << 20
"""Of requests without an answer, by connection; older ones are not carried into the next file."""
MAX_QUEUED_BYTES = 32 << 20
"""Of queued notes; beyond that the cluster waits for the disk."""
BATCH_S, ROOM_S = 0.05, 0.001
WRITE_BYTES = 1 << 16
"""The size of one write; all other threads may run meanwhile."""
NOTE_BYTES = 52
"""The text of a line around its frame, in bytes before base64: 70 of them after it."""
LENGTH_BYTES = 4  # in front of each frame
FORMAT = 1

Fields = dict[str, Any]
Topics = Iterable[tuple[str, bytes, list[int]]]


class Capture:
    """Records what passes.

    Args:
        path: the first file. Raises OSError if it cannot be written.
        file_bytes: about how large a file gets, without the lines that open it.
        now_us: the time, in us since 1970.
        describe: the fields of the first line and the topics, at the start of each file: ``(fields, topics)``, a topic
            being its name, its 16-byte id and its partitions' leaders.
    """

    def __init__(
        self,
        path: Path,
        *,
        now_us: Callable[[], int],
        describe: Callable[[], tuple[Fields, Topics]],
        file_bytes: int,
    ) -> None:
        self.now_us, self._describe = now_us, describe
        self._file_limit = file_bytes * 3 // 4  # before base64
        self._noted_bytes = self._file_started_at = 0
        self._taps: dict[int, Tap] = {}  # by the connection's number
        self._writer = Writer(path)
        self._writer.begin_file(now_us(), *describe())
        self._writer.start()

    @property
    def files(self) -> Sequence[Path]:
        """The files so far, the first one first."""
        return self._writer.files

    def connection(self, number: int, broker: int, listener: str, client: str) -> Tap:
        """A connection has been opened, from this address with its port."""
        tap = self._taps[number] = Tap(self, number, broker, listener, client, self.now_us())
        self.note(partial(self._writer.opened, tap))
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
            call = outcome.call
            if has_secrets(call.api_key, "response"):
                if not is_bare_token(call):
                    tap.response(memoryview(redacted_response(call, b"".join(outcome.output)[LENGTH_BYTES:])))
                return
            first, *rest = outcome.output
            tap.response(memoryview(first)[LENGTH_BYTES:], *rest)

    def closed(self, tap: Tap, unread_bytes: int) -> None:
        """A connection has ended."""
        self._taps.pop(tap.number, None)
        self.note(partial(self._writer.closed, self.now_us(), tap, unread_bytes))

    def note(self, note: Note, size: int = NOTE_BYTES) -> None:
        """Queue a note; ``size`` in bytes before base64."""
        writer = self._writer
        if self._noted_bytes - self._file_started_at > self._file_limit:
            self._file_started_at = self._noted_bytes
            fields, topics = self._describe()
            self.note(partial(writer.next_file, self.now_us(), fields, list(topics)))
        writer.notes.append(note)
        self._noted_bytes += size
        while self._noted_bytes - writer.done_bytes > MAX_QUEUED_BYTES and writer.is_alive():
            writer.hurry.set()
            time.sleep(ROOM_S)

    def close(self) -> None:
        """Write all notes, and the end of the recording."""
        if self._writer.is_alive():
            self.note(partial(self._writer.ended, self.now_us()))
            self._writer.hurry.set()
            self._writer.join()


class Tap:
    """Notes the frames of one connection. The writer stores its requests that may still be answered."""

    __slots__ = ("broker", "client", "listener", "number", "opened", "_asked", "_asked_bytes", "_capture")

    def __init__(self, capture: Capture, number: int, broker: int, listener: str, client: str, opened: int) -> None:
        self.number, self.broker, self.listener, self.client, self.opened = number, broker, listener, client, opened
        self._capture = capture
        self._asked: dict[bytes, tuple[int, bytes]] = {}  # by correlation id
        self._asked_bytes = 0

    def request(self, frame: bytes) -> None:
        """A whole frame from the client, without its length."""
        capture = self._capture
        capture.note((capture.now_us(), self, True, (frame,)), NOTE_BYTES + len(frame))

    def response(self, *pieces: bytes | memoryview) -> None:
        """A whole frame to the client, without its length, in pieces that do not change."""
        capture = self._capture
        capture.note((capture.now_us(), self, False, pieces), NOTE_BYTES + sum(map(len, pieces)))

    def closed(self, unread_bytes: int) -> None:
        """The connection has ended; the bytes, lengths included, are those that did not become calls."""
        self._capture.closed(self, unread_bytes)

    # called by the writer

    def asked_for(self, at_us: int, frame: bytes) -> None:
        correlation_id = frame[4:8]
        if correlation_id in self._asked:
            self._forget(correlation_id)
        self._asked[correlation_id] = (at_us, frame)
        self._asked_bytes += len(frame)
        while self._asked_bytes > MAX_KEPT_BYTES:
            self._forget(next(iter(self._asked)))

    def answered(self, frame: bytes) -> None:
        correlation_id = frame[:4]
        while correlation_id in self._asked:  # earlier requests will not be answered
            self._forget(next(iter(self._asked)))

    def unanswered(self) -> list[tuple[int, bytes]]:
        """The time and the frame of each."""
        return list(self._asked.values())

    def _forget(self, correlation_id: bytes) -> None:
        self._asked_bytes -= len(self._asked.pop(correlation_id)[1])


FrameNote = tuple[int, Tap, bool, tuple[bytes | memoryview, ...]]
"""The time, the connection, True for a request, and the frame in pieces."""
Note = FrameNote | Callable[[], None]
"""A frame, or a call of one of the writer's methods."""


class Writer(threading.Thread):
    """Puts notes into lines, and writes them.

    ``done_bytes`` is the size of the notes that have left the queue. ``hurry`` ends the wait for the next batch.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(name="kafka-rack capture", daemon=True)
        self.files: list[Path] = []
        self.notes: deque[Note] = deque()
        self.hurry = threading.Event()
        self.done_bytes = 0
        self._path = path
        self._open: dict[int, Tap] = {}
        self._file: FileIO | None = None
        self._whole_bytes = 0  # of whole lines in that file
        self._lines: list[bytes] = []
        self._lines_bytes = 0
        self._is_over = False

    def run(self) -> None:
        """Write one batch after another, until the recording ends."""
        while not self._is_over:
            self.hurry.wait(BATCH_S)
            self.hurry.clear()
            self._write_batch()
        if self._file is not None:
            self._file.close()

    def _write_batch(self) -> None:
        done = self.done_bytes
        while self.notes:
            note = self.notes.popleft()
            if isinstance(note, tuple):
                done += NOTE_BYTES + self._frame(*note)
            else:
                note()
                done += NOTE_BYTES
            if self._lines_bytes > WRITE_BYTES:
                self._write_lines()
                self.done_bytes = done
        self._write_lines()
        self.done_bytes = done

    # what notes do

    def _frame(self, at_us: int, tap: Tap, is_request: bool, pieces: tuple[bytes | memoryview, ...]) -> int:
        frame = pieces[0] if type(pieces[0]) is bytes and len(pieces) == 1 else b"".join(pieces)
        if is_request:
            tap.asked_for(at_us, frame)
        else:
            tap.answered(frame)
        direction = b"req" if is_request else b"resp"
        values = at_us, tap.number, direction, len(frame), b64encode(frame)
        self._add(b'{"t":%d,"conn":%d,"dir":"%b","n":%d,"data":"%b"}\n' % values)
        return len(frame)

    def opened(self, tap: Tap) -> None:
        self._open[tap.number] = tap
        self._add(opened_line(tap))

    def closed(self, at_us: int, tap: Tap, unread_bytes: int) -> None:
        self._open.pop(tap.number, None)
        fields = {"t": at_us, "ev": "close", "conn": tap.number, "partial_req": unread_bytes, "partial_resp": 0}
        self._add(json_line(fields))

    def ended(self, at_us: int) -> None:
        self._add(json_line({"t": at_us, "ev": "end"}))
        self._is_over = True

    def next_file(self, at_us: int, fields: Fields, topics: Topics) -> None:
        """Continue in the next file, unless the capture has ended."""
        self._write_lines()
        if self._file is not None:
            try:
                self.begin_file(at_us, fields, topics)
            except OSError as error:
                self._give_up(error.strerror or str(error))

    def _add(self, line: bytes) -> None:
        self._lines.append(line)
        self._lines_bytes += len(line)

    # files

    def begin_file(self, at_us: int, fields: Fields, topics: Topics) -> None:
        """Begin the next file, with the lines that make it complete in itself. Raises OSError, naming it."""
        number = len(self.files)
        path = self._path if number == 0 else self._path.with_name(f"{self._path.stem}-{number:04d}{self._path.suffix}")
        lines = [json_line({"name": path.stem, **fields, "ev": "capture", "format": FORMAT, "started": at_us})]
        for name, topic_id, leaders in topics:
            topic = {"ev": "topic", "name": name, "id": b64encode(topic_id).decode(), "leaders": leaders}
            lines.append(json_line(topic))
        for number, tap in self._open.items():
            lines.append(opened_line(tap))
            for asked_us, frame in tap.unanswered():
                asked = {"t": asked_us, "ev": "asked", "conn": number, "data": b64encode(frame).decode()}
                lines.append(json_line(asked))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("wb", buffering=0)
            try:
                whole_bytes = write_whole(file, lines)
            except OSError:
                file.close()
                path.unlink()
                raise
        except OSError as error:
            raise OSError(error.errno, f"cannot write {path}: {error.strerror}") from None
        if self._file is not None:
            self._file.close()
        self._file, self._whole_bytes = file, whole_bytes
        self.files.append(path)

    def _write_lines(self) -> None:
        """Write the lines, whole; if that fails, the capture ends."""
        lines, self._lines, self._lines_bytes = self._lines, [], 0
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
        assert self._file is not None
        self._file.close()
        self._file = None


def opened_line(tap: Tap) -> bytes:
    fields = {"t": tap.opened, "ev": "open", "conn": tap.number, "broker": tap.broker, "listener": tap.listener}
    return json_line({**fields, "client": tap.client})


def json_line(value: Fields) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def write_whole(file: FileIO, lines: list[bytes]) -> int:
    """Write lines, and return their size. Raises OSError: some are not written."""
    data = b"".join(lines)
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]
    return len(data)
