"""The compiler: walks the construct of one message version and emits straight-line Python for it.

The code it makes keeps no trail of where it is. When it fails, whatever the exception, it calls ``explain``, and the
reference codec (:mod:`protocol.reference`) goes over the same input again to say what is wrong and where.
"""

from collections.abc import Callable, Generator
from typing import Any

from ..layouts import layout
from .decode import decoder_source, turns_decoder_source
from .encode import encoder_source

Decoder = Callable[..., tuple[Any, int]]
Encoder = Callable[[Any], bytes]
TurnsDecoder = Callable[..., Generator[None, None, tuple[Any, int]]]
TurnsEncoder = Callable[[Any], Generator[None, None, list[bytes]]]


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


def compile_turns_decoder(message: Any, version: int, explain: Decoder) -> TurnsDecoder:
    """The same as a generator, which yields now and then while it reads, and returns what a decoder gives."""
    source = turns_decoder_source(layout(message, version))
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_decode_in_turns")


def compile_turns_encoder(message: Any, version: int, explain: Encoder) -> TurnsEncoder:
    """The same as a generator, which yields now and then, and returns what an encoder gives in pieces."""
    source = encoder_source(layout(message, version), in_turns=True)
    source.namespace["explain"] = explain
    return source.run(f"{message.name}_v{version}_encode_in_turns")
