"""The headers of requests and responses. :mod:`protocol.headers` says which version goes with which message."""

from ..declare import field, header
from ..wire import Int16, Int32, String


@header(versions="0-2", flexible="2+")
class RequestHeader:
    """Which API and version a request is for, which request it is, and who asks."""

    request_api_key: int = field(Int16)
    request_api_version: int = field(Int16)
    correlation_id: int = field(Int32)
    # never compact, not even in version 2: a broker must read it before it knows the version
    client_id: str | None = field(String, versions="1+", nullable="1+", flexible="none")


@header(versions="0-1", flexible="1+")
class ResponseHeader:
    """Which request a response answers."""

    correlation_id: int = field(Int32)
