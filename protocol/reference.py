"""The reference codec: the constructs themselves, wrapped so that they read and write typed messages.

It is slow and says exactly what is wrong. The compiled codec is held equal to it, and asks it where a fault lies.
"""

from io import BytesIO
from typing import Any

from construct import ConstructError

from .errors import DecodeError, EncodeError
from .layouts import as_container, as_typed, layout
from .wire import Malformed


def decode(message: Any, version: int, data: bytes, *, start: int = 0) -> tuple[Any, int]:
    """Read one message from ``data`` at ``start``; give it and the position behind it.

    Raises: DecodeError, UnsupportedVersionError.
    """
    construct = layout(message, version)
    stream = BytesIO(data)
    stream.seek(start)
    try:
        typed = as_typed(construct, construct.parse_stream(stream))
    except Malformed as fault:
        raise DecodeError(fault.reason, message.name, version, fault.offset - start, fault.where) from None
    return typed, stream.tell()


def encode(message: Any, version: int) -> bytes:
    """Write one message.

    Raises: EncodeError, UnsupportedVersionError.
    """
    kind = type(message)
    construct = layout(kind, version)
    try:
        built: bytes = construct.build(as_container(construct, message))
    except Malformed as fault:
        raise EncodeError(fault.reason, kind.name, version, fault.where) from None
    except (ConstructError, AttributeError, LookupError, TypeError, ValueError) as fault:
        # A value of a type that no construct here expects, as bytes where a record belongs.
        raise EncodeError(f"{type(fault).__name__}: {fault}", kind.name, version) from None
    return built
