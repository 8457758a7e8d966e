"""Frames: every request and response goes behind its length, an int32 (Kafka protocol guide).

>>> reader = FrameReader()
>>> reader.feed(b"\\x00\\x00\\x00\\x02hi\\x00\\x00")
[b'hi']
>>> reader.pending
2
"""

import struct
from collections.abc import Sequence

from .errors import FrameError

MAX_FRAME_BYTES = 100 * 1024 * 1024  # socket.request.max.bytes, Kafka's default
LARGE_FRAME_BYTES = 1 << 16  # from here on the pieces of a frame are joined once, when the last has come
SMALL_PIECE_BYTES = 1 << 12
LARGE_PIECE_BYTES = 1 << 16  # what is not copied once more to be sent with what stands before and behind it
TLS_HANDSHAKE = 0x1603  # a record's type and the first byte of its version
_LENGTH = struct.Struct(">i")


class FrameReader:
    """Cuts a stream of bytes, in whatever pieces it comes, into frames without their lengths.

    ``feed`` returns frames as they become complete; ``add`` and ``next_frame`` return one at a time. ``gathered``
    counts the bytes of a large frame that is not complete.
    """

    __slots__ = ("gathered", "max_frame_bytes", "min_frame_bytes", "_buffer", "_missing", "_pieces", "_start", "_whole")

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES, min_frame_bytes: int = 0) -> None:
        self.max_frame_bytes, self.min_frame_bytes = max_frame_bytes, min_frame_bytes
        self._buffer = bytearray()
        self._start = 0  # of what is left in the buffer
        self.gathered = 0
        self._pieces: list[bytes | bytearray] = []  # of a large frame, which comes before what is in the buffer
        self._missing = 0  # bytes of that frame
        self._whole: bytes | None = None  # that frame, once it is complete

    @property
    def pending(self) -> int:
        """Bytes that are not part of a returned frame."""
        return self.gathered + (len(self._whole) if self._whole is not None else 0) + len(self._buffer) - self._start

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes; give the frames that they complete.

        Raises: FrameError: a length is out of bounds. The stream is then past repair.
        """
        self.add(data)
        frames = []
        while (frame := self.next_frame()) is not None:
            frames.append(frame)
        return frames

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        if not self._buffer and not self._missing and self._whole is None and len(data) >= 4:
            (length,) = _LENGTH.unpack_from(data)
            if length == len(data) - 4 and self.min_frame_bytes <= length <= self.max_frame_bytes:
                self._whole = data[4:]  # one whole frame, the usual case, is copied once
                return
        if self._missing:
            piece = data if len(data) <= self._missing else data[: self._missing]
            self._gather(piece)
            self._missing -= len(piece)
            if self._missing:
                return
            self._whole = b"".join(self._pieces)
            self._pieces.clear()
            self.gathered = 0
            data = data[len(piece) :]
        if data:
            self._buffer += data

    def next_frame(self) -> bytes | None:
        """The next frame, if it is complete.

        Raises: FrameError: its length is out of bounds. The stream is then past repair.
        """
        if self._whole is not None:
            whole, self._whole = self._whole, None
            return whole
        buffer, start = self._buffer, self._start
        available = len(buffer) - start
        if self._missing or available < 4:
            if start:
                self._drop_taken()
            return None
        (length,) = _LENGTH.unpack_from(buffer, start)
        if not self.min_frame_bytes <= length <= self.max_frame_bytes:
            what = f"{length}, which is how a TLS handshake begins" if length >> 16 == TLS_HANDSHAKE else str(length)
            raise FrameError(f"expected a frame of {self.min_frame_bytes} to {self.max_frame_bytes} bytes, got {what}")
        end = start + 4 + length
        if end > len(buffer):
            self._wait_for_rest(length, available)
            return None
        with memoryview(buffer) as view:
            frame = bytes(view[start + 4 : end])
        self._start = end
        if end == len(buffer):
            self._drop_taken()
        return frame

    def _wait_for_rest(self, length: int, available: int) -> None:
        if length >= LARGE_FRAME_BYTES:
            self._gather(bytes(self._buffer[self._start + 4 :]))
            self._missing = 4 + length - available
            self._start = len(self._buffer)
        self._drop_taken()

    def _gather(self, piece: bytes) -> None:
        """Keep a piece of a large frame; small ones together, as each by itself takes more than its bytes."""
        self.gathered += len(piece)
        if len(piece) >= SMALL_PIECE_BYTES:
            self._pieces.append(piece)
        elif self._pieces and type(last := self._pieces[-1]) is bytearray:
            last += piece
        else:
            self._pieces.append(bytearray(piece))

    def _drop_taken(self) -> None:
        del self._buffer[: self._start]
        self._start = 0


class Pieces:
    """Bytes of a field that lie in several pieces, as batches in a log do.

    An encoder in pieces gives them on as they are, others refuse them. ``len`` counts bytes, and ``bytes`` joins them.

    >>> len(Pieces([b"ab", b"c"])), bytes(Pieces([b"ab", b"c"]))
    (3, b'abc')
    """

    __slots__ = ("pieces", "_size")

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces
        self._size = sum(map(len, pieces))

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces)


def few_pieces(pieces: list[bytes]) -> list[bytes]:
    """The same bytes in few pieces: small ones are joined, large ones stay as they are.

    >>> [len(piece) for piece in few_pieces([b"a", b"bc", bytes(LARGE_PIECE_BYTES), b"d"])]
    [3, 65536, 1]
    """
    if len(pieces) < 2:
        return pieces
    if sum(map(len, pieces)) < LARGE_PIECE_BYTES:
        return [b"".join(pieces)]
    given: list[bytes] = []
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < LARGE_PIECE_BYTES:
            small.append(piece)
            continue
        if small:
            given.append(b"".join(small))
            small = []
        given.append(piece)
    if small:
        given.append(b"".join(small))
    return given


def frame(*pieces: bytes) -> bytes:
    """The pieces as one frame, its length in front."""
    return b"".join((_LENGTH.pack(sum(map(len, pieces))), *pieces))
