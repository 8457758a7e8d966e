"""A call's bytes on behalf of each of the partitions that it is about."""

from __future__ import annotations

from collections.abc import Sequence


def shares(total: int, own: Sequence[int]) -> list[int]:
    """A call's bytes over its partitions: each its own and an equal part of the rest, the first what does not divide.

    >>> shares(110, [50, 30, 0])
    [60, 40, 10]
    """
    if len(own) == 1:
        return [total]
    rest = total - sum(own)
    each = rest // len(own) if rest > 0 else 0
    parts = [one + each for one in own]
    parts[0] += total - sum(parts)
    return parts
