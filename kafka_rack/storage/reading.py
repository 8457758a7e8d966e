"""Bytes of a remote file, fetched in pieces that grow while they are read on end."""

from __future__ import annotations

import io
from typing import Any

from kafka_rack.storage.errors import told

FIRST_BYTES, MAX_BYTES = 1 << 16, 8 << 20
"""Of a fetch: whoever looks at a file's beginning needs little, and each fetch costs tens of milliseconds."""


class ReadAhead(io.RawIOBase):
    """A file that can be sought and read, over one of pyarrow's, which asks the store anew for each read."""

    def __init__(self, source: Any, name: str) -> None:
        super().__init__()
        self._source, self._name = source, name
        self._held = b""
        self._taken = 0
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
        begin = self._at - self._taken
        if begin <= offset <= begin + len(self._held):
            self._taken = offset - begin
        else:
            self._held, self._taken = b"", 0
            self._fetch_bytes = FIRST_BYTES
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to ``size`` bytes, fewer only at the end; all that there are where it is negative."""
        if size is None or size < 0:
            size = max(0, int(self._source.size()) - self._at)
        pieces = []
        while size > 0 and self._fill(size):
            pieces.append(self._take(size))
            size -= len(pieces[-1])
        return b"".join(pieces)

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line with its end, or as much of it as ``size`` allows."""
        left = None if size is None or size < 0 else size
        pieces: list[bytes] = []
        while left != 0 and not (pieces and pieces[-1].endswith(b"\n")) and self._fill(1):
            end = self._held.find(b"\n", self._taken) + 1 or len(self._held)
            pieces.append(self._take(end - self._taken if left is None else min(end - self._taken, left)))
            left = None if left is None else left - len(pieces[-1])
        return b"".join(pieces)

    def _take(self, size: int) -> bytes:
        """Up to ``size`` of the bytes that are held."""
        piece = self._held[self._taken : self._taken + size]
        self._taken += len(piece)
        self._at += len(piece)
        return piece

    def _fill(self, size: int) -> bool:
        """Hold something, fetching about ``size`` bytes if need be; False at the end."""
        if self._taken == len(self._held):
            self._held, self._taken = b"", 0
            if self._at >= int(self._source.size()):  # GCS refuses to be asked for what lies behind the end
                return False
            try:
                self._source.seek(self._at)
                self._held = self._source.read(max(size, self._fetch_bytes))
            except OSError as error:
                raise told(error, self._name) from None
            self._fetch_bytes = min(self._fetch_bytes * 4, MAX_BYTES)
        return self._held != b""

    def readall(self) -> bytes:
        return self.read()

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()
