"""Numbers with their nouns, as people read them."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "partition"), counted(0, "partition"), counted(2, "partition")
    ('1 partition', '0 partitions', '2 partitions')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"
