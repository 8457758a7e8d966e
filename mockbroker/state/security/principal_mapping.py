"""``ssl.principal.mapping.rules``: the principal's name for the subject of a client's certificate.

The patterns are Java's. RE2 matches them in linear time and supports the usual rules; a pattern with features of Java
only, such as look-ahead or back references, is an error.
Source: KIP-371; SslPrincipalMapper, Apache Kafka 4.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.state.patterns import PatternError, compiled

if TYPE_CHECKING:
    from cryptography.x509 import Name, NameAttribute

RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
RULE_SPLITTER = re.compile(rf"\s*({RULE})\s*(?:,\s*|$)")
RULE_PARSER = re.compile(RULE)
BLANKS = "".join(map(chr, range(33)))  # removed by Java's trim


class Rule(NamedTuple):
    """A rule; without a pattern the name is unchanged. ``letters`` is "L", "U" or ""."""

    pattern: Any = None
    replacement: str = ""
    letters: str = ""


def mapped_name(rules: Iterable[Rule], name: str) -> str:
    """The principal's name of a subject, by the first rule that matches.

    Each match is replaced as by Java's replaceAll.

    Raises ValueError: no rule matches.
    """
    for pattern, replacement, letters in rules:
        if pattern is None:
            return name
        if pattern.fullmatch(name) is not None:
            result: str = pattern.sub(partial(filled_in, replacement), name)
            return {"L": result.lower(), "U": result.upper()}.get(letters, result)
    raise ValueError(f"ssl.principal.mapping.rules: none applies to {name}")


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules in a setting. Raises ValueError.

    >>> mapped_name(parse_rules("RULE:^CN=([^,]*),.*$/$1/L, DEFAULT"), "CN=Alice,O=Orders")
    'alice'
    """
    rules = []
    for found in RULE_SPLITTER.finditer(text.strip(BLANKS)):
        rule = found[1]
        match = RULE_PARSER.match(rule)
        assert match is not None  # its last branch takes anything
        if match.end() != len(rule):
            raise ValueError(
                f"ssl.principal.mapping.rules: Invalid rule: `{rule}`, unmatched substring: `{rule[match.end() :]}`"
            )
        if match[1] is not None:
            rules.append(Rule())
        elif match[2] is not None:
            rules.append(Rule(pattern_of(match[2]), match[3], match[4] or ""))
    return tuple(rules)


def pattern_of(text: str) -> Any:
    try:
        return compiled(text)
    except PatternError as error:
        raise ValueError(f"ssl.principal.mapping.rules: cannot use the pattern {text!r}: {error}") from None


def filled_in(replacement: str, match: Any) -> str:
    """A replacement with its ``$1`` groups filled in; a number above the last group remains as text."""

    def fill(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        numbers = [found[2][:size] for size in range(1, len(found[2]) + 1)]
        number = max((one for one in numbers if int(one) <= match.re.groups), key=len, default=None)
        return found[0] if number is None else (match[int(number)] or "") + found[2].removeprefix(number)

    return re.sub(r"\\(.)|\$(\d+)", fill, replacement, flags=re.DOTALL)


ESCAPED = frozenset(',=+<>#;"\\')
HEADERS = 3
"""A Name in DER with one attribute: the headers of a sequence, a set and a sequence, the identifier, the value."""


class CertificateError(ValueError):
    """Bytes that are not a certificate."""


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER, in the form of X500Principal.getName. Raises CertificateError."""
    from cryptography.x509 import load_der_x509_certificate

    try:
        return name_of(load_der_x509_certificate(certificate).subject)
    except ValueError as error:
        raise CertificateError("not a certificate in DER") from error


def name_of(name: Name) -> str:
    """A name's parts, last one first."""
    return ",".join("+".join(map(attribute_text, part)) for part in reversed(name.rdns))


def attribute_text(attribute: NameAttribute[str | bytes]) -> str:
    keyword, value = attribute.rfc4514_attribute_name, attribute.value
    if keyword == attribute.oid.dotted_string or isinstance(value, bytes):
        return f"{keyword}=#{value_in_der(attribute).hex()}"
    escaped = ["\\" + char if char in ESCAPED else "\\00" if char == "\0" else char for char in value]
    first = len(value) - len(value.lstrip(" \r"))
    last = len(value.rstrip(" \r")) - 1
    text = "".join("\\" + char if index < first or index > last else char for index, char in enumerate(escaped))
    return f"{keyword}={text}"


def value_in_der(attribute: NameAttribute[str | bytes]) -> bytes:
    """The value with its tag and length, which cryptography writes at the end of a name with one attribute."""
    from cryptography import x509

    der = x509.Name([attribute]).public_bytes()
    at = 0
    for _ in range(HEADERS):
        length = der[at + 1]
        at += 2 + (length & 0x7F if length & 0x80 else 0)
    return der[at + 2 + der[at + 1] :]
