"""Damage done to good bytes: cut off, changed, or with lengths made huge."""

from collections.abc import Iterator

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

HUGE = (
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\x7f\xff",
    b"\x80\x00\x00\x00",
    b"\xff",
)


def prefixes(data: bytes) -> Iterator[bytes]:
    """Every true prefix."""
    return (data[:end] for end in range(len(data)))


def huge_lengths(data: bytes) -> Iterator[bytes]:
    """Each position in turn overwritten by the largest lengths of each width, and by negative ones."""
    for start in range(len(data)):
        for huge in HUGE:
            yield data[:start] + huge + data[start + len(huge) :]


def damaged(data: bytes) -> SearchStrategy[bytes]:
    """One to three bytes changed, dropped or added, anywhere."""
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
