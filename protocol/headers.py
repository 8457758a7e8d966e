"""Headers: which version goes with which message, and whole requests and responses.

A frame is what stands behind the length: the header, then the body.
Sources: ``ApiMessageType.requestHeaderVersion`` and ``AbstractResponse.parseResponse``, Apache Kafka 4.3;
KIP-482, KIP-511.
"""

from typing import Any, NamedTuple

from .apis.headers import RequestHeader, ResponseHeader
from .codec import check_trailing, codec, decode_as
from .compiler import Decoder, Encoder
from .errors import DecodeError
from .framing import frame
from .registry import message_class

API_VERSIONS = 18
CONTROLLED_SHUTDOWN = 7


class FrameDecoders(NamedTuple):
    """The compiled readers of a frame's header and, from where that ends, of its body."""

    header: Decoder
    body: Decoder


class FrameEncoders(NamedTuple):
    """The compiled writers of a frame's header and body."""

    header: Encoder
    body: Encoder


# Of the messages that were read or written before: requests by their first four bytes, which are key and version.
_HEADER_DECODERS: dict[bytes, Decoder] = {}
_REQUEST_DECODERS: dict[bytes, FrameDecoders] = {}
_RESPONSE_DECODERS: dict[tuple[int, int], FrameDecoders] = {}
_FRAME_ENCODERS: dict[tuple[type, int], FrameEncoders] = {}


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
    """The header of a request frame, and where its body starts; of any version, also of one that does not exist.

    Raises: DecodeError; UnsupportedVersionError: no API has this key.
    """
    if type(data) is not bytes:
        data = bytes(data)
    read = _HEADER_DECODERS.get(data[:4])
    if read is None:
        api_key, version = key_and_version(data)
        read = codec(RequestHeader, request_header_version(api_key, version)).decoder()
        if version in message_class(api_key, "request").valid_versions:  # there are few of these
            _HEADER_DECODERS[data[:4]] = read
    return read(data)


def read_request(data: bytes, *, trailing: str = "error") -> tuple[RequestHeader, Any]:
    """Header and message of a request frame; ``trailing`` as in :func:`protocol.decode`.

    Raises: DecodeError, UnsupportedVersionError.
    """
    if type(data) is not bytes:
        data = bytes(data)
    decoders = _REQUEST_DECODERS.get(data[:4])
    if decoders is None:
        decoders = _REQUEST_DECODERS[data[:4]] = request_decoders(*key_and_version(data))
    header, start = decoders.header(data)
    message, end = decoders.body(data, start)
    if end != len(data) or trailing != "error":
        check_trailing(len(data) - end, trailing, type(message), header.request_api_version, end - start)
    return header, message


def key_and_version(data: bytes) -> tuple[int, int]:
    """The start of a request: the API's key and the version of the message.

    Raises: DecodeError: they are not there.
    """
    if len(data) < 4:
        raise DecodeError(
            f"a request needs 4 bytes for its API key and version, here are {len(data)}", "RequestHeader", 0, 0
        )
    return int.from_bytes(data[:2], signed=True), int.from_bytes(data[2:4], signed=True)


def request_decoders(api_key: int, version: int) -> FrameDecoders:
    """The readers of a request's frame.

    Raises: UnsupportedVersionError.
    """
    body = codec(message_class(api_key, "request"), version).decoder()
    return FrameDecoders(codec(RequestHeader, request_header_version(api_key, version)).decoder(), body)


def read_response(data: bytes, api_key: int, version: int, *, trailing: str = "error") -> tuple[ResponseHeader, Any]:
    """Header and message of a response frame to a request of this key and version.

    A broker that does not know the version of an ApiVersions request answers in version 0; that is tried second.

    Raises: DecodeError, UnsupportedVersionError.
    """
    if type(data) is not bytes:
        data = bytes(data)
    if api_key == API_VERSIONS:
        return read_api_versions_response(data, version, trailing)
    decoders = _RESPONSE_DECODERS.get((api_key, version))
    if decoders is None:
        decoders = _RESPONSE_DECODERS[api_key, version] = response_decoders(api_key, version)
    header, start = decoders.header(data)
    message, end = decoders.body(data, start)
    if end != len(data) or trailing != "error":
        check_trailing(len(data) - end, trailing, type(message), version, end - start)
    return header, message


def response_decoders(api_key: int, version: int) -> FrameDecoders:
    """The readers of a response's frame.

    Raises: UnsupportedVersionError.
    """
    body = codec(message_class(api_key, "response"), version).decoder()
    return FrameDecoders(codec(ResponseHeader, response_header_version(api_key, version)).decoder(), body)


def read_api_versions_response(data: bytes, version: int, trailing: str) -> tuple[ResponseHeader, Any]:
    """The response to an ApiVersions request of any version, in the nearest version that exists or in version 0."""
    message = message_class(API_VERSIONS, "response")
    header, start = codec(ResponseHeader, 0).decode(data)
    body = data[start:]
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
    kind = type(message)
    encoders = _FRAME_ENCODERS.get((kind, version))
    if encoders is None:
        header_codec = codec(RequestHeader, request_header_version(kind.api_key, version))
        encoders = FrameEncoders(header_codec.encoder(), codec(kind, version).encoder())
        _FRAME_ENCODERS[kind, version] = encoders
    if kind.api_key == CONTROLLED_SHUTDOWN and version == 0:  # its header has no room for a client id
        client_id = RequestHeader().client_id
    header = RequestHeader(
        request_api_key=kind.api_key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return frame(encoders.header(header), encoders.body(message))


def response_frame(message: Any, version: int, *, correlation_id: int) -> bytes:
    """A response as it goes onto the wire, length first.

    Raises: EncodeError, UnsupportedVersionError.
    """
    kind = type(message)
    encoders = _FRAME_ENCODERS.get((kind, version))
    if encoders is None:
        header_codec = codec(ResponseHeader, response_header_version(kind.api_key, version))
        encoders = FrameEncoders(header_codec.encoder(), codec(kind, version).encoder())
        _FRAME_ENCODERS[kind, version] = encoders
    return frame(encoders.header(ResponseHeader(correlation_id=correlation_id)), encoders.body(message))
