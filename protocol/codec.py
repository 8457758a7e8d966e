"""Bytes to typed messages and back, by the compiled codec; compiled on first use, one message version at a time."""

from typing import Any

from . import reference
from .compiler import Decoder, Encoder, compile_decoder, compile_encoder
from .declare import declaration_of
from .errors import DecodeError, EncodeError, UnsupportedVersionError


class Codec:
    """The compiled reader and writer of one message version; each is made when first called for."""

    __slots__ = ("_decoder", "_encoder", "message", "version")

    def __init__(self, message: Any, version: int) -> None:
        if version not in message.valid_versions:
            raise UnsupportedVersionError(f"{message.name} has versions {message.valid_versions}, not {version}")
        self.message, self.version = message, version
        self._decoder: Decoder | None = None
        self._encoder: Encoder | None = None

    def decode(self, data: bytes, start: int = 0) -> tuple[Any, int]:
        """Read the message that starts at ``start``; give it and the position behind it.

        Raises: DecodeError.
        """
        if self._decoder is None:
            self._decoder = compile_decoder(self.message, self.version)
        try:
            return self._decoder(data, start)
        except Exception:  # noqa: BLE001  # compiled code fails in any way; the reference says why
            return self._explained(data, start)

    def _explained(self, data: bytes, start: int) -> tuple[Any, int]:
        reference.decode(self.message, self.version, data, start=start)
        raise DecodeError("refused, though its construct reads it", self.message.name, self.version, 0)

    def encode(self, message: Any) -> bytes:
        """The message's bytes.

        Raises: EncodeError.
        """
        if self._encoder is None:
            self._encoder = compile_encoder(self.message, self.version)
        pieces: list[bytes] = []
        try:
            self._encoder(message, pieces.append)
            return b"".join(pieces)
        except Exception:  # noqa: BLE001  # see decode
            reference.encode(message, self.version)
            raise EncodeError("refused, though its construct writes it", self.message.name, self.version) from None


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
