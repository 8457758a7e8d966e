"""Files and folders that a command reads or writes, by path or URL, looked at before any work."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.wire_capture.files import is_url

ROOM = "room for what is written, make some or choose another folder"
WRITABLE = "a folder that can be written, choose another"
EXPECTED = {
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EROFS: WRITABLE,
    errno.EEXIST: "a folder, got a file",
    errno.ENOTDIR: "a folder, got a file",
}
"""What would be right, by the error of the system."""


def check_places(inputs: Iterable[str], *outputs: str | None) -> None:
    """Refuse inputs that do not exist and outputs that are no folders; URLs are left to their reader and writer.

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
    """Raises UsageError: it can be no folder, as it is a file, or lies in one."""
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
    """What a command says that could not read what it was given; nothing that is not there is wrong usage."""
    if isinstance(error, ValueError) or (isinstance(error, FileNotFoundError) and error.strerror is None):
        return UsageError(str(error))
    return CommandError(f"{error.filename}: {error.strerror}" if error.filename else str(error))


def refused(place: str, number: int | None, reason: str) -> CommandError:
    """What a job says that the system kept from reading or writing, with what would be right.

    Args:
        number: of the error, as in errno.

    >>> print(refused("tables", errno.ENOSPC, os.strerror(errno.ENOSPC)))
    tables: No space left on device; expected room for what is written, make some or choose another folder
    """
    expected = EXPECTED.get(number or 0) if reason == os.strerror(number or 0) else None
    return CommandError(f"{place}: {reason}{f'; expected {expected}' if expected else ''}")
