"""Java's own old key stores (JKS), which keytool wrote before Java 9 and writes with ``-storetype JKS`` today.

Not JCEKS, whose keys are encrypted otherwise and which may hold serialized Java objects. Read here, as the one library
for it on PyPI, pyjks, has had no release since 2020.
Source: sun.security.provider.JavaKeyStore and KeyProtector, OpenJDK 21.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from hmac import compare_digest

MAGIC = b"\xfe\xed\xfe\xed"
WHITENER = b"Mighty Aphrodite"
DIGEST_BYTES = 20
KEY_PROTECTOR = bytes.fromhex("060a2b060104012a02110101")
"""DER of the object identifier 1.3.6.1.4.1.42.2.17.1.1, by which Sun encrypts keys in these stores."""
SEQUENCE, OCTET_STRING = 0x30, 0x04
PRIVATE_KEY, TRUSTED_CERTIFICATE = 1, 2
DAMAGED = "keystore password was incorrect, or the file is damaged"


@dataclass(slots=True, frozen=True)
class JksEntry:
    """What stands under one alias, all in DER: a key as it is encrypted with its chain, or a certificate alone."""

    encrypted_key: bytes | None
    certificates: tuple[bytes, ...]


def jks_entries(data: bytes, password: str | None) -> list[JksEntry]:
    """What a store holds, in its order. Without a password its checksum is not looked at, as in Java.

    Raises: ValueError: a wrong password, or a file that is damaged.
    """
    content, digest = data[:-DIGEST_BYTES], data[-DIGEST_BYTES:]
    if password is not None and not compare_digest(
        sha1(password.encode("utf-16-be") + WHITENER + content, usedforsecurity=False).digest(), digest
    ):
        raise ValueError(DAMAGED)
    reader = Reader(content, len(MAGIC))
    version = reader.number(4)
    if version not in (1, 2):
        raise ValueError(f"expected version 1 or 2 of a JKS store, got {version}")
    return [entry(reader, version) for _ in range(reader.number(4))]


def jks_private_key(encrypted: bytes, password: str) -> bytes:
    """A key in PKCS#8, as DER. Raises ValueError: a wrong password, or a key that is damaged."""
    outer = Reader(Reader(encrypted).der(SEQUENCE))
    if not outer.der(SEQUENCE).startswith(KEY_PROTECTOR):
        raise ValueError("expected a key that is encrypted as in JKS stores, got another algorithm")
    protected = outer.der(OCTET_STRING)
    salt, hidden, digest = protected[:DIGEST_BYTES], protected[DIGEST_BYTES:-DIGEST_BYTES], protected[-DIGEST_BYTES:]
    secret = password.encode("utf-16-be")
    blocks = key_stream(secret, salt)
    stream = b"".join(next(blocks) for _ in range(0, len(hidden), DIGEST_BYTES))
    key = bytes(left ^ right for left, right in zip(hidden, stream, strict=False))
    if not compare_digest(sha1(secret + key, usedforsecurity=False).digest(), digest):
        raise ValueError("the key's password was incorrect, or the file is damaged: expected it in ssl.key.password")
    return key


def key_stream(secret: bytes, salt: bytes) -> Iterator[bytes]:
    """What a key is combined with, in blocks: each is the digest of the password and the block before."""
    block = salt
    while True:
        block = sha1(secret + block, usedforsecurity=False).digest()
        yield block


def entry(reader: Reader, version: int) -> JksEntry:
    tag = reader.number(4)
    reader.take(reader.number(2))  # the alias
    reader.number(8)  # when it was made
    if tag == TRUSTED_CERTIFICATE:
        return JksEntry(None, (certificate(reader, version),))
    if tag != PRIVATE_KEY:
        raise ValueError(f"expected keys and certificates in it, got an entry of kind {tag}")
    key = reader.take(reader.number(4))
    return JksEntry(key, tuple(certificate(reader, version) for _ in range(reader.number(4))))


def certificate(reader: Reader, version: int) -> bytes:
    if version == 2:
        reader.take(reader.number(2))  # its type, X.509
    return reader.take(reader.number(4))


class Reader:
    """Reads from the front of some bytes. Raises ValueError where they end too soon."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise ValueError(
                f"the file is damaged: expected {length} bytes at {self.at}, got {len(self.data) - self.at}"
            )
        found, self.at = self.data[self.at : end], end
        return found

    def number(self, length: int) -> int:
        return int.from_bytes(self.take(length))

    def der(self, tag: int) -> bytes:
        """The content of the next value in DER, which has to be of this kind."""
        found, length = self.take(2)
        if found != tag:
            raise ValueError(f"the file is damaged: expected DER of kind {tag:#x} in a key, got {found:#x}")
        return self.take(self.number(length & 0x7F) if length & 0x80 else length)
