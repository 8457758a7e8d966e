"""The subject of a certificate as Java writes it: ``CN=alice,OU=orders,O=Example,C=SE``, the last part first.

An attribute without a keyword in RFC 2253 is written as its number and the bytes of its value in hex.
Source: RFC 2253; AVA.toRFC2253String, which X500Principal.getName returns, OpenJDK 17.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.x509 import Name, NameAttribute

ESCAPED = frozenset(',=+<>#;"\\')
HEADERS = 3
"""A Name in DER with one attribute: the headers of a sequence, a set and a sequence, the identifier, the value."""


class CertificateError(ValueError):
    """Bytes that are no certificate."""


def subject_of(certificate: bytes) -> str:
    """The subject of a certificate in DER, as X500Principal.getName writes it. Raises CertificateError."""
    from cryptography.x509 import load_der_x509_certificate

    try:
        return name_of(load_der_x509_certificate(certificate).subject)
    except ValueError as error:
        raise CertificateError("not a certificate in DER") from error


def name_of(name: Name) -> str:
    """A name's parts, the last one first."""
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
    """The value with its tag and length, which cryptography writes at the end of a name of one attribute."""
    from cryptography import x509

    der = x509.Name([attribute]).public_bytes()
    at = 0
    for _ in range(HEADERS):
        length = der[at + 1]
        at += 2 + (length & 0x7F if length & 0x80 else 0)
    return der[at + 2 + der[at + 1] :]
