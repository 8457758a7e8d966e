"""Headers: which version goes with which message, and whole requests and responses.

A frame is what stands behind the length: the header, then the body.
Sources: ``ApiMessageType.requestHeaderVersion`` and ``AbstractResponse.parseResponse``, Apache Kafka 4.3;
KIP-482, KIP-511.
"""

from typing import Any

from .apis.headers import RequestHeader, ResponseHeader
from .codec import codec, decode_as
from .errors import DecodeError
from .framing import frame
from .registry import message_class

API_VERSIONS = 18
CONTROLLED_SHUTDOWN = 7


def request_header_version(api_key: int, version: int) -> int:
    """2 for flexible versions, else 1; ControlledShutdown v0 alone has 0, without a client id.

    Raises: UnsupportedVersionError: no API has this key.
    """
    if api_key == CONTROLLED_SHUTDOWN and version == 0:
        return 0
    flexible = message_class(api_key, "request").flexible_versions
    return 2 if flexible and version >= flexible.lowest else 1


def response_header_version(api_key: int, version: int) -> int:
    """1 for flexible versions, else 0; always 0 for ApiVersions, whose asker does not know the broker yet.

    Raises: UnsupportedVersionError: no API has this key.
    """
    if api_key == API_VERSIONS:
        return 0
    flexible = message_class(api_key, "response").flexible_versions
    return 1 if flexible and version >= flexible.lowest else 0


def read_request_header(data: bytes) -> tuple[RequestHeader, int]:
    """The header of a request frame, and where its body starts.

    Raises: DecodeError; UnsupportedVersionError: no API has this key.
    """
    if len(data) < 4:
        raise DecodeError(
            f"a request needs 4 bytes for its API key and version, here are {len(data)}", "RequestHeader", 0, 0
        )
    api_key, version = int.from_bytes(data[:2], signed=True), int.from_bytes(data[2:4], signed=True)
    header: tuple[RequestHeader, int] = codec(RequestHeader, request_header_version(api_key, version)).decode(data)
    return header


def read_request(data: bytes, *, trailing: str = "error") -> tuple[RequestHeader, Any]:
    """Header and message of a request frame; ``trailing`` as in :func:`protocol.decode`.

    Raises: DecodeError, UnsupportedVersionError.
    """
    header, start = read_request_header(data)
    message = message_class(header.request_api_key, "request")
    return header, decode_as(message, header.request_api_version, data[start:], trailing=trailing)


def read_response(data: bytes, api_key: int, version: int, *, trailing: str = "error") -> tuple[ResponseHeader, Any]:
    """Header and message of a response frame to a request of this key and version.

    A broker that does not know the version of an ApiVersions request answers in version 0; that is tried second.

    Raises: DecodeError, UnsupportedVersionError.
    """
    message = message_class(api_key, "response")
    header, start = codec(ResponseHeader, response_header_version(api_key, version)).decode(data)
    body = data[start:]
    if api_key != API_VERSIONS:
        return header, decode_as(message, version, body, trailing=trailing)
    try:
        known = max(message.valid_versions.lowest, min(version, message.valid_versions.highest))
        return header, decode_as(message, known, body, trailing=trailing)
    except DecodeError:
        try:
            return header, decode_as(message, 0, body, trailing=trailing)
        except DecodeError:
            pass
        raise


def request_frame(message: Any, version: int, *, correlation_id: int, client_id: str | None = None) -> bytes:
    """A request as it goes onto the wire, length first.

    Raises: EncodeError, UnsupportedVersionError.
    """
    api_key = type(message).api_key
    header_version = request_header_version(api_key, version)
    header = RequestHeader(request_api_key=api_key, request_api_version=version, correlation_id=correlation_id)
    if header_version > 0:  # version 0 has no room for a client id
        header.client_id = client_id
    written = codec(RequestHeader, header_version).encode(header)
    return frame(written, codec(type(message), version).encode(message))


def response_frame(message: Any, version: int, *, correlation_id: int) -> bytes:
    """A response as it goes onto the wire, length first.

    Raises: EncodeError, UnsupportedVersionError.
    """
    header = ResponseHeader(correlation_id=correlation_id)
    written = codec(ResponseHeader, response_header_version(type(message).api_key, version)).encode(header)
    return frame(written, codec(type(message), version).encode(message))
