"""Decodes forwarded frames, without a copy of large records, and reads the result of each partition from them.

Observers get the results of a Produce, Fetch or ShareFetch as from our handlers.
"""

from __future__ import annotations

from typing import Any, cast

from mockbroker.call import Call
from protocol.apis.headers import ResponseHeader
from protocol.codec import check_trailing, codec
from protocol.headers import read_response, response_header_version
from protocol.registry import message_class

PRODUCE = 0
VIEWED_BYTES = 1 << 14
"""From this size on bytes fields are views of the frame: copying them would cost more than all other work."""


def read_answer(frame: bytes | memoryview, api_key: int, version: int) -> Any:
    """The message of an answer. Raises ProtocolError.

    Args:
        frame: a ``memoryview`` must cover its whole object, as those of ``LargeFrameReader`` do.
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


def view_large_produce(call: Call) -> None:
    """Read the request of a large Produce without a copy of its records. Raises ProtocolError."""
    if call.api_key == PRODUCE and len(call.frame) >= VIEWED_BYTES and call.decoded is None:
        decode = codec(message_class(PRODUCE, "request"), call.version).view_decoder()
        call.decoded, _ = decode(call.frame, call.body_start)
