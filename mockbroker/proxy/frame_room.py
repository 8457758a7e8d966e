"""Frames from a stream; large ones can be read into their final buffer."""

from __future__ import annotations

from struct import Struct

from protocol.framing import FrameReader

MAX_ROOM_BYTES = 16 << 20
"""Larger frames are gathered in pieces: a buffer is allocated for a length whose bytes may never come."""
MIN_ROOM_BYTES = 1 << 14
LENGTH_BYTES = 4
LENGTH = Struct(">i")


class LargeFrameReader(FrameReader):
    """Accepts bytes by ``add``, as ``FrameReader`` does; or, while ``room`` returns a buffer, in it, by ``took``.

    Large frames are ``memoryview`` objects of whole bytearrays, not ``bytes``.

    >>> reader = LargeFrameReader(1 << 24)
    >>> reader.add((1 << 20).to_bytes(4) + b"first")
    >>> room = reader.room()
    >>> len(room)
    1048571
    >>> room[:5] = b" next"
    >>> reader.took(5)
    >>> reader.gathered
    10
    """

    def __init__(self, max_frame_bytes: int, min_frame_bytes: int = 0) -> None:
        super().__init__(max_frame_bytes, min_frame_bytes)
        self._room: memoryview | None = None

    def room(self) -> memoryview | None:
        """The buffer for the rest of a large frame; None if none is partly received."""
        return None if self._room is None else self._room[self.gathered :]

    def took(self, size: int) -> None:
        """This many bytes were written to the buffer."""
        self.gathered += size
        self._missing -= size
        if not self._missing:
            self._whole = self._room  # type: ignore[assignment]  # readers use it as bytes
            self._room, self.gathered = None, 0

    def add(self, data: bytes) -> None:
        if self._room is not None:
            size = min(len(data), self._missing)
            self._room[self.gathered : self.gathered + size] = memoryview(data)[:size]
            self.took(size)
            if size == len(data):
                return
            data = data[size:]
        elif not self._buffer and self._whole is None and not self._missing and len(data) >= LENGTH_BYTES:
            (length,) = LENGTH.unpack_from(data)
            if length > len(data) - LENGTH_BYTES and self._has_room_for(length):
                self._begin(length, memoryview(data)[LENGTH_BYTES:])
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
        least = max(MIN_ROOM_BYTES, self.min_frame_bytes)
        return least <= length <= MAX_ROOM_BYTES and length <= self.max_frame_bytes

    def _begin(self, length: int, piece: bytes | memoryview) -> None:
        self._room = memoryview(bytearray(length))
        self._room[: len(piece)] = piece
        self.gathered, self._missing = len(piece), length - len(piece)
