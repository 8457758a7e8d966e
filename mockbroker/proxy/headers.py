"""Replaces the client id in a request's frame, without changing its body."""

from __future__ import annotations

CLIENT_ID_START = 8  # after API key, version and correlation id
LENGTH_BYTES = 2
HAS_CLIENT_ID = 1  # the first version of a header that has one


def with_client_id(
    frame: bytes, body_start: int, client_id: str | None, header_version: int
) -> list[bytes | memoryview]:
    """An encoded request in pieces: its length and header with this client id, then its body.

    The body is a view of the frame, not a copy; so are the tagged fields after the client id in a header of version 2.
    A header of version 0 has no client id and stays as it is.

    Args:
        frame: the request without its length.
        body_start: the end of its header.
        header_version: from ``protocol.headers.request_header_version``.

    >>> frame = bytes.fromhex("0003 0009 0000002a 0003 617070 00") + b"body"
    >>> [bytes(piece).hex(" ", -4) for piece in with_client_id(frame, 14, "z", 2)]
    ['00000010 00030009 0000002a', '00017a', '00626f64 79']
    """
    view = memoryview(frame)
    if header_version < HAS_CLIENT_ID:
        return [len(frame).to_bytes(4), view]
    length = int.from_bytes(frame[CLIENT_ID_START : CLIENT_ID_START + LENGTH_BYTES], signed=True)
    rest = CLIENT_ID_START + LENGTH_BYTES + max(0, length)
    assert rest <= body_start <= len(frame), (length, body_start, len(frame))
    if client_id is None:
        written = (-1).to_bytes(LENGTH_BYTES, signed=True)
    else:
        text = client_id.encode()
        written = len(text).to_bytes(LENGTH_BYTES, signed=True) + text
    size = CLIENT_ID_START + len(written) + len(frame) - rest
    return [size.to_bytes(4) + frame[:CLIENT_ID_START], written, view[rest:]]
