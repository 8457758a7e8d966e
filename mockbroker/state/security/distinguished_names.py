"""The subject of a certificate as Java writes it: ``CN=alice,OU=orders,O=Example,C=SE``, the last part first.

What Java has no word for stands by its number and the bytes of its value in hex, as in RFC 2253.
Source: RFC 5280, RFC 2253; AVA.toRFC2253String, which X500Principal.getName gives, OpenJDK 17.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SEQUENCE, SET, OBJECT_IDENTIFIER, VERSION = 0x30, 0x31, 0x06, 0xA0
KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
TEXT_TAGS = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""UTF8String, PrintableString, T61String, IA5String, GeneralString, BMPString."""
ESCAPED = frozenset(',=+<>#;"\\')


class CertificateError(ValueError):
    """Bytes that are no certificate."""


class Element(NamedTuple):
    """One element of DER: its tag, its content, and all of its bytes."""

    tag: int
    content: bytes
    whole: bytes


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER, as X500Principal.getName writes it. Raises CertificateError."""
    try:
        (outer,) = elements(certificate)
        to_be_signed = next(elements(outer.content))
        fields = list(elements(to_be_signed.content))
        has_version = fields[0].tag == VERSION  # then: serial number, algorithm, issuer, validity, subject
        return name_of(fields[5 if has_version else 4].content)
    except (IndexError, StopIteration, ValueError) as error:
        raise CertificateError("not a certificate in DER") from error


def name_of(name: bytes) -> str:
    """A Name's parts, the last one first."""
    parts = []
    for part in elements(name):
        pairs = [list(elements(pair.content)) for pair in elements(part.content)]
        parts.append("+".join(f"{keyword(kind.content)}={value_of(kind.content, value)}" for kind, value in pairs))
    return ",".join(reversed(parts))


def keyword(kind: bytes) -> str:
    number = dotted(kind)
    return KEYWORDS.get(number, number)


def value_of(kind: bytes, value: Element) -> str:
    """A value as text, or in hex where Java does not take it for text or has no word for what it is of."""
    if dotted(kind) not in KEYWORDS or value.tag not in TEXT_TAGS:
        return "#" + value.whole.hex()
    text = value.content.decode("utf-8", "replace")  # whatever encoding the tag stands for, as in Java
    escaped = ["\\" + char if char in ESCAPED else "\\00" if char == "\0" else char for char in text]
    first = len(text) - len(text.lstrip(" \r"))
    last = len(text.rstrip(" \r")) - 1
    return "".join("\\" + char if index < first or index > last else char for index, char in enumerate(escaped))


def dotted(identifier: bytes) -> str:
    """An object identifier's numbers.

    >>> dotted(bytes.fromhex("550403"))
    '2.5.4.3'
    """
    numbers, number = [], 0
    for byte in identifier:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def elements(data: bytes) -> Iterator[Element]:
    """The elements of DER one behind another. Raises ValueError: they do not fill the bytes."""
    at = 0
    while at < len(data):
        start, tag, length = at, data[at], data[at + 1]
        at += 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[at : at + size], "big")
            at += size
        content = data[at : at + length]
        if len(content) != length:
            raise ValueError("an element ends beyond the bytes")
        at += length
        yield Element(tag, content, data[start:at])
