"""SaslHandshake (key 17) and SaslAuthenticate (36): how a connection says who it is."""

from ..declare import field, request, response
from ..wire import Array, Bytes, Int16, Int64, String


@request(key=17, versions="0-1")
class SaslHandshakeRequest:
    """The mechanism that the client means to use (KIP-43)."""

    mechanism: str = field(String)


@response(key=17, versions="0-1")
class SaslHandshakeResponse:
    """The mechanisms that the broker has."""

    error_code: int = field(Int16)
    mechanisms: list[str] = field(Array(String))


@request(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    """One step of the mechanism (KIP-152). After a handshake of version 0 such steps come bare, without a header."""

    auth_bytes: bytes = field(Bytes)


@response(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse:
    """The broker's step; since version 1 how long the session may last (KIP-368)."""

    error_code: int = field(Int16)
    error_message: str | None = field(String, nullable="0+")
    auth_bytes: bytes = field(Bytes)
    session_lifetime_ms: int = field(Int64, versions="1+", ignorable=True)  # 0: for ever
