"""A file of keys on disk, which users may replace while the cluster runs."""

from __future__ import annotations

import os

MAX_BYTES = 1 << 20


class WatchedFile:
    """Reads a small text file, and reads it again after a change.

    Raises: OSError, ValueError: the file cannot be read, is too large or is not text.
    """

    __slots__ = ("_modified_ns", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._modified_ns: int | None = None

    def changed(self) -> str | None:
        """The text if the file has changed since the last call, else None. Raises OSError, ValueError."""
        status = os.stat(self._path)  # noqa: PTH116 - pathlib is not loaded with a cluster
        if status.st_mtime_ns == self._modified_ns:
            return None
        if status.st_size > MAX_BYTES:
            raise ValueError(f"expected a file of {MAX_BYTES} bytes or fewer, got {status.st_size}")
        with open(self._path, "rb") as file:  # noqa: PTH123 - the same
            text = file.read(MAX_BYTES).decode()
        self._modified_ns = status.st_mtime_ns
        return text
