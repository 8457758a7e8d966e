"""A file of keys on disk, which may be replaced while the cluster runs."""

from __future__ import annotations

import os

MAX_BYTES = 1 << 20


class WatchedFile:
    """Gives a small file's text, and gives it again when the file was written since.

    Raises: OSError, ValueError: it cannot be read, is too large or is no text.
    """

    __slots__ = ("_modified_ns", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._modified_ns: int | None = None

    def changed(self) -> str | None:
        """The text where the file is another than when it was last asked for. Raises OSError, ValueError."""
        status = os.stat(self._path)  # noqa: PTH116 - pathlib is not loaded with a cluster
        if status.st_mtime_ns == self._modified_ns:
            return None
        if status.st_size > MAX_BYTES:
            raise ValueError(f"expected a file of {MAX_BYTES} bytes or fewer, got {status.st_size}")
        with open(self._path, "rb") as file:  # noqa: PTH123 - the same
            text = file.read(MAX_BYTES).decode()
        self._modified_ns = status.st_mtime_ns
        return text
