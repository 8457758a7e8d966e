"""Functions for the rare cases of compiled encoders: varints of several bytes, tagged fields, arrays of numbers."""

import struct
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ..framing import Pieces, few_pieces
from ..wire import MAX_STRING_BYTES, unsigned_varint
from .source import Refused


def varint(value: int) -> bytes:
    """``value`` as an unsigned varint of 32 bits."""
    if 0 <= value < 127:
        return SHORT_LENGTH[value - 1]
    if value >> 32:
        raise Refused
    if 127 < value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    return unsigned_varint(value)


def sequence(items: Any, nullable: bool) -> Any:
    """``items`` if that may stand for a list: a tuple, or None where null is allowed."""
    if isinstance(items, (list, tuple)) or (items is None and nullable):
        return items
    raise Refused


def tagged_fields(
    unknown: Collection[tuple[int, bytes]], chosen: Collection[tuple[int, bytes]], known: tuple[int, ...]
) -> bytes:
    """Tagged fields in rising order of their tags, behind their number.

    The ``chosen`` come in that order; ``unknown`` ones may not use a ``known`` tag.
    """
    if unknown:
        by_tag = dict(unknown)
        if len(by_tag) != len(unknown) or not by_tag.keys().isdisjoint(known):
            raise Refused
        by_tag.update(chosen)
        chosen = sorted(by_tag.items())
    pieces = [varint(len(chosen))]
    for tag, data in chosen:
        pieces += (varint(tag), varint(len(data)), data)
    return b"".join(pieces)


def unknown_tagged_fields(record: Any) -> bytes:
    """The tagged fields of a record that knows none."""
    return tagged_fields(record.unknown_tagged_fields, (), ())


def long_run(codes: Sequence[str], values: Sequence[Any]) -> bytes:
    """A run, see ``encode.Packed``, in which an array, here its count and itself, has more than 126 numbers."""
    pieces = []
    for code, value in zip(codes, values, strict=True):
        if "*" not in code:
            pieces.append(struct.pack(f">{code}", value))
            continue
        (count, numbers), (prefix, item) = value, code.split("*")
        pieces.append(varint(count + 1) if prefix == "B" else struct.pack(f">{prefix}", count))
        pieces.append(struct.pack(f">{len(numbers)}{item}", *numbers))
    return b"".join(pieces)


class Packers(dict[Any, Callable[..., bytes]]):
    """``packers[counts](*values)`` packs a run in which arrays have these counts; the first thousand are kept."""

    def __init__(self, codes: Sequence[str]) -> None:
        super().__init__()
        self.codes = codes

    def __missing__(self, counts: int | tuple[int, ...]) -> Callable[..., bytes]:
        left = iter(counts if isinstance(counts, tuple) else (counts,))
        codes = [code.replace("*", str(max(next(left), 0))) if "*" in code else code for code in self.codes]
        pack = struct.Struct(">" + "".join(codes)).pack
        if len(self) < 1000:
            self[counts] = pack
        return pack


# short_length[n] is the compact form of the length n, 0-126; -1, null, is the last entry and so found as well.
SHORT_LENGTH = (*(bytes([length + 1]) for length in range(127)), b"\0")
NAMES = {
    "Pieces": Pieces,
    "few_pieces": few_pieces,
    "varint": varint,
    "long_run": long_run,
    "sequence": sequence,
    "tagged_fields": tagged_fields,
    "short_length": SHORT_LENGTH,
}
__all__ = ["MAX_STRING_BYTES", "NAMES", "Packers"]
