"""Files and folders that a command reads or writes, by path or URL, looked at before any work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.storage import Location, location


def check_places(inputs: Iterable[str], *outputs: str | None) -> None:
    """Refuse what cannot be meant. What lies behind a URL is asked for later, by who has the settings that reach it.

    Raises UsageError: an input of this machine that is not there; a URL that nothing here reaches.
    """
    for given in inputs:
        place = place_of(given)
        if isinstance(place, Path) and not place.exists():
            raise UsageError(f"{given}: no such file or folder")
    for output in outputs:
        if output is not None:
            place_of(output)


def place_of(given: str) -> Location:
    """Raises UsageError."""
    try:
        return location(given)
    except ValueError as error:
        raise UsageError(str(error)) from None


def not_read(error: ValueError | OSError) -> CommandError | UsageError:
    """What a command says that could not read what it was given; nothing that is not there is wrong usage."""
    if isinstance(error, ValueError) or (isinstance(error, FileNotFoundError) and error.strerror is None):
        return UsageError(str(error))
    return CommandError(f"{error.filename}: {error.strerror}" if error.filename else str(error))
