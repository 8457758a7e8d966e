"""The compiler: walks the construct of one message version and emits straight-line Python for it.

The code it makes keeps no trail of where it is. When it fails, whatever the exception, the reference codec
(:mod:`protocol.reference`) goes over the same input again to say what is wrong and where.
"""

from collections.abc import Callable
from typing import Any

from ..layout import layout
from .decode import decoder_source
from .encode import encoder_source

Decoder = Callable[[bytes, int], tuple[Any, int]]
Encoder = Callable[[Any, Callable[[Any], None]], None]


def compile_decoder(message: Any, version: int) -> Decoder:
    """``(data, start) -> (message, end)``; raises anything at all on bytes that are not the message."""
    return decoder_source(layout(message, version)).run(f"{message.name}_v{version}_decode")


def compile_encoder(message: Any, version: int) -> Encoder:
    """``(message, write)``, where ``write`` takes each piece of bytes; raises anything at all on a wrong message."""
    return encoder_source(layout(message, version)).run(f"{message.name}_v{version}_encode")

