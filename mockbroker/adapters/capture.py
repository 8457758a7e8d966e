"""Every frame between clients and brokers as lines of JSON, one a frame, in files of a size; or as packets.

The form of a file ``.pcapng`` is in ``capture_packets.py``. That of all others is that of fixtures/captures: line 1
describes the capture, ``open`` and ``close`` lines a connection's life, and each frame has its time in microseconds,
its connection, its direction and its bytes in base64. A file that is full
is followed by another, ``trace-0001.jsonl`` behind ``trace.jsonl``, that stands alone: it repeats the first line, the
connections that are open, the requests without an answer (``asked``) and what topics there are (``topic``).

Whoever serves a request only notes what passed; a thread of its own puts the notes into lines and writes them in
batches, ``BATCH_S`` after the first note of each. Where nothing can be written, clients are served as before: that is
logged once, and the capture goes on in a new file when one can be written, with a ``gap`` line that counts the lines
that are missing.
"""

from __future__ import annotations

import logging
import threading
import time
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import TypeAlias

from mockbroker.adapters.capture_lines import Fields, LineForm
from mockbroker.adapters.capture_packets import PacketForm
from mockbroker.call import Call
from mockbroker.core.outcome import Outcome
from mockbroker.core.redaction import has_secrets, is_bare_token, redacted_request, redacted_response

log = logging.getLogger("mockbroker")

MAX_KEPT_BYTES = 4 << 20
"""Of requests without an answer, by connection; older ones are not carried into the next file."""
MAX_QUEUED_BYTES = 32 << 20
"""Of notes not yet written; beyond that whoever notes something waits for the disk."""
BATCH_S = 0.05
WRITE_BYTES = 1 << 16
"""Lines are put together for about so many bytes; all other threads may run while each such piece is written."""
RETRY_S = 1.0
"""From one failed attempt at a file to the next."""
NOTE_BYTES = 52
"""The text of a line around its frame, in bytes before base64: 70 of them after it."""
PACKETS_SUFFIX = ".pcapng"
LENGTH_BYTES = 4  # in front of each frame
FORMAT = 1

Topics = Iterable[tuple[str, bytes, list[int]]]


class Capture:
    """Takes down what passes.

    Args:
        path: the first file. Raises OSError if it cannot be written.
        file_bytes: about how large a file gets; the lines that open the next one come on top.
        now_us: the time, in us since 1970.
        describe: the fields of the first line and the topics, asked at the start of each file by whoever notes
            something: ``(fields, topics)``, a topic being its name, its 16-byte id and its partitions' leaders.
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
        form = form_of(path)
        self._file_limit = file_bytes * 3 // 4 if isinstance(form, LineForm) else file_bytes  # before base64
        self._noted_bytes = 0
        self._file_started_at = 0  # in noted bytes
        self._notes: deque[Note] = deque()
        self._taps: dict[int, Tap] = {}  # by the connection's number
        self._writer = Writer(path, self._notes, form)
        self._writer.begin_file(self._file_start())
        self._writer.start()

    @property
    def files(self) -> Sequence[Path]:
        """The files so far, the first one first."""
        return self._writer.files

    def connection(self, number: int, broker: int, listener: str, client: str, server: str = "") -> Tap:
        """A connection has been opened, between these addresses with their ports."""
        tap = self._taps[number] = Tap(self, number, broker, listener, client, server, self.now_us())
        self.note(Opened(tap), NOTE_BYTES)
        return tap

    def call_arrived(self, call: Call) -> None:
        """A request has been taken from its connection."""
        tap = self._taps.get(call.session.connection)
        if tap is not None and call.frame and not is_bare_token(call):
            tap.request(redacted_request(call.frame))

    def call_ended(self, outcome: Outcome) -> None:
        """It has been answered, or not."""
        tap = self._taps.get(outcome.call.session.connection)
        if tap is not None and outcome.output:
            call = outcome.call
            if has_secrets(call.api_key, "response"):
                if not is_bare_token(call):
                    tap.response(memoryview(redacted_response(call, b"".join(outcome.output)[LENGTH_BYTES:])))
                return
            first, *rest = outcome.output
            tap.response(memoryview(first)[LENGTH_BYTES:], *rest)

    def forget(self, number: int) -> None:
        """A connection has ended."""
        self._taps.pop(number, None)

    def note(self, note: Note, size: int) -> None:
        """Have something written, after all that was noted before it; ``size`` in bytes before base64."""
        noted, writer = self._noted_bytes, self._writer
        if noted - self._file_started_at > self._file_limit or writer.needs_file:
            writer.needs_file = False
            self._file_started_at = noted
            self._notes.append(self._file_start())
        self._notes.append(note)
        self._noted_bytes = noted = noted + size
        if not writer.is_awake:
            writer.wake()
        if noted - writer.done_bytes > MAX_QUEUED_BYTES:
            writer.make_room(noted - MAX_QUEUED_BYTES)

    def close(self) -> None:
        """Write all that was noted, and the end of the recording."""
        if self._writer.is_alive():
            self._notes.append(Ended(self.now_us()))
            self._writer.finish()

    def _file_start(self) -> FileStart:
        fields, topics = self._describe()
        return FileStart(self.now_us(), fields, list(topics))


class Tap:
    """One connection's frames, as they come and go."""

    __slots__ = ("broker", "client", "listener", "number", "opened", "server", "_capture")

    def __init__(
        self, capture: Capture, number: int, broker: int, listener: str, client: str, server: str, opened: int
    ) -> None:
        self.number, self.broker, self.listener, self.opened = number, broker, listener, opened
        self.client, self.server = client, server
        self._capture = capture

    def request(self, frame: bytes) -> None:
        """A whole frame from the client, without its length."""
        capture = self._capture
        capture.note((capture.now_us(), self, True, (frame,)), NOTE_BYTES + len(frame))

    def response(self, *pieces: bytes | memoryview) -> None:
        """A whole frame to the client, without its length, in pieces that nobody will change."""
        capture = self._capture
        capture.note((capture.now_us(), self, False, pieces), NOTE_BYTES + sum(map(len, pieces)))

    def closed(self, unread_bytes: int) -> None:
        """The connection has ended; the bytes, lengths included, are those that did not become calls."""
        capture = self._capture
        capture.forget(self.number)
        capture.note(Closed(capture.now_us(), self, unread_bytes), NOTE_BYTES)


