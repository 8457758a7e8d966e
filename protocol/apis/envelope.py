"""Envelope (key 58): a request that a broker passes on to the controller for a client (KIP-590)."""

from ..declare import field, request, response
from ..wire import Bytes, Int16


@request(key=58, versions="0", flexible="0+")
class EnvelopeRequest:
    """A whole request with its header, whom it came from, and from where."""

    request_data: bytes = field(Bytes)
    request_principal: bytes | None = field(Bytes, nullable="0+")  # a DefaultPrincipalData behind its version, int16
    client_host_address: bytes = field(Bytes)  # 4 or 16 bytes


@response(key=58, versions="0", flexible="0+")
class EnvelopeResponse:
    """A whole response with its header."""

    response_data: bytes | None = field(Bytes, nullable="0+", default=None)
    error_code: int = field(Int16)
