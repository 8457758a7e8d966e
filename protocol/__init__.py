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

from typing import TYPE_CHECKING

from .errors import DecodeError, EncodeError, FrameError, ProtocolError, UnsupportedVersionError

__all__ = [
    "ZERO_UUID",
    "DecodeError",
    "EncodeError",
    "FrameError",
    "FrameReader",
    "ProtocolError",
    "UnsupportedVersionError",
    "backend",
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

if TYPE_CHECKING:
    from .backends import backend
    from .calls import decode, decode_named, encode
    from .framing import FrameReader
    from .headers import read_request, read_response, request_frame, response_frame
    from .json_form import from_json, to_json
    from .layouts import layout
    from .registry import message_class, messages, named_class
    from .uuids import ZERO_UUID, uuid_from_text, uuid_to_text
else:
    _MODULES = {
        "decode": "calls",
        "decode_named": "calls",
        "encode": "calls",
        "FrameReader": "framing",
        "read_request": "headers",
        "read_response": "headers",
        "request_frame": "headers",
        "response_frame": "headers",
        "from_json": "json_form",
        "to_json": "json_form",
        "layout": "layouts",
        "backend": "backends",
        "message_class": "registry",
        "messages": "registry",
        "named_class": "registry",
        "ZERO_UUID": "uuids",
        "uuid_from_text": "uuids",
        "uuid_to_text": "uuids",
    }

    def __getattr__(name):
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        return value

    def __dir__():
        return __all__
