"""Bytes to typed messages and back: by the native codec where it is installed, else by compiled Python.

Either is made on first use, one message version at a time.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from . import reference
from .backends import core
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
from .native import NativeCodec, native_codec

Form = TypeVar("Form", bound=Callable[..., Any])


class Codec:
    """The reader and writer of one message version; each form is made when first called for.

    Attributes:
        decode: ``(data, start=0) -> (message, end)``; raises DecodeError. It expects ``bytes``.
        encode: ``message -> bytes``; raises EncodeError.
    """

    __slots__ = ("_made", "_native", "decode", "encode", "message", "version")

    def __init__(self, message: Any, version: int) -> None:
        if version not in message.valid_versions:
            raise UnsupportedVersionError(f"{message.name} has versions {message.valid_versions}, not {version}")
        self.message, self.version = message, version
        self._made: dict[str, Callable[..., Any]] = {}
        self._native: NativeCodec | None = None
        self.decode: Decoder = self._first_decode  # replaced by the function itself, which saves a call
        self.encode: Encoder = self._first_encode

    def decoder(self) -> Decoder:
        """The function behind ``decode``, to keep and to call without a look-up."""
        self.decode = self._form("decode", compile_decoder, self._explain_decode)
        return self.decode

    def brief_decoder(self) -> Decoder:
        """As ``decoder``, but in Python its DecodeError does not say where: that takes a second, slow reading.

        For servers, whom strangers could hold up with large frames that are wrong at their end.
        """
        if core is not None:
            return self.decoder()
        return self._form("brief", compile_decoder, self._refuse_decode)

    def counting_decoder(self) -> Decoder:
        """As ``brief_decoder``, but takes a third argument: how many elements all arrays of the message may have."""
        return self._form("decode_counted", compile_counting_decoder, self._refuse_decode)

    def view_decoder(self) -> Decoder:
        """As ``brief_decoder``, but bytes fields are views of ``data``, which may be a bytearray: nothing is copied."""
        return self._form("decode_with_views", compile_view_decoder, self._refuse_decode)

    def encoder(self) -> Encoder:
        """The function behind ``encode``."""
        self.encode = self._form("encode", compile_encoder, self._explain_encode)
        return self.encode

    def piece_encoder(self) -> PieceEncoder:
        """As ``encoder``, but returns bytes in pieces, large values as they are; it takes ``Pieces`` for a value."""
        return self._form("encode_in_pieces", compile_piece_encoder, self._explain_encode)

    def _form(self, name: str, compile_it: Callable[..., Form], explain: Callable[..., Any]) -> Form:
        """One of the functions: of the native codec, else compiled; made once."""
        found = self._made.get(name)
        if found is None:
            if core is None:
                found = compile_it(self.message, self.version, explain)
            else:
                if self._native is None:
                    self._native = native_codec(self.message, self.version, self._explain_encode)
                found = getattr(self._native, name)
            self._made[name] = found
        return cast(Form, found)

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
