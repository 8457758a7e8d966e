"""Numbers with their nouns, as text."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun; the plural has an s unless ``plural`` is set.

    >>> counted(1, "partition"), counted(0, "partition"), counted(2, "partition")
    ('1 partition', '0 partitions', '2 partitions')
    >>> counted(2, "batch", "batches")
    '2 batches'
    """
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"
