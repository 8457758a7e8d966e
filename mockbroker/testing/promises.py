"""Promises that are judged: kept, or broken by what contradicts them."""

from __future__ import annotations


class BrokenPromiseError(Exception):
    """A promise that is not kept; the text says what contradicts it."""


def expect(holds: object, otherwise: str) -> None:
    """Raise BrokenPromiseError with this text unless a promise holds."""
    if not holds:
        raise BrokenPromiseError(otherwise)
