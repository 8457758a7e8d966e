"""Bytes to typed messages and back, by the compiled codec; compiled on first use, one message version at a time."""

from typing import Any

from . import reference
from .compiler import (
    Decoder,
    Encoder,
    PieceEncoder,
    compile_counting_decoder,
    compile_decoder,
    compile_encoder,
    compile_piece_encoder,
    compile_view_decoder,
)
from .errors import DecodeError, EncodeError, UnsupportedVersionError


class Codec:
    """The compiled reader and writer of one message version; each is made when first called for.

    Attributes:
        decode: ``(data, start=0) -> (message, end)``; raises DecodeError. It expects ``bytes``.
        encode: ``message -> bytes``; raises EncodeError.
    """

    __slots__ = (
        "_brief_decoder",
        "_counting_decoder",
        "_decoder",
        "_encoder",
        "_piece_encoder",
        "_view_decoder",
        "decode",
        "encode",
        "message",
        "version",
    )

    def __init__(self, message: Any, version: int) -> None:
        if version not in message.valid_versions:
            raise UnsupportedVersionError(f"{message.name} has versions {message.valid_versions}, not {version}")
        self.message, self.version = message, version
        self._brief_decoder: Decoder | None = None
        self._counting_decoder: Decoder | None = None
        self._decoder: Decoder | None = None
        self._encoder: Encoder | None = None
        self._piece_encoder: PieceEncoder | None = None
        self._view_decoder: Decoder | None = None
        self.decode: Decoder = self._first_decode  # replaced by the compiled function itself, which saves a call
        self.encode: Encoder = self._first_encode

    def decoder(self) -> Decoder:
        """The compiled function behind ``decode``, to keep and to call without a look-up."""
        if self._decoder is None:
            self._decoder = self.decode = compile_decoder(self.message, self.version, self._explain_decode)
        return self._decoder

    def brief_decoder(self) -> Decoder:
        """As ``decoder``, but its DecodeError does not say where: that takes a slow second reading of all the bytes.

        For servers, whom strangers could hold up with large frames that are wrong at their end.
        """
        if self._brief_decoder is None:
            self._brief_decoder = compile_decoder(self.message, self.version, self._refuse_decode)
        return self._brief_decoder

    def counting_decoder(self) -> Decoder:
        """As ``brief_decoder``, but takes a third argument: how many elements all arrays of the message may have."""
        if self._counting_decoder is None:
            self._counting_decoder = compile_counting_decoder(self.message, self.version, self._refuse_decode)
        return self._counting_decoder

    def view_decoder(self) -> Decoder:
        """As ``brief_decoder``, but bytes fields are views of ``data``, which may be a bytearray: nothing is copied."""
        if self._view_decoder is None:
            self._view_decoder = compile_view_decoder(self.message, self.version, self._refuse_decode)
        return self._view_decoder

    def encoder(self) -> Encoder:
        """The same behind ``encode``."""
        if self._encoder is None:
            self._encoder = self.encode = compile_encoder(self.message, self.version, self._explain_encode)
        return self._encoder

    def piece_encoder(self) -> PieceEncoder:
        """As ``encoder``, but gives the bytes in pieces, large values as they are; it takes ``Pieces`` for a value."""
        if self._piece_encoder is None:
            self._piece_encoder = compile_piece_encoder(self.message, self.version, self._explain_encode)
        return self._piece_encoder

    def _first_decode(self, data: bytes, start: int = 0) -> tuple[Any, int]:
        return self.decoder()(data, start)

    def _first_encode(self, message: Any) -> bytes:
        return self.encoder()(message)

    def _explain_decode(self, data: bytes, start: int) -> tuple[Any, int]:
        reference.decode(self.message, self.version, data, start=start)
        raise DecodeError("refused, though its construct reads it", self.message.name, self.version, 0)

    def _refuse_decode(self, data: bytes, start: int, limit: int | None = None) -> tuple[Any, int]:
        what = f"{len(data) - start} bytes are not this message; protocol.decode says where"
        if limit is not None:
            what = f"its arrays have more than {limit} elements in all, the limit of max.request.items"
        raise DecodeError(what, self.message.name, self.version, start)

    def _explain_encode(self, message: Any) -> bytes:
        reference.encode(message, self.version)
        raise EncodeError("refused, though its construct writes it", self.message.name, self.version)


_CODECS: dict[tuple[Any, int], Codec] = {}


def codec(message: Any, version: int) -> Codec:
    """The codec of a message class at one version.

    Raises: UnsupportedVersionError.
    """
    found = _CODECS.get((message, version))
    if found is None:
        found = _CODECS[message, version] = Codec(message, version)
    return found


def decode_as(message: Any, version: int, data: bytes, *, trailing: str = "error") -> Any:
    """Read ``data``, the body without its header, as a message of this class; otherwise as :func:`protocol.decode`.

    Raises: DecodeError, UnsupportedVersionError.
    """
    if type(data) is not bytes:
        data = bytes(data)
    found, end = codec(message, version).decode(data)
    if end != len(data) or trailing != "error":
        check_trailing(len(data) - end, trailing, message, version, end)
    return found


def check_trailing(left: int, trailing: str, message: Any, version: int, end: int) -> None:
    """Refuse ``left`` bytes behind the ``end`` of a body, unless ``trailing`` is ``ignore``.

    Raises: DecodeError. ValueError: ``trailing`` is neither ``error`` nor ``ignore``.
    """
    if trailing not in ("error", "ignore"):
        raise ValueError(f'trailing is "error" or "ignore", not {trailing!r}')
    if left and trailing == "error":
        raise DecodeError(f"{left} bytes left over", message.name, version, end)
