"""Makes text from the wire or a file safe for a terminal or a log: control characters become escapes.

A client's rack, a topic or a capture may contain codes that clear the screen, change a window's title, reverse the
direction of text or forge a line.
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
    r"""A text on one line, with escapes for characters that are not printable.

    >>> printable("rack-a\x1b[2J\nbroker 1 is down\u202e"), printable("Zürich 東京")
    ('rack-a\\x1b[2J\\x0abroker 1 is down\\u202e', 'Zürich 東京')
    """
    return UNPRINTABLE.sub(escaped, text)


def printable_lines(text: str) -> str:
    r"""The same for a text of several lines, whose line ends stay.

    >>> printable_lines("one\ntwo\r\x9b2J")
    'one\ntwo\\x0d\\x9b2J'
    """
    return UNPRINTABLE_IN_LINES.sub(escaped, text)


def escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


class PrintableOutput:
    """A text stream that escapes all control characters that are written to it, except line ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def beneath(self) -> TextIO:
        """The stream itself, for code that writes terminal codes and escapes the texts between them."""
        return self._stream

    def write(self, text: str) -> int:
        self._stream.write(printable_lines(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
