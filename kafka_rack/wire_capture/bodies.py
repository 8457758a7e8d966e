"""Bodies of requests and responses, with the reader of each kind looked up once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_rack.wire_capture.frames import API_VERSIONS, PendingRequest, RequestKind
from protocol.codec import Codec, codec
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, request_header_version, response_header_version
from protocol.registry import message_class

Body = tuple[Any, int, int, int]
"""A message, the bytes left over after it, the version it was read in, its header's version."""


def read_request(asked: PendingRequest) -> Body:
    """A request's body. Raises ProtocolError."""
    kind, data = asked.kind, asked.data
    reader, header = kind.request_reader or request_reader(kind, data)
    start = kind.header_end
    if header == 2:
        if data[start : start + 1] == b"\0":
            start += 1
        else:  # tagged fields
            start = read_request_header(data)[1]
    message, end = reader.decode(data, start)
    return message, len(data) - end, kind.api_version, header


def request_reader(kind: RequestKind, data: bytes) -> tuple[Codec, int]:
    """The reader of requests of a kind, stored with it. Raises ProtocolError: there is none."""
    header = request_header_version(kind.api_key, kind.api_version)
    read_request_header(data)  # a version that does not exist still has a header, or says why not
    found = codec(message_class(kind.api_key, "request"), kind.api_version), header
    if kind.fits:  # else each header is read, for what is wrong with it
        kind.request_reader = found
    return found


def read_response(asked: PendingRequest, data: bytes) -> Body:
    """A response's body, of a refused ApiVersions in version 0. Raises ProtocolError."""
    kind = asked.kind
    reader, version, header = kind.response_reader or response_reader(kind)
    start = 4 + header
    if header and data[4:5] != b"\0":
        from protocol.apis.headers import ResponseHeader

        _, start = codec(ResponseHeader, header).decode(data)
    if kind.api_key == API_VERSIONS:
        return read_api_versions(reader.decode, version, header, data, start)
    message, end = reader.decode(data, start)
    return message, len(data) - end, version, header


def response_reader(kind: RequestKind) -> tuple[Codec, int, int]:
    """The reader of responses to a kind, stored with it. Raises ProtocolError: there is none."""
    message, version = message_class(kind.api_key, "response"), kind.api_version
    if kind.api_key == API_VERSIONS:
        version = min(version, message.valid_versions.highest)
    found = codec(message, version), version, response_header_version(kind.api_key, kind.api_version)
    kind.response_reader = found
    return found


def read_api_versions(decode: Callable[[bytes, int], Any], version: int, header: int, data: bytes, start: int) -> Body:
    try:
        message, end = decode(data, start)
        if end == len(data):
            return message, 0, version, header
    except ProtocolError:
        pass
    message, end = codec(message_class(API_VERSIONS, "response"), 0).decode(data, start)
    return message, len(data) - end, 0, header


def asked_message(asked: PendingRequest) -> Any:
    """A request's body, read now if it was asked before reading began; None if it cannot be read."""
    if asked.message is None and asked.data:
        try:
            asked.message = read_request(asked)[0]
        except ProtocolError:
            return None
    return asked.message
