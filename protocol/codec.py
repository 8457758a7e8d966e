"""Bytes to typed messages and back, by the compiled codec; compiled on first use, one message version at a time."""

from typing import Any

from . import reference
from .compiler import Decoder, Encoder, compile_decoder, compile_encoder
from .declare import declaration_of
from .errors import DecodeError, EncodeError, UnsupportedVersionError


class Codec:
    """The compiled reader and writer of one message version; each is made when first called for.

    Attributes:
        decode: ``(data, start=0) -> (message, end)``; raises DecodeError.
        encode: ``message -> bytes``; raises EncodeError.
    """

    __slots__ = ("_decoder", "_encoder", "decode", "encode", "message", "version")

    def __init__(self, message: Any, version: int) -> None:
        if version not in message.valid_versions:
            raise UnsupportedVersionError(f"{message.name} has versions {message.valid_versions}, not {version}")
        self.message, self.version = message, version
        self._decoder: Decoder | None = None
        self._encoder: Encoder | None = None
        self.decode: Decoder = self._first_decode  # replaced by the compiled function itself, which saves a call
        self.encode: Encoder = self._first_encode

    def _first_decode(self, data: bytes, start: int = 0) -> tuple[Any, int]:
        if self._decoder is None:
            self._decoder = self.decode = compile_decoder(self.message, self.version, self._explain_decode)
        return self._decoder(data, start)

    def _first_encode(self, message: Any) -> bytes:
        if self._encoder is None:
            self._encoder = self.encode = compile_encoder(self.message, self.version, self._explain_encode)
        return self._encoder(message)

    def _explain_decode(self, data: bytes, start: int) -> tuple[Any, int]:
        reference.decode(self.message, self.version, data, start=start)
        raise DecodeError("refused, though its construct reads it", self.message.name, self.version, 0)

    def _explain_encode(self, message: Any) -> bytes:
        reference.encode(message, self.version)
        raise EncodeError("refused, though its construct writes it", self.message.name, self.version)


def codec(message: Any, version: int) -> Codec:
    """The codec of a message class at one version.

    Raises: UnsupportedVersionError.
    """
    codecs = declaration_of(message).codecs
    found = codecs.get(version)
    if found is None:
        found = codecs[version] = Codec(message, version)
    return found


def decode_as(message: Any, version: int, data: bytes, *, trailing: str = "error") -> Any:
    """Read ``data``, the body without its header, as a message of this class.

    Args:
        trailing: ``error`` refuses bytes left over, ``ignore`` lets them be, as Kafka's brokers do.

    Raises: DecodeError, UnsupportedVersionError.
    """
    if trailing not in ("error", "ignore"):
        raise ValueError(f'trailing is "error" or "ignore", not {trailing!r}')
    if type(data) is not bytes:
        data = bytes(data)
    found, end = codec(message, version).decode(data)
    if end != len(data) and trailing == "error":
        raise DecodeError(f"{len(data) - end} bytes left over", message.name, version, end)
    return found


def encode(message: Any, version: int) -> bytes:
    """The bytes of a message, without header, in one version.

    Raises: EncodeError, UnsupportedVersionError.
    """
    return codec(type(message), version).encode(message)
