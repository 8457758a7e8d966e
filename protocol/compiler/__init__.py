"""The compiler: walks the construct of one message version and emits straight-line Python for it.

The code it makes keeps no trail of where it is. When it fails, whatever the exception, it calls ``explain``, and the
reference codec (:mod:`protocol.reference`) goes over the same input again to say what is wrong and where.
"""

from collections.abc import Callable
from typing import Any

from ..layouts import layout
from .decode import decoder_source
from .encode import encoder_source

Decoder = Callable[..., tuple[Any, int]]
Encoder = Callable[[Any], bytes]
PieceEncoder = Callable[[Any], list[bytes]]


def compile_decoder(message: Any, version: int, explain: Decoder) -> Decoder:
    """``(data, start=0) -> (message, end)``; gives what ``explain`` does on bytes that are not the message."""
    source = decoder_source(layout(message, version))
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_decode")


def compile_view_decoder(message: Any, version: int, explain: Decoder) -> Decoder:
    """As ``compile_decoder``, with bytes fields that are views of the input; that may be a bytearray."""
    source = decoder_source(layout(message, version), with_views=True)
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_decode_with_views")


def compile_encoder(message: Any, version: int, explain: Encoder) -> Encoder:
    """``message -> bytes``; gives what ``explain`` does on a message that the version cannot hold."""
    source = encoder_source(layout(message, version))
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_encode")


def compile_counting_decoder(message: Any, version: int, explain: Decoder) -> Decoder:
    """``(data, start, limit) -> (message, end)``; refuses more elements in all arrays together, before it makes them.

    ``explain`` gets that limit as its third argument where it was exceeded, else None.
    """
    source = decoder_source(layout(message, version), counting=True)
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_decode_counted")


def compile_piece_encoder(message: Any, version: int, explain: Encoder) -> PieceEncoder:
    """``message -> pieces`` that make up the bytes; large values of bytes are not copied."""
    source = encoder_source(layout(message, version), in_pieces=True)
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_encode_in_pieces")
