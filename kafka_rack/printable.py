"""Text from a wire or a file, as a terminal or a log may show it: control characters as escapes.

A client's rack, a topic or a capture may hold codes that clear the screen, change a window's title, turn the direction
of text round or begin a line that nobody wrote.
"""

from __future__ import annotations

import re
from typing import Any, TextIO

DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
SEPARATORS = r"\u2028\u2029"
SURROGATES = r"\ud800-\udfff"  # no encoding has them
# with C0, but for the end of a line, DEL and C1
REST = rf"\x0b-\x1f\x7f-\x9f{DIRECTIONS}{SEPARATORS}{SURROGATES}"
UNPRINTABLE = re.compile(rf"[\x00-\x0a{REST}]")
UNPRINTABLE_IN_LINES = re.compile(rf"[\x00-\x09{REST}]")


def printable(text: str) -> str:
    r"""A text on one line, with escapes for what is no sign.

    >>> printable("rack-a\x1b[2J\nbroker 1 is down\u202e"), printable("Zürich 東京")
    ('rack-a\\x1b[2J\\x0abroker 1 is down\\u202e', 'Zürich 東京')
    """
    return UNPRINTABLE.sub(escaped, text)


def printable_lines(text: str) -> str:
    r"""The same, where ends of lines are meant.

    >>> printable_lines("one\ntwo\r\x9b2J")
    'one\ntwo\\x0d\\x9b2J'
    """
    return UNPRINTABLE_IN_LINES.sub(escaped, text)


def escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


class PrintableOutput:
    """A text stream that shows control characters as escapes, whoever writes them, but for ends of lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def beneath(self) -> TextIO:
        """The stream itself, for what writes a terminal's codes and escapes the texts between them."""
        return self._stream

    def write(self, text: str) -> int:
        self._stream.write(printable_lines(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
