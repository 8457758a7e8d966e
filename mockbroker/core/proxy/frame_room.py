"""Frames out of a stream; large ones can be read to where they will stand, which saves copies of their bytes."""

from __future__ import annotations

from io import BytesIO

from protocol.framing import LARGE_FRAME_BYTES, FrameReader

MAX_ROOM_BYTES = 16 << 20
"""Larger frames are gathered in pieces: room is taken when a length has come, and their bytes may never follow."""
LENGTH_BYTES = 4


class RoomyFrameReader(FrameReader):
    """Takes bytes as ``FrameReader`` does, by ``add``; or, as long as ``room`` gives some, there and then by ``took``.

    >>> reader = RoomyFrameReader(1 << 24)
    >>> reader.add((1 << 20).to_bytes(4) + b"first")
    >>> room = reader.room()
    >>> len(room)
    1048571
    >>> room[:5] = b" next"
    >>> reader.took(5)
    >>> reader.gathered
    10
    """

    __slots__ = ("_large", "_room")

    def __init__(self, max_frame_bytes: int, min_frame_bytes: int = 0) -> None:
        super().__init__(max_frame_bytes, min_frame_bytes)
        self._large: BytesIO | None = None
        self._room: memoryview | None = None

    def room(self) -> memoryview | None:
        """Where the rest of a large frame is to be put; None while none is on its way."""
        return None if self._room is None else self._room[self.gathered :]

    def took(self, size: int) -> None:
        """So many bytes were put there."""
        self.gathered += size
        self._missing -= size
        if not self._missing:
            assert self._large is not None
            self._whole = self._large.getvalue()  # the bytes that were written to, and no copy
            self._large = self._room = None
            self.gathered = 0

    def add(self, data: bytes) -> None:
        if self._room is not None:
            size = min(len(data), self._missing)
            self._room[self.gathered : self.gathered + size] = memoryview(data)[:size]
            self.took(size)
            if size == len(data):
                return
            data = data[size:]
        elif not self._buffer and self._whole is None and not self._missing and len(data) >= LENGTH_BYTES:
            length = int.from_bytes(data[:LENGTH_BYTES], signed=True)
            if length > len(data) - LENGTH_BYTES and self._has_room_for(length):
                self._begin(length, data[LENGTH_BYTES:])
                return
        super().add(data)

    def _wait_for_rest(self, length: int, available: int) -> None:
        if self._has_room_for(length):
            self._begin(length, bytes(self._buffer[self._start + LENGTH_BYTES :]))
            self._start = len(self._buffer)
            self._drop_taken()
        else:
            super()._wait_for_rest(length, available)

    def _has_room_for(self, length: int) -> bool:
        least = max(LARGE_FRAME_BYTES, self.min_frame_bytes)
        return least <= length <= MAX_ROOM_BYTES and length <= self.max_frame_bytes

    def _begin(self, length: int, piece: bytes) -> None:
        self._large = BytesIO(bytes(length))
        self._room = self._large.getbuffer()
        self._room[: len(piece)] = piece
        self.gathered, self._missing = len(piece), length - len(piece)
