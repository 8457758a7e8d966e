"""Damage done to good bytes: cut off, changed, or with lengths made huge."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..explain import explain

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# By how many bytes a length takes: the largest, and below null; a varint of one byte grows into several.
HUGE = {
    1: [b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\xff\xff\xff\xff\xff\x01"],
    2: [b"\x7f\xff", b"\x80\x00", b"\xff\xfe"],
    4: [b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xfe"],
}


def prefixes(data: bytes) -> Iterator[bytes]:
    """Every true prefix."""
    return (data[:end] for end in range(len(data)))


def huge_lengths(message: Any, version: int, data: bytes) -> Iterator[bytes]:
    """Each length and count in the bytes of a message in turn, made larger than what follows, or negative."""
    for span in explain(message, version, data).spans:
        if span.is_length:
            for huge in HUGE.get(len(span.data), HUGE[1]):
                yield data[: span.offset] + huge + data[span.offset + len(span.data) :]


def damaged(data: bytes) -> "SearchStrategy[bytes]":
    """One to three bytes changed, dropped or added, anywhere."""
    from hypothesis import strategies as st

    return st.lists(
        st.tuples(st.integers(0, max(0, len(data) - 1)), st.sampled_from(["set", "drop", "add"]), st.integers(0, 255)),
        min_size=1,
        max_size=3,
    ).map(lambda changes: changed(data, changes))


def changed(data: bytes, changes: list[tuple[int, str, int]]) -> bytes:
    """``data`` after the changes, each a position, what to do there, and a byte."""
    out = bytearray(data)
    for position, what, byte in changes:
        if what == "add":
            out.insert(position, byte)
        elif position < len(out) and what == "set":
            out[position] = byte
        elif position < len(out):
            del out[position]
    return bytes(out)
