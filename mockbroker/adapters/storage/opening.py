"""Opens a data directory for a cluster; what is needed for that is loaded only then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.adapters.storage.running import Storage

ALWAYS, BY_SYSTEM = "always", "os"
"""When records reach the disk: before they are acknowledged, or when the operating system sees fit."""


def storage_in(path: Path | str, fsync: str) -> Storage:
    """A data directory. Raises: DataDirectoryError, OSError; ValueError: no such way to sync."""
    from mockbroker.adapters.storage.running import Storage

    if fsync not in (ALWAYS, BY_SYSTEM):
        raise ValueError(f"fsync: expected {ALWAYS} or {BY_SYSTEM}, got {fsync!r}")
    return Storage(path, fsync=fsync)


@contextmanager
def given_back_on_error(storage: Storage | None) -> Iterator[None]:
    """Give a data directory back if what goes on with it fails."""
    try:
        yield
    except BaseException:
        if storage is not None:
            storage.close(clean=False)
        raise
