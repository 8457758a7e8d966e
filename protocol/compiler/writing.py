"""What compiled encoders call for the rare cases: varints of several bytes, tagged fields, arrays of numbers."""

import struct
from collections.abc import Callable, Collection
from typing import Any

from ..wire import MAX_STRING_BYTES, unsigned_varint
from .source import Refused


def varint(value: int) -> bytes:
    """``value`` as an unsigned varint of 32 bits."""
    if 0 <= value < 127:
        return SHORT_LENGTH[value - 1]
    if value >> 32:
        raise Refused
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


class Packers(dict[int, Callable[..., bytes]]):
    """``packers[n](*before, *numbers)`` writes n numbers of one width behind others; those for small n are kept."""

    def __init__(self, before: str, code: str) -> None:
        super().__init__()
        self.before, self.code = before, code

    def __missing__(self, count: int) -> Callable[..., bytes]:
        pack = struct.Struct(f">{self.before}{max(count, 0)}{self.code}").pack
        if count < 256:
            self[count] = pack
        return pack


# short_length[n] is the compact form of the length n, 0-126; -1, null, is the last entry and so found as well.
SHORT_LENGTH = (*(bytes([length + 1]) for length in range(127)), b"\0")
NAMES = {"varint": varint, "sequence": sequence, "tagged_fields": tagged_fields, "short_length": SHORT_LENGTH}
__all__ = ["MAX_STRING_BYTES", "NAMES", "Packers"]
