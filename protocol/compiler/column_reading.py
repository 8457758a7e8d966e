"""What compiled column readers call: frames as views that read a number at any byte, lengths, strings, rows by level.

Every function here takes arrays with one element a row: ``p`` the positions, ``limit`` one byte behind the end of each
row's frame, ``f`` the frame that each row belongs to. What is not plain marks its frame in ``odd``, and reading goes on
with a length of 0, so that no position ever leaves the buffer by more than ``PAD_BYTES``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]

PAD_BYTES = 4096
"""Zeros behind the last frame: more than any run of fixed fields, and a string of ``MAX_TEXT_BYTES``, may overshoot."""
MAX_TEXT_BYTES = 255
"""Longer strings are rare: their frames go to the decoder."""
MAX_ITEMS = 64
"""So are longer arrays of records, and the decoder has loops of its own for them."""
MIN_LIVE = 4
"""Rows for which another turn through an array's items is worth its while."""
VIEWS = {"b": "i1", "B": "u1", "?": "u1", "h": ">i2", "H": ">u2", "l": ">i4", "L": ">u4", "q": ">i8", "d": ">f8"}
"""struct's letters -> numpy's types."""


class Views:
    """Frames behind each other in ``data``, which ends in ``PAD_BYTES`` zeros.

    ``at[code][positions]`` are the numbers that stand there, big endian; ``words`` the eight bytes from each position.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        size = len(data)
        self.at = {
            code: np.ndarray((max(size - np.dtype(kind).itemsize + 1, 0),), np.dtype(kind), data, 0, (1,))
            for code, kind in VIEWS.items()
        }
        self.words = np.ndarray((max(size - 7, 0),), np.dtype("<u8"), data, 0, (1,))
        self.bytes = self.at["B"]

    def number(self, code: str, p: Numbers) -> Numbers:
        return self.at[code][p].astype(np.int64)


def joined(frames: Sequence[bytes]) -> tuple[Views, Numbers, Numbers]:
    """Frames as views, with where each begins and ends.

    >>> views, starts, ends = joined([b"ab", b"c"])
    >>> starts.tolist(), ends.tolist()
    ([0, 2], [2, 3])
    """
    ends = np.cumsum(np.fromiter(map(len, frames), np.int64, len(frames)))
    starts = np.zeros_like(ends)
    starts[1:] = ends[:-1]
    return Views(b"".join([*frames, bytes(PAD_BYTES)])), starts, ends


class Columns(NamedTuple):
    """What a column reader gives.

    ``end`` is where each frame's body ends and ``odd`` which frames are not plain: the decoder has to read those.
    ``frames`` has, for each array of records with a wanted field, the frame of each row, in the order of the wire and
    without those of odd frames; ``values`` what the rows have: a number, or of strings and bytes where they start and
    how long they are (-1 is null), or where a uuid starts. Those of the message itself have a row for every frame.
    ``keys`` rise with the rows; divided by ``MAX_ITEMS`` they are the key of the row outside.
    """

    end: Numbers
    odd: Flags
    frames: dict[str, Numbers]
    values: dict[str, Any]
    keys: dict[str, Numbers]

    def outer(self, inner: str, outside: str) -> Numbers:
        """For each row of an array, the row of the array around it."""
        found: Numbers = np.searchsorted(self.keys[outside], self.keys[inner] // MAX_ITEMS)
        return found


_HIGH = 0x8080808080808080
_TAIL = np.array([_HIGH & ((1 << (8 * count)) - 1) for count in range(9)], dtype=np.uint64)
"""Of a word, the high bits of its first bytes."""


def mark(odd: Flags, f: Numbers, rows: Flags) -> None:
    """Leave frames to the decoder."""
    odd[f[rows]] = True


def length(n: Numbers, lowest: int, highest: int, odd: Flags, f: Numbers) -> Numbers:
    """Lengths within these bounds; others are odd, and 0."""
    wrong = (n < lowest) | (n > highest)
    if wrong.any():
        mark(odd, f, wrong)
        return np.where(wrong, 0, n)
    return n


def behind(p: Numbers, n: Numbers, width: int, limit: Numbers) -> Numbers:
    """The position behind ``n`` items of ``width`` bytes; null has none."""
    size = np.maximum(n, 0)
    found: Numbers = np.minimum(p + (size * width if width != 1 else size), limit)
    return found


def plain_text(views: Views, p: Numbers, n: Numbers, odd: Flags, f: Numbers) -> None:
    """Mark frames whose strings are more than ASCII: the decoder knows whether they are UTF-8."""
    if not n.size:
        return
    words = views.words
    found = words[p] & _TAIL[np.clip(n, 0, 8)]
    longest = int(n.max())
    for at in range(8, longest, 8):
        found |= words[p + at] & _TAIL[np.clip(n - at, 0, 8)]
    if found.any():
        mark(odd, f, found != 0)


def varint(views: Views, p: Numbers, odd: Flags, f: Numbers) -> tuple[Numbers, Numbers]:
    """Unsigned varints, and the positions behind them; more than 32 bits are odd."""
    number = views.bytes[p].astype(np.int64)
    p = p + 1
    long = np.flatnonzero(number > 127)
    if not long.size:
        return number, p
    number[long] &= 127
    for shift in (7, 14, 21, 28):
        byte = views.bytes[p[long]].astype(np.int64)
        p[long] += 1
        number[long] |= (byte & 127) << shift
        long = long[byte > 127]
        if not long.size:
            break
    wrong = number >> 32 != 0
    wrong[long] = True
    if wrong.any():
        mark(odd, f, wrong)
        number[wrong] = 0
    return number, p


def rows_of(found: list[tuple[Any, ...]], depth: int, odd: Flags) -> tuple[Any, ...]:
    """The rows that the turns through an array of this depth gave, keys and frames first; none of odd frames."""
    if not found:
        return ()
    keys, *columns = found[0] if len(found) == 1 else (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = None
    if len(found) > 1:
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    frames = keys // MAX_ITEMS**depth
    if odd.any():
        good = ~odd[frames]
        keys, frames = keys[good], frames[good]
        order = order[good] if order is not None else np.flatnonzero(good)
    return (keys, frames, *columns) if order is None else (keys, frames, *(column[order] for column in columns))


NAMES: dict[str, Any] = {
    "Columns": Columns,
    "arange": np.arange,
    "behind": behind,
    "flatnonzero": np.flatnonzero,
    "int64": np.int64,
    "isin": np.isin,
    "length": length,
    "mark": mark,
    "minimum": np.minimum,
    "plain_text": plain_text,
    "rows_of": rows_of,
    "varint": varint,
    "zeros": np.zeros,
}
