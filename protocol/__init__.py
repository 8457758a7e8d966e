"""Every Kafka message, every version: bytes to typed objects and back.

>>> import protocol
>>> request = protocol.decode(3, "request", 1, bytes.fromhex("00000001000665 76656e7473"))
>>> request.topics[0].name
'events'
>>> protocol.encode(request, 1).hex()
'0000000100066576656e7473'
>>> protocol.to_json(request, 1)
{'topics': [{'name': 'events'}]}

A message class knows its ``name``, ``api_key``, ``kind``, ``valid_versions`` and ``flexible_versions``. Everything is
loaded on first use; importing this package reads none of the declarations.
"""

from typing import TYPE_CHECKING, Any

from .errors import DecodeError, EncodeError, FrameError, ProtocolError, UnsupportedVersionError

if TYPE_CHECKING:
    from .codec import encode
    from .framing import FrameReader
    from .headers import read_request, read_response, request_frame, response_frame
    from .layouts import layout
    from .registry import message_class, messages, named_class
    from .uuids import ZERO_UUID, uuid_from_text, uuid_to_text

_HOMES = {
    "encode": "codec",
    "FrameReader": "framing",
    "read_request": "headers",
    "read_response": "headers",
    "request_frame": "headers",
    "response_frame": "headers",
    "layout": "layouts",
    "message_class": "registry",
    "messages": "registry",
    "named_class": "registry",
    "ZERO_UUID": "uuids",
    "uuid_from_text": "uuids",
    "uuid_to_text": "uuids",
}
__all__ = [
    "ZERO_UUID",
    "DecodeError",
    "EncodeError",
    "FrameError",
    "FrameReader",
    "ProtocolError",
    "UnsupportedVersionError",
    "decode",
    "decode_named",
    "encode",
    "from_json",
    "layout",
    "message_class",
    "messages",
    "named_class",
    "read_request",
    "read_response",
    "request_frame",
    "response_frame",
    "to_json",
    "uuid_from_text",
    "uuid_to_text",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def decode(api_key: int, kind: str, version: int, data: bytes, *, trailing: str = "error") -> Any:
    """Read the body, without header, of an API's ``"request"`` or ``"response"``.

    Args:
        trailing: ``error`` refuses bytes left over, ``ignore`` lets them be, as Kafka's brokers do.

    Raises: DecodeError; UnsupportedVersionError: no such API or version.
    """
    from .codec import decode_as
    from .registry import message_class

    return decode_as(message_class(api_key, kind), version, data, trailing=trailing)


def decode_named(name: str, version: int, data: bytes, *, trailing: str = "error") -> Any:
    """Read a message by Kafka's name for it, as ``ConsumerProtocolSubscription``; otherwise as :func:`decode`."""
    from .codec import decode_as
    from .registry import named_class

    return decode_as(named_class(name), version, data, trailing=trailing)


def to_json(message: Any, version: int) -> dict[str, Any]:
    """A message in the JSON form of Kafka's ``*JsonConverter`` classes, ``records`` as base64.

    Raises: EncodeError: the version cannot hold the message. UnsupportedVersionError.
    """
    from .json_form import to_json

    return to_json(message, version)


def from_json(name: str, version: int, obj: Any) -> Any:
    """The message called ``name`` out of that JSON form; fields left out have their defaults.

    Raises: EncodeError: says which field does not fit. UnsupportedVersionError.
    """
    from .json_form import from_json
    from .registry import named_class

    return from_json(named_class(name), version, obj)
