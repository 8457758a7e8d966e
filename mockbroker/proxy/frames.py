"""Messages out of frames that go through; of large ones the records stay where they are."""

from __future__ import annotations

from typing import Any, cast

from mockbroker.call import Call
from protocol.apis.headers import ResponseHeader
from protocol.codec import check_trailing, codec
from protocol.headers import read_response, response_header_version
from protocol.registry import message_class

VIEWED_BYTES = 1 << 14
"""From here on bytes fields are views of the frame, since to copy them would cost more than all else."""


def read_answer(frame: bytes | memoryview, api_key: int, version: int) -> Any:
    """The message of an answer. Raises ProtocolError.

    Args:
        frame: of a ``memoryview`` all of its object, as rooms are.
    """
    data = cast("bytearray", frame.obj) if isinstance(frame, memoryview) else frame
    if len(data) < VIEWED_BYTES:
        return read_response(bytes(data), api_key, version)[1]
    header = codec(ResponseHeader, response_header_version(api_key, version)).brief_decoder()
    answer = message_class(api_key, "response")
    _, start = header(data)
    message, end = codec(answer, version).view_decoder()(data, start)
    check_trailing(len(data) - end, "error", answer, version, end - start)
    return message


def read_viewed_request(call: Call) -> Any:
    """The message of a request. Bytes that are left over behind it are ignored. Raises ProtocolError."""
    decode = codec(message_class(call.api_key, "request"), call.version).view_decoder()
    return decode(call.frame, call.body_start)[0]
