"""Parses ``sasl.jaas.config``: a login module and its options, as a line of Java's JAAS configuration.

Source: JaasConfig, which uses Java's StreamTokenizer, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)|"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'"""
    r"""|(?P<word>[A-Za-z_$\x80-\U0010ffff][\w.$\-\x80-\U0010ffff]*)|(?P<sign>[=;])""",
    re.DOTALL,
)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})


class JaasError(ValueError):
    """Text that is not a JAAS configuration of one module; the message has no values, which may be passwords."""


class LoginModule(NamedTuple):
    """A login module's class and its options."""

    name: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name!r}, options={sorted(self.options)})"


def parse_jaas(text: str) -> LoginModule:
    """The only module in a text. Raises JaasError.

    >>> parse_jaas('org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a;b";').options
    {'user_alice': 'a;b'}
    """
    tokens = tokens_of(text)
    if len(tokens) < 3:
        raise JaasError("expected CLASS required NAME=VALUE ... ;")
    name, flag, *rest = tokens
    if flag.lower() not in FLAGS:
        raise JaasError(f"expected required, requisite, sufficient or optional after the class {name}")
    options: dict[str, str] = {}
    while len(rest) >= 3 and rest[0] != ";" and rest[1] == "=":
        options[rest[0]] = rest[2]
        rest = rest[3:]
    if rest != [";"]:
        last = [*options][-1] if options else flag
        raise JaasError(f"expected options as NAME=\"VALUE\", then one ';' and no second class; see after {last}")
    return LoginModule(name, options)


def tokens_of(text: str) -> list[str]:
    """Words, strings without their quotes, and punctuation."""
    found: list[str] = []
    at = 0
    for match in TOKEN.finditer(text):
        if match.start() != at:
            break
        at = match.end()
        quoted = match["double"] if match["double"] is not None else match["single"]
        if match["space"] is None:
            found.append(unescaped(quoted) if quoted is not None else match["word"] or match["sign"])
    if at != len(text):
        raise JaasError(f"character {at + 1} is neither in a word nor in quotes")
    return found


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)
