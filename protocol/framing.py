"""Frames: every request and response goes behind its length, an int32 (Kafka protocol guide).

>>> reader = FrameReader()
>>> reader.feed(b"\\x00\\x00\\x00\\x02hi\\x00\\x00")
[b'hi']
>>> reader.pending
2
"""

import struct

from .errors import FrameError

MAX_FRAME_BYTES = 100 * 1024 * 1024  # socket.request.max.bytes, Kafka's default
_LENGTH = struct.Struct(">i")


class FrameReader:
    """Cuts a stream of bytes, in whatever pieces it comes, into frames without their lengths."""

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of a frame not yet whole."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes; give the frames that they complete.

        Raises: FrameError: a length is negative or over the limit. The stream is then past repair.
        """
        buffer = self._buffer
        if not buffer and len(data) >= 4:
            (length,) = _LENGTH.unpack_from(data)
            if length == len(data) - 4 and length <= self.max_frame_bytes:  # one whole frame, the usual case
                return [bytes(data[4:])]
        buffer += data
        frames = []
        start = 0
        while len(buffer) - start >= 4:
            (length,) = _LENGTH.unpack_from(buffer, start)
            if length < 0 or length > self.max_frame_bytes:
                raise FrameError(f"frame of {length} bytes, but 0 to {self.max_frame_bytes} are allowed")
            end = start + 4 + length
            if end > len(buffer):
                break
            frames.append(bytes(memoryview(buffer)[start + 4 : end]))
            start = end
        del buffer[:start]
        return frames


def frame(*pieces: bytes) -> bytes:
    """The pieces as one frame, its length in front."""
    return b"".join((_LENGTH.pack(sum(map(len, pieces))), *pieces))
