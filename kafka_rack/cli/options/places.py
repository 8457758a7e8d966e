"""Files and folders that a command reads or writes, by path or URL, checked before any work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.wire_capture.files import is_url


def check_places(inputs: Iterable[str], *outputs: str | None) -> None:
    """Refuse missing inputs and outputs that are not folders; readers and writers check URLs.

    Raises UsageError: an input of this machine that is not there; an output, which is a folder, that is a file or lies
    in one.
    """
    for given in inputs:
        if not is_url(given) and not Path(given).exists():
            raise UsageError(f"{given}: no such file or folder")
    for output in outputs:
        if output is not None:
            check_folder(output)


def check_folder(given: str) -> None:
    """Raises UsageError: it is a file, or in one, so that it cannot be a folder."""
    if is_url(given):
        return
    place = Path(given)
    for above in (place, *place.parents):
        if above.exists():
            if not above.is_dir():
                raise UsageError(
                    f"{given}: expected a folder, got {'a file' if above == place else f'{above}, a file'}"
                )
            return


def not_read(error: ValueError | OSError) -> CommandError | UsageError:
    """The error of a command whose input could not be read: wrong usage if the input does not exist."""
    if isinstance(error, ValueError) or (isinstance(error, FileNotFoundError) and error.strerror is None):
        return UsageError(str(error))
    return CommandError(f"{error.filename}: {error.strerror}" if error.filename else str(error))
