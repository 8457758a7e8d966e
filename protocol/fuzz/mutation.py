"""Damage without hypothesis: seeded and quick, for inputs by the million.

>>> from random import Random
>>> mutated(bytes.fromhex("0000000100066576656e7473"), Random(4)) != bytes.fromhex("0000000100066576656e7473")
True
"""

from collections.abc import Callable, Sequence
from random import Random

# What readers stumble over: lengths of null, of nothing, at the edges of each width, and varints that do not end.
EDGES = [
    b"\x00",
    b"\x01",
    b"\x02",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\x00\x00",
    b"\x7f\xff",
    b"\x80\x00",
    b"\xff\xfe",
    b"\xff\xff",
    b"\x00\x00\x00\x00",
    b"\x00\x00\x00\x01",
    b"\x00\x00\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x80\x01",
    b"\xff\x7f",
    b"\x80\x80\x01",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
    b"\x7f\xf8\x00\x00\x00\x00\x00\x00",  # a float64 that is no number
    b"\xc3\x28",  # no UTF-8
    b"\xed\xa0\x80",  # half of a surrogate pair
]
MAX_CHANGES = 4
MAX_CUT_BYTES = 24


def mutated(data: bytes, chance: Random, others: Sequence[bytes] = ()) -> bytes:
    """``data`` after one to four changes: bytes set, dropped, added, repeated, cut off, or taken from others.

    Args:
        chance: equal states give equal bytes.
        others: pieces of these may come in; near relatives, as other messages of the same class, are best.
    """
    out = bytearray(data)
    for _ in range(1 + int(chance.random() ** 2 * MAX_CHANGES)):  # one is likeliest
        CHANGES[int(chance.random() * len(CHANGES))](out, chance, others)
    return bytes(out)


def random_bytes(chance: Random, most: int = 80) -> bytes:
    """Up to ``most`` bytes: of any value, or mostly zeros and ones, which get further into a reader."""
    size = int(chance.random() * (most + 1))
    if chance.random() < 0.5:
        return chance.randbytes(size)
    return bytes(0 if chance.random() < 0.5 else int(chance.random() * 4) for _ in range(size))


def place(out: bytearray, chance: Random) -> int:
    """A position in ``out``, or just behind it."""
    return int(chance.random() * (len(out) + 1))


# -- one change each; all are given ``others``, which few use ---------------------------------------------------------


def set_byte(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    at = place(out, chance)
    out[at : at + 1] = bytes((int(chance.random() * 256),))


def flip_bit(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    if out:
        out[int(chance.random() * len(out))] ^= 1 << int(chance.random() * 8)


def step(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    """One byte more or less by one, as lengths are when someone has counted wrongly."""
    if out:
        at = int(chance.random() * len(out))
        out[at] = (out[at] + (1 if chance.random() < 0.5 else 255)) & 255


def set_edge(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    at = place(out, chance)
    edge = EDGES[int(chance.random() * len(EDGES))]
    out[at : at + len(edge)] = edge


def add_edge(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    at = place(out, chance)
    out[at:at] = EDGES[int(chance.random() * len(EDGES))]


def add_bytes(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    at = place(out, chance)
    out[at:at] = chance.randbytes(1 + int(chance.random() * MAX_CUT_BYTES))


def drop(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    at = place(out, chance)
    del out[at : at + 1 + int(chance.random() * MAX_CUT_BYTES)]


def repeat(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    at = place(out, chance)
    out[at:at] = out[at : at + 1 + int(chance.random() * MAX_CUT_BYTES)]


def cut_off(out: bytearray, chance: Random, _: Sequence[bytes]) -> None:
    del out[place(out, chance) :]


def splice(out: bytearray, chance: Random, others: Sequence[bytes]) -> None:
    """The start of this, the end of another."""
    if others:
        other = others[int(chance.random() * len(others))]
        out[place(out, chance) :] = other[int(chance.random() * (len(other) + 1)) :]


CHANGES: list[Callable[[bytearray, Random, Sequence[bytes]], None]] = [
    set_byte,
    set_byte,
    flip_bit,
    step,
    step,
    set_edge,
    set_edge,
    add_edge,
    add_bytes,
    drop,
    repeat,
    cut_off,
    splice,
]
