"""Java's properties files, as Kafka's servers and clients are configured by. Errors repeat no secret."""

from __future__ import annotations

import re
from pathlib import Path

KEY_AND_VALUE = re.compile(r"((?:\\.|[^\s=:\\])+)(?:\s*[=:]\s*|\s+)(.*)")
ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesError(Exception):
    """A file that cannot be read, or that contradicts another; one line."""


def read_properties(path: Path) -> dict[str, str]:
    """A Java properties file: ``key=value``, ``key:value`` or ``key value``; # and ! start comments.

    The last value of a key counts, as in Java.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PropertiesError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    properties: dict[str, str] = {}
    pending = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = pending + raw.strip()
        if not line or (line[0] in "#!" and not pending):
            continue
        pending = ""
        if (len(line) - len(line.rstrip("\\"))) % 2:  # a backslash that no other one escapes
            pending = line[:-1]
            continue
        found = KEY_AND_VALUE.fullmatch(line)
        if found is None:
            shown = "a line with a secret" if is_secret(line) else repr(line)
            raise PropertiesError(f"{path}, line {number}: {shown} is not KEY=VALUE")
        properties[unescaped(found[1])] = unescaped(found[2].strip())
    return properties


def unescaped(text: str) -> str:
    r"""A key or a value with its backslashes resolved.

    >>> unescaped(r"C:\\keys\\a\=b\u0021")
    'C:\\keys\\a=b!'
    """
    if "\\" not in text:
        return text
    said = ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else ESCAPES.get(found[2], found[2]), text)
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # Java writes what is rare as two


def is_secret(text: str) -> bool:
    """True if a setting, or a line that is none, may hold a secret, which errors do not repeat."""
    return any(word in text.lower() for word in ("password", "jaas", "secret", "keystore.key", "passphrase"))
