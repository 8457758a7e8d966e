"""Log lines on their way to standard error: never in the way of the cluster, one a cause, and on one line each.

Whoever logs only leaves a line in a queue, which a thread writes: a pipe that nobody drains holds up that thread alone.
The queue is bounded in bytes, and what does not fit is counted. Of lines of one cause, those that one statement logs,
one is written, and every ``COUNT_S`` how many more there were. What came over the wire has its control characters
escaped, and lines of a traceback are set in, so that no text can pass for a line of its own.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections import deque

from kafka_rack.printable import printable, printable_lines

MAX_QUEUED_BYTES = 256 << 10
MAX_LINE_CHARACTERS = 4096
MAX_CAUSES = 1000
COUNT_S = 10.0
LAST_LINES_S = 0.5
"""How long the end of the program waits for lines that are still to be written."""
PLACEHOLDER = re.compile(r"%[-#0 +]*+[\d.]*+[a-z]")
"""The part of a line's text that differs between lines with the same cause."""
Cause = tuple[str, int, str]


class LogOutput(logging.Handler):
    """Writes what is logged to a file descriptor, from a thread of its own that begins with the first line.

    Args:
        fd: where to; it stays open.
        count_s: after how many seconds it is told how many more lines of a cause there were.
    """

    def __init__(self, fd: int, *, count_s: float = COUNT_S) -> None:
        super().__init__(logging.WARNING)
        self.fd, self.count_s = fd, count_s
        self._lines: deque[bytes] = deque()
        self._queued_bytes = self._dropped = 0
        self._held_back: dict[Cause, int] = {}
        self._count_at = 0.0
        self._changed = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._ended = False

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line, unless one of its cause was taken a moment ago. Never waits for whoever reads."""
        cause = cause_of(record)
        with self._changed:
            if cause in self._held_back:
                self._held_back[cause] += 1
                return
            if not self._held_back:
                self._count_at = time.monotonic() + self.count_s
            if len(self._held_back) < MAX_CAUSES:
                self._held_back[cause] = 0
        data = line_of(record)
        with self._changed:
            self._add(data)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="kafka-rack log", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """Write what is there, for half a second at most."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(LAST_LINES_S)
        super().close()

    def _add(self, data: bytes) -> None:
        if self._queued_bytes + len(data) > MAX_QUEUED_BYTES:
            self._dropped += 1
            return
        self._lines.append(data)
        self._queued_bytes += len(data)

    def _run(self) -> None:
        """The thread: write, and tell what was held back, until the end."""
        while True:
            with self._changed:
                data = self._next()
            if data is None:
                return
            try:
                write_whole(self.fd, data)
            except OSError:
                return  # nobody reads any more; from here on lines are only counted
            with self._changed:
                self._queued_bytes -= len(data)

    def _next(self) -> bytes | None:
        """Wait for the next line to write; None at the end."""
        while True:
            if self._lines:
                return self._lines.popleft()
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                self._add(f"{dropped} log lines were left out: nobody read those before them\n".encode())
                continue
            now = time.monotonic()
            if self._held_back and (self._ended or now >= self._count_at):
                self._count_at = now + self.count_s
                self._tell_counts()
            elif self._ended:
                return None
            else:
                self._changed.wait(self._count_at - now if self._held_back else None)

    def _tell_counts(self) -> None:
        """Lines that say how many were held back; a cause that was quiet is forgotten, so that its next line shows."""
        counted = {cause: count for cause, count in self._held_back.items() if count}
        self._held_back = dict.fromkeys(counted, 0)
        for (_, _, text), count in counted.items():
            more = "once more" if count == 1 else f"{count} times more"
            self._add(f"{more}: {printable(PLACEHOLDER.sub('...', text))}\n".encode(errors="backslashreplace"))


def cause_of(record: logging.LogRecord) -> Cause:
    """The cause of a line: all that one statement logs. asyncio's have their first line in the text itself."""
    text = record.msg if isinstance(record.msg, str) else str(record.msg)
    return record.name, record.levelno, text.partition("\n")[0][:200]


def line_of(record: logging.LogRecord) -> bytes:
    """A record as it is written: its text on one line, and below it, set in, what was raised."""
    text = shortened(printable(record.getMessage()))
    if record.exc_info and record.exc_info[0] is not None:
        raised = logging.Formatter().formatException(record.exc_info)
        text += "".join(f"\n    {shortened(line)}" for line in printable_lines(raised).splitlines())
    return f"{text}\n".encode(errors="backslashreplace")


def shortened(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARACTERS else f"{text[:MAX_LINE_CHARACTERS]}..."


def write_whole(fd: int, data: bytes) -> None:
    """Write all of it, however long that takes. Raises OSError."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:  # someone else has made the pipe so
            time.sleep(0.05)
