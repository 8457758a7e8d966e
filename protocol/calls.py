"""The functions that users call most: ``decode``, ``decode_named`` and ``encode``.

Each finds the compiled function of a message version by a single look-up, so that a tiny message costs little more
than that function alone. Whatever is not there yet, or does not exist, is left to :mod:`.registry` and :mod:`.codec`.
"""

from typing import Any

from .backends import core
from .codec import check_trailing, codec
from .compiler import Decoder, Encoder
from .embedded.versioned import read_versioned
from .native import program_of
from .registry import message_class, named_class

# Nested dictionaries: making and hashing a tuple of the three would cost as much as all the rest of a call.
_BY_API: dict[int, dict[str, dict[int, Decoder]]] = {}
_BY_NAME: dict[str, dict[int, Decoder]] = {}
_ENCODERS: dict[type, dict[int, Encoder]] = {}


def decode(api_key: int, kind: str, version: int, data: bytes, *, trailing: str = "error") -> Any:
    """Read the body, without header, of an API's ``"request"`` or ``"response"``.

    Args:
        trailing: ``error`` refuses bytes left over, ``ignore`` lets them be, as Kafka's brokers do.

    Raises: DecodeError; UnsupportedVersionError: unknown API or version. ValueError: another kind.
    """
    try:
        read = _BY_API[api_key][kind][version]
    except KeyError:
        read = None
    if read is None:
        read = codec(message_class(api_key, kind), version).decoder()
        _BY_API.setdefault(api_key, {}).setdefault(kind, {})[version] = read
    if type(data) is not bytes:
        data = bytes(data)
    message, end = read(data)
    if end != len(data) or trailing != "error":
        check_trailing(len(data) - end, trailing, type(message), version, end)
    return message


def decode_named(name: str, version: int | None, data: bytes, *, trailing: str = "error") -> Any:
    """Read a message by Kafka's name for it, as ``ConsumerProtocolSubscription``; otherwise as :func:`decode`.

    Args:
        version: of ``data``, which is then the body alone. None: the version precedes the body, an int16, as
            the messages that members of a group send each other, and the values in coordinators' logs, travel. Of the
            consumer protocol's a version newer than any known is read as the highest known, and what it adds ignored.

    >>> import protocol
    >>> body = bytes.fromhex("0000000100066576656e7473ffffffff")
    >>> protocol.decode_named("ConsumerProtocolSubscription", 0, body).topics
    ['events']
    >>> protocol.decode_named("ConsumerProtocolSubscription", None, b"\\x00\\x00" + body).topics
    ['events']

    Raises: DecodeError; UnsupportedVersionError: unknown name or version, or a message that never follows its version.
    """
    if version is None:
        return read_versioned(named_class(name), data, trailing=trailing)
    try:
        read = _BY_NAME[name][version]
    except KeyError:
        read = None
    if read is None:
        read = codec(named_class(name), version).decoder()
        _BY_NAME.setdefault(name, {})[version] = read
    if type(data) is not bytes:
        data = bytes(data)
    message, end = read(data)
    if end != len(data) or trailing != "error":
        check_trailing(len(data) - end, trailing, type(message), version, end)
    return message


def encode(message: Any, version: int) -> bytes:
    """The bytes of a message, without header, in one version.

    Raises: EncodeError, UnsupportedVersionError.
    """
    try:
        write = _ENCODERS[type(message)][version]
    except KeyError:
        write = None
    if write is None:
        write = codec(type(message), version).encoder()
        _ENCODERS.setdefault(type(message), {})[version] = write
    return write(message)


def _program(api_key: int, kind: str, version: int) -> Any:
    return program_of(codec(message_class(api_key, kind), version).decoder())


decode_in_python = decode
if core is not None:
    decode = core.by_api(_program, decode)
