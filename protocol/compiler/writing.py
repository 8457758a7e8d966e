"""What compiled encoders call for the rare cases: varints of several bytes, tagged fields, arrays of numbers."""

import struct
from collections.abc import Callable, Collection

from ..wire import MAX_STRING_BYTES, unsigned_varint
from .source import Refused


def varint(value: int) -> bytes:
    """``value`` as an unsigned varint of 32 bits."""
    if value >> 32:
        raise Refused
    return unsigned_varint(value)


def tagged_fields(
    unknown: Collection[tuple[int, bytes]], chosen: Collection[tuple[int, bytes]], known: tuple[int, ...]
) -> bytes:
    """Tagged fields in rising order of their tags, behind their number; ``unknown`` ones may not use a known tag."""
    by_tag = dict(unknown)
    if len(by_tag) != len(unknown) or not by_tag.keys().isdisjoint(known):
        raise Refused
    by_tag.update(chosen)
    pieces = [varint(len(by_tag))]
    for tag, data in sorted(by_tag.items()):
        pieces += [varint(tag), varint(len(data)), data]
    return b"".join(pieces)


class Packers(dict[int, Callable[..., bytes]]):
    """``packers[n](*numbers)`` writes n numbers of one width; small ones are kept."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code

    def __missing__(self, count: int) -> Callable[..., bytes]:
        pack = struct.Struct(f">{count}{self.code}").pack
        if count < 256:
            self[count] = pack
        return pack


PACKERS = {code: Packers(code) for code in "bBhHlLqd"}
NAMES = {"varint": varint, "tagged_fields": tagged_fields}
__all__ = ["MAX_STRING_BYTES", "NAMES", "PACKERS"]
