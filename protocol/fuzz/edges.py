"""Values at which codecs go wrong: ends of integer types, lengths at which a compact length grows, odd words."""

WIDTHS = {"b": (8, True), "h": (16, True), "l": (32, True), "q": (64, True)}
WIDTHS |= {"B": (8, False), "H": (16, False), "L": (32, False)}
"""Numbers by the letters of the struct module: bits, and whether there are negative ones."""
LONG = 127
"""The length from which on a compact length, which counts one more, takes two bytes."""
LONG_LENGTHS = (LONG - 1, LONG, LONG + 1, 300)
WORDS = ("a", "az-a", "events", "räck", "機架", "\x00")
MIN_UNKNOWN_TAG = 10_000
MAX_TAG = (1 << 31) - 2
"""Kafka keeps 2**31 - 1 to itself and refuses it."""


def ends(bits: int, *, signed: bool) -> tuple[int, int]:
    """The lowest and the highest whole number of so many bits.

    >>> ends(8, signed=True), ends(8, signed=False)
    ((-128, 127), (0, 255))
    """
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def edges(bits: int, *, signed: bool) -> list[int]:
    """The ends of this and of narrower types, with their neighbours, sorted.

    >>> edges(8, signed=True)
    [-128, -127, -1, 0, 1, 127]
    """
    low, high = ends(bits, signed=signed)
    widths = (0, 7, 8, 15, 16, 31, 32, 63)
    near = {sign * ((1 << width) - step) for width in widths for step in (0, 1) for sign in (1, -1)}
    return sorted(one for one in near | {low, high} if low <= one <= high)
