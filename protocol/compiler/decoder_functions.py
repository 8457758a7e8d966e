"""Functions for the rare cases of compiled decoders: varints of several bytes, long strings, nulls; shared lines."""

import gc
import struct
from collections.abc import Callable
from typing import Any

from ..wire import MAX_STRING_BYTES, Length
from .source import Refused


def long_varint(b: bytes, p: int, first: int) -> tuple[int, int]:
    """An unsigned varint of 32 bits whose ``first`` byte, above 127, is read, and the position behind it."""
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
        f"    second = b[{position}]",
        "    if second < 128:",
        f"        {count} += (second << 7) - 128",
        f"        {position} += 1",
        "    else:",
        f"        {count}, {position} = long_varint(b, {position}, {count})",
    ]


def blob_lines(length: Length, found: str, count: str, position: str, data: str = "b") -> list[str]:
    """Source lines that read bytes, of length ``count`` as it stands on the wire, into ``found``: a slice of ``data``.

    The last of them is an ``else:`` for lengths that are not allowed.
    """
    null, end = (0, f"{position} + {count} - 1") if length.compact else (-1, f"{position} + {count}")
    lines = varint_rest(count, position) if length.compact else []
    lines += [f"if {count} > {null}:", f"    e = {end}", f"    {found} = {data}[{position}:e]", f"    {position} = e"]
    if length.nullable:
        lines += [f"elif {count} == {null}:", f"    {found} = None"]
    return [*lines, "else:"]


def long_string(b: bytes, p: int, first: int) -> tuple[str, int]:
    """A compact string whose length, as its first byte says, is null or takes several bytes."""
    if not first:
        raise Refused
    found, p = long_nullable_string(b, p, first)
    if found is None:
        raise Refused
    return found, p


def long_nullable_string(b: bytes, p: int, first: int) -> tuple[str | None, int]:
    """The same where null is allowed."""
    if not first:
        return None, p
    if b[p] < 128:
        end = p + first - 128 + (b[p] << 7)
        p += 1
    else:
        length, p = long_varint(b, p, first)
        end = p + length - 1
    if end < p:
        return None, p
    if end - p > MAX_STRING_BYTES:
        raise Refused
    return b[p:end].decode(), end


def tag_and_end(b: bytes, p: int) -> tuple[int, int, int]:
    """The tag of a tagged field at ``p``, where its value starts and where that ends."""
    tag, length = b[p], b[p + 1]
    if tag < 128 and length < 128:
        p += 2
    else:
        p += 1
        if tag > 127:
            tag, p = long_varint(b, p, tag)
        length = b[p]
        p += 1
        if length > 127:
            length, p = long_varint(b, p, length)
    return tag, p, p + length


def unknown_tagged_fields(b: bytes, p: int, count: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """The tagged fields of a record that knows none, ``count`` of them from ``p`` on, and the position behind them."""
    found: dict[int, bytes] = {}
    for _ in range(count):
        tag, p, end = tag_and_end(b, p)
        if end > len(b) or tag in found:
            raise Refused
        found[tag] = b[p:end]
        p = end
    return tuple(found.items()), p


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


class InternedNumbers(dict[int, int]):
    """``interned[n]`` is n, one object for equal numbers; it knows as many as a large cluster has brokers."""

    def __missing__(self, number: int) -> int:
        if len(self) < 4096:
            self[number] = number
        return number


INTERNED_CODES = (
    "h",
    "l",
    "q",
)  # the codes of what InternedNumbers is for; no floats or booleans, of which different ones can be equal
UNPACKERS = {code: Unpackers(code) for code in "bBhHlLqd?"}
NAMES = {
    "gc_disable": gc.disable,
    "gc_enable": gc.enable,
    "gc_isenabled": gc.isenabled,
    "interned": InternedNumbers(),
    "long_varint": long_varint,
    "tag_and_end": tag_and_end,
    "long_string": long_string,
    "long_nullable_string": long_nullable_string,
}
