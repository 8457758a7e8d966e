"""What compiled decoders call for the rare cases: varints of several bytes, long strings, nulls."""

import struct
from collections.abc import Callable
from typing import Any

from ..wire import MAX_STRING_BYTES
from .source import Refused


def varint(b: bytes, p: int) -> tuple[int, int]:
    """An unsigned varint of 32 bits at ``p``, and the position behind it."""
    first = b[p]
    return (first, p + 1) if first < 128 else long_varint(b, p + 1, first)


def long_varint(b: bytes, p: int, first: int) -> tuple[int, int]:
    """The same where its first byte, above 127, is read already and ``p`` stands behind it."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = b[p]
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            if value >> 32:
                break
            return value, p
    raise Refused


def varint_rest(count: str, position: str = "p") -> list[str]:
    """Source lines that complete a varint whose first byte, standing before ``position``, is in the variable ``count``.

    One byte is usual, two are common enough to be read in place.
    """
    return [
        f"if {count} > 127:",
        f"    if b[{position}] < 128:",
        f"        {count} += (b[{position}] << 7) - 128",
        f"        {position} += 1",
        "    else:",
        f"        {count}, {position} = long_varint(b, {position}, {count})",
    ]


def long_bytes(b: bytes, p: int, first: int) -> tuple[bytes, int]:
    """Compact bytes whose length, as its first byte says, is null or takes several bytes."""
    if not first:
        raise Refused
    length, p = long_varint(b, p, first)
    if not length:
        raise Refused
    end = p + length - 1
    return b[p:end], end


def long_nullable_bytes(b: bytes, p: int, first: int) -> tuple[bytes | None, int]:
    """The same where null is allowed."""
    if not first:
        return None, p
    length, p = long_varint(b, p, first)
    if not length:
        return None, p
    end = p + length - 1
    return b[p:end], end


def long_string(b: bytes, p: int, first: int) -> tuple[str, int]:
    """A compact string whose length, as its first byte says, is null or takes several bytes."""
    data, p = long_bytes(b, p, first)
    if len(data) > MAX_STRING_BYTES:
        raise Refused
    return data.decode(), p


def long_nullable_string(b: bytes, p: int, first: int) -> tuple[str | None, int]:
    """The same where null is allowed."""
    data, p = long_nullable_bytes(b, p, first)
    if data is None:
        return None, p
    if len(data) > MAX_STRING_BYTES:
        raise Refused
    return data.decode(), p


class Unpackers(dict[int, Callable[..., tuple[Any, ...]]]):
    """``unpackers[n](b, p)`` reads n numbers of one width; small ones are kept."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code

    def __missing__(self, count: int) -> Callable[..., tuple[Any, ...]]:
        unpack = struct.Struct(f">{count}{self.code}").unpack_from
        if count < 256:
            self[count] = unpack
        return unpack


UNPACKERS = {code: Unpackers(code) for code in "bBhHlLqd?"}
NAMES = {
    "varint": varint,
    "long_varint": long_varint,
    "long_bytes": long_bytes,
    "long_nullable_bytes": long_nullable_bytes,
    "long_string": long_string,
    "long_nullable_string": long_nullable_string,
}
