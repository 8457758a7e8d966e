"""Bytes of a remote file, fetched in pieces that grow while they are read on end."""

from __future__ import annotations

import io
from typing import Any

FIRST_BYTES, MAX_BYTES = 1 << 16, 8 << 20
"""Of a fetch: whoever looks at a file's beginning needs little, and each fetch costs tens of milliseconds."""


class ReadAhead(io.RawIOBase):
    """A file that can be sought and read, over one of pyarrow's, which asks the store anew for each read."""

    def __init__(self, source: Any) -> None:
        super().__init__()
        self._source = source
        self._held = memoryview(b"")
        self._at = 0
        self._fetch_bytes = FIRST_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_CUR:
            offset += self._at
        elif whence == io.SEEK_END:
            offset += int(self._source.size())
        begin = self._at + len(self._held)
        self._held = memoryview(b"")
        if offset != begin:
            self._fetch_bytes = FIRST_BYTES
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to ``size`` bytes, fewer only at the end; all that there are where it is negative."""
        if size is None or size < 0:
            size = max(0, int(self._source.size()) - self._at)
        taken = []
        while size > 0:
            if not self._held:
                self._fetch(size)
                if not self._held:
                    break
            piece = self._held[:size]
            self._held = self._held[len(piece) :]
            self._at += len(piece)
            size -= len(piece)
            taken.append(piece)
        return b"".join(taken)

    def _fetch(self, size: int) -> None:
        self._source.seek(self._at)
        self._held = memoryview(self._source.read(max(size, self._fetch_bytes)))
        self._fetch_bytes = min(self._fetch_bytes * 4, MAX_BYTES)

    def readall(self) -> bytes:
        return self.read()

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()
