"""Regular expressions of RE2, and wildcards: matching takes time linear in the text, for any pattern.

Source: KIP-848 and KIP-1152, which use RE2/J.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

MAX_COMPILED_BYTES = 1 << 20


class PatternError(ValueError):
    """An invalid RE2 expression, or one whose program is too large; the text has the reason."""


@lru_cache(maxsize=256)
def compiled(text: str) -> Any:
    """A compiled RE2 expression. Raises PatternError."""
    import re2  # loaded here, because few clusters use an expression

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_COMPILED_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise PatternError(description(error.args[0].decode(errors="replace"))) from None


def description(error: str) -> str:
    """RE2's error message for an expression, without the faulty part.

    >>> description("missing ]: [a-")
    'missing ]'
    """
    return error.split(": ", maxsplit=1)[0]


def wildcards_match(pattern: str, text: str) -> bool:
    """True if a text matches a pattern in which ``*`` matches any characters; takes time linear in the text.

    >>> [wildcards_match("orders-*-eu*", name) for name in ("orders-1-eu", "orders-eu-west", "orders--eu-west")]
    [True, False, True]
    """
    if "*" not in pattern:
        return pattern == text
    first, *middle, last = pattern.split("*")
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    position, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True
