"""Writes log lines to standard error without delaying the cluster, one line for each cause.

Lines are queued, and a thread writes them: only that thread waits for a pipe that is not read. The queue is bounded,
and lines that do not fit are counted. Of the lines that one statement logs, one is written, and every ``COUNT_S`` the
number of the others. Control characters from the wire are escaped, and lines of a traceback are indented, so that no
text can look like another line.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from contextlib import suppress
from queue import Empty, Full, Queue

from kafka_rack.printable import printable, printable_lines

MAX_LINES = 256
MAX_LINE_CHARACTERS = 4096
MAX_CAUSES = 1000
COUNT_S = 10.0
LAST_LINES_S = 0.5
"""How long the end of the program waits for queued lines."""
PLACEHOLDER = re.compile(r"%[-#0 +]*+[\d.]*+[a-z]")
"""The part of a line's text that differs between lines with the same cause."""
Cause = tuple[str, int, str]


class LogOutput(logging.Handler):
    """Writes log records to a file descriptor, from a thread that begins with the first line.

    Args:
        fd: it stays open.
        count_s: the seconds between counts of lines with the same cause.
    """

    def __init__(self, fd: int, *, count_s: float = COUNT_S) -> None:
        super().__init__(logging.WARNING)
        self.fd, self.count_s = fd, count_s
        self._lines: Queue[bytes | None] = Queue(MAX_LINES)
        self._held_back: dict[Cause, int] = {}
        self._left_out = 0
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line, or count it if one of its cause was written lately. Never waits for the reader."""
        cause = cause_of(record)
        if cause in self._held_back:
            self._held_back[cause] += 1
            return
        if len(self._held_back) < MAX_CAUSES:
            self._held_back[cause] = 0
        self.put(line_of(record))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="kafka-rack log", daemon=True)
            self._thread.start()

    def put(self, data: bytes) -> None:
        """Queue a line, or count it as left out."""
        try:
            self._lines.put_nowait(data)
        except Full:
            self._left_out += 1

    def close(self) -> None:
        """Write the queued lines, for about half a second at most."""
        if self._thread is not None:
            with suppress(Full):
                self._lines.put(None, timeout=LAST_LINES_S)
            self._thread.join(LAST_LINES_S)
        super().close()

    def _run(self) -> None:
        count_at = time.monotonic() + self.count_s
        data: bytes | None = b""
        while data is not None:
            try:
                data = self._lines.get(timeout=max(0.0, count_at - time.monotonic()))
            except Empty:
                data = b""
            text = data or b""
            if data is None or time.monotonic() >= count_at:
                count_at = time.monotonic() + self.count_s
                text += self.counts()
            if self._left_out and self._lines.empty():
                left_out, self._left_out = self._left_out, 0
                text += f"{left_out} log lines were left out: the lines before were not read in time\n".encode()
            try:
                write_whole(self.fd, text)
            except OSError:
                return  # the reader has gone; later lines are only counted

    def counts(self) -> bytes:
        """Lines with the numbers held back; a cause without any is forgotten, so that its next line is written."""
        self.acquire()
        counted = {cause: count for cause, count in self._held_back.items() if count}
        self._held_back = dict.fromkeys(counted, 0)
        self.release()
        lines = [
            f"{'once' if count == 1 else f'{count} times'} more: {printable(PLACEHOLDER.sub('...', text))}\n"
            for (_, _, text), count in counted.items()
        ]
        return "".join(lines).encode(errors="backslashreplace")


def cause_of(record: logging.LogRecord) -> Cause:
    """The statement that logged a line, by its text; asyncio's texts have more than one line."""
    text = record.msg if isinstance(record.msg, str) else str(record.msg)
    return record.name, record.levelno, text.partition("\n")[0][:200]


def line_of(record: logging.LogRecord) -> bytes:
    """A record's text on one line, and below it, indented, its exception."""
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
        except BlockingIOError:  # another process has set the pipe so
            time.sleep(0.05)
