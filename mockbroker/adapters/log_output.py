"""Writes log lines to standard error without delaying the cluster.

Lines for a pipe that is full are counted instead of written. Control characters from the wire are escaped, and lines of
a traceback are indented, so that no text can look like another line.
"""

from __future__ import annotations

import logging
import os
import select
from contextlib import suppress

from kafka_rack.printable import printable, printable_lines

MAX_LINE_CHARACTERS = 4096
WRITE_BYTES = 4096
"""PIPE_BUF of Linux: a pipe that is ready for writing takes so many bytes at once."""


class LogOutput(logging.Handler):
    """Writes log records to a file descriptor, which stays open."""

    def __init__(self, fd: int) -> None:
        super().__init__(logging.WARNING)
        self.fd, self._left_out = fd, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it if the pipe is full. Never waits for the reader."""
        self._write(line_of(record))

    def _write(self, data: bytes) -> None:
        if self._left_out and self._is_ready():
            data = f"{self._left_out} log lines were left out: the lines before were not read in time\n".encode() + data
            self._left_out = 0
        with suppress(OSError):  # the reader has gone
            for at in range(0, len(data), WRITE_BYTES):
                if not self._is_ready():
                    self._left_out += 1
                    return
                os.write(self.fd, data[at : at + WRITE_BYTES])

    def _is_ready(self) -> bool:
        """True if a write does not wait."""
        if not hasattr(select, "poll"):  # Windows
            return True
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        return bool(poll.poll(0))


def line_of(record: logging.LogRecord) -> bytes:
    """A record's text on one line, and below it, indented, its exception."""
    text = shortened(printable(record.getMessage()))
    if record.exc_info and record.exc_info[0] is not None:
        raised = logging.Formatter().formatException(record.exc_info)
        text += "".join(f"\n    {shortened(line)}" for line in printable_lines(raised).splitlines())
    return f"{text}\n".encode(errors="backslashreplace")


def shortened(text: str) -> str:
    return text if len(text) <= MAX_LINE_CHARACTERS else f"{text[:MAX_LINE_CHARACTERS]}..."