FrameNote = tuple[int, Tap, bool, tuple[bytes | memoryview, ...]]
"""When, on which connection, whether it is a request, and the frame in pieces: a plain tuple, as there are so many."""


@dataclass(slots=True, frozen=True)
class Opened:
    """A connection begins."""

    tap: Tap


@dataclass(slots=True, frozen=True)
class Closed:
    """A connection ends."""

    at_us: int
    tap: Tap
    unread_bytes: int


@dataclass(slots=True, frozen=True)
class FileStart:
    """Opens a new file for the frames that follow."""

    at_us: int
    fields: Fields
    topics: list[tuple[str, bytes, list[int]]]


@dataclass(slots=True, frozen=True)
class Ended:
    """The recording ends."""

    at_us: int


Form: TypeAlias = LineForm | PacketForm
Note = FrameNote | Opened | Closed | FileStart | Ended


class Writer(threading.Thread):
    """Puts notes into lines or packets, and writes them.

    ``done_bytes`` is how much of what was noted has left the queue. ``needs_file`` asks for a ``FileStart``: the file
    that there was could not be written, and it is time for another attempt. Each of the two has one thread that
    counts it up, or sets it.
    """

    def __init__(self, path: Path, notes: deque[Note], form: Form) -> None:
        super().__init__(name="kafka-rack capture", daemon=True)
        self.files: list[Path] = []
        self.is_awake = False
        self.needs_file = False
        self.done_bytes = 0
        self._path, self._notes, self._form = path, notes, form
        self._conversations: dict[int, UnansweredRequests] = {}
        self._file: FileIO | None = None
        self._whole_bytes = 0  # of whole lines in that file
        self._lines: list[bytes] = []
        self._lines_bytes = 0
        self._missing_lines = 0
        self._retry_at = 0.0
        self._there_are_notes, self._hurry = threading.Event(), threading.Event()
        self._room = threading.Condition()

    # called by those who note

    def wake(self) -> None:
        """There is something to be written."""
        self.is_awake = True
        self._there_are_notes.set()

    def make_room(self, done_bytes: int) -> None:
        """Wait until so much was done."""
        self._hurry.set()
        with self._room:
            while self.done_bytes < done_bytes and self.is_alive():
                self._room.wait(BATCH_S)

    def finish(self) -> None:
        """Write what is there, up to the end of the recording."""
        self._hurry.set()
        self.wake()
        self.join()

    # the thread

    def run(self) -> None:
        """Write one batch after another, until the recording ends."""
        ended = False
        while not ended:
            self._there_are_notes.wait()
            self._hurry.wait(BATCH_S)
            self._hurry.clear()
            self._there_are_notes.clear()
            self.is_awake = False  # what is noted from here on wakes anew
            ended = self._write_batch()
        if self._file is not None:
            self._file.close()
        else:
            log.warning("capture: %d lines are missing at its end", self._missing_lines)

    def _write_batch(self) -> bool:
        """Write what is in the queue; gives whether the recording ends with it."""
        notes = self._notes
        done, ended = self.done_bytes, False
        while notes and not ended:
            note = notes.popleft()
            if isinstance(note, tuple):
                done += self._add_frame(note)
            elif isinstance(note, FileStart):
                self._write_lines()
                self._try_file(note)
            elif isinstance(note, Ended):
                self._add(self._form.ended(note.at_us))
                ended = True
            else:
                self._add_connection(note)
                done += NOTE_BYTES
            if self._lines_bytes > WRITE_BYTES:
                self._write_lines()
                self._report_room(done)
        self._write_lines()
        self._report_room(done)
        if self._file is None and time.monotonic() >= self._retry_at:
            self.needs_file = True
        return ended

    def _add_frame(self, note: FrameNote) -> int:
        at_us, tap, is_request, pieces = note
        frame = pieces[0] if type(pieces[0]) is bytes and len(pieces) == 1 else b"".join(pieces)
        conversation = self._conversations.get(tap.number)  # None behind its end
        if conversation is not None and is_request:
            conversation.asked_for(at_us, frame)
        elif conversation is not None:
            conversation.answered(frame)
        self._add(self._form.frame(at_us, tap, is_request, frame))
        return NOTE_BYTES + len(frame)

    def _add_connection(self, note: Opened | Closed) -> None:
        tap = note.tap
        if isinstance(note, Opened):
            self._conversations[tap.number] = UnansweredRequests(tap)
            self._add(self._form.opened(tap))
        else:
            self._conversations.pop(tap.number, None)
            self._add(self._form.closed(note.at_us, tap, note.unread_bytes))

    def _add(self, lines: list[bytes]) -> None:
        self._lines += lines
        self._lines_bytes += sum(map(len, lines))

    def _report_room(self, done_bytes: int) -> None:
        self.done_bytes = done_bytes
        with self._room:
            self._room.notify_all()

    # files

    def begin_file(self, start: FileStart) -> None:
        """Go on in the next file, which opens with the lines that make it stand alone. Raises OSError, naming it."""
        number = len(self.files)
        path = self._path if number == 0 else self._path.with_name(f"{self._path.stem}-{number:04d}{self._path.suffix}")
        first = {
            "name": path.stem,
            **start.fields,
            "ev": "capture",
            "format": FORMAT,
            "started": start.at_us,
        }
        told = [first]
        for name, topic_id, leaders in start.topics:
            told.append({"ev": "topic", "name": name, "id": b64encode(topic_id).decode(), "leaders": leaders})
        if self._missing_lines:
            told.append({"t": start.at_us, "ev": "gap", "lines": self._missing_lines})
        lines = self._form.file_start(told, list(self._conversations.values()))
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

    def _try_file(self, start: FileStart) -> None:
        try:
            self.begin_file(start)
        except OSError as error:
            self._give_up(error.strerror or str(error))
        else:
            if self._missing_lines:
                log.warning("capture: goes on in %s; %d lines are missing", self.files[-1], self._missing_lines)
                self._missing_lines = 0

    def _write_lines(self) -> None:
        """Write the lines that are there, whole; where that fails they are missing."""
        lines, self._lines, self._lines_bytes = self._lines, [], 0
        if self._file is None:
            self._missing_lines += len(lines)
            return
        try:
            self._whole_bytes += write_whole(self._file, lines)
        except OSError as error:
            self._missing_lines += len(lines)
            with suppress(OSError):  # a pipe, say, cannot take a line's beginning back
                self._file.truncate(self._whole_bytes)
            self._give_up(f"cannot write {self.files[-1]}: {error.strerror}")

    def _give_up(self, reason: str) -> None:
        """Leave the file there is; another is tried after a while."""
        if self._file is not None:
            log.warning("capture: %s; lines are left out until a file can be written", reason)
            self._file.close()
            self._file = None
        self._retry_at = time.monotonic() + RETRY_S


class UnansweredRequests:
    """A connection's requests that an answer may still come for."""

    __slots__ = ("tap", "_asked", "_asked_bytes")

    def __init__(self, tap: Tap) -> None:
        self.tap = tap
        self._asked: dict[bytes, tuple[int, bytes]] = {}  # by correlation id
        self._asked_bytes = 0

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
        while correlation_id in self._asked:  # what was asked before it will not be answered any more
            self._forget(next(iter(self._asked)))

    def unanswered(self) -> list[tuple[int, bytes]]:
        """When each was asked, and its frame."""
        return list(self._asked.values())

    def _forget(self, correlation_id: bytes) -> None:
        self._asked_bytes -= len(self._asked.pop(correlation_id)[1])


def form_of(path: Path) -> Form:
    """Returns the form that a file's name selects: packets for ``.pcapng``, else lines."""
    return PacketForm() if path.suffix == PACKETS_SUFFIX else LineForm()


def write_whole(file: FileIO, lines: list[bytes]) -> int:
    """Write lines with as few calls as the system allows; gives their bytes. Raises OSError: some are not written."""
    data = b"".join(lines)
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]
    return len(data)
