"""Messages that travel behind their own version, an int16: the consumer protocol's, and those of coordinators' logs.

>>> from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
>>> data = write_versioned(ConsumerProtocolSubscription(topics=["events"], rack_id="az-a"), 3)
>>> read_versioned(ConsumerProtocolSubscription, data).rack_id
'az-a'
>>> from_the_future = b"\\x00\\x09" + data[2:] + b"what version 9 adds"
>>> read_versioned(ConsumerProtocolSubscription, from_the_future).rack_id
'az-a'
"""

from typing import TypeVar

from ..codec import codec, decode_as, encode
from ..errors import DecodeError

T = TypeVar("T")
VERSION_BYTES = 2


def read_versioned(message: type[T], data: bytes) -> T:
    """Read a message behind its version. A newer version than we know is read as the highest known, its tail ignored.

    Source: ``ConsumerProtocol.deserializeSubscription`` and ``deserializeAssignment``, Apache Kafka 4.1.

    Raises: DecodeError: the bytes are not the message; its offset counts from the start of the body.
    """
    version = stated_version(message, data)
    highest: int = message.valid_versions.highest  # type: ignore[attr-defined]
    known = min(version, highest)
    if version > highest:
        found: T = decode_as(message, known, data[VERSION_BYTES:], trailing="ignore")
        return found
    found, _ = codec(message, known).decode(data, VERSION_BYTES)  # Kafka does not look behind the end
    return found


def stated_version(message: type, data: bytes) -> int:
    """The version in front of a message.

    Raises: DecodeError: there is none, or it lies below the lowest that exists.
    """
    name = message.__name__
    if len(data) < VERSION_BYTES:
        raise DecodeError(f"2 bytes of version wanted, {len(data)} remain", name, 0, 0)
    version = int.from_bytes(data[:VERSION_BYTES], signed=True)
    lowest: int = message.valid_versions.lowest  # type: ignore[attr-defined]
    if version < lowest:
        raise DecodeError(f"version {version}, but the lowest is {lowest}", name, version, 0)
    return version


def write_versioned(message: object, version: int) -> bytes:
    """A message behind its version.

    Raises: EncodeError, UnsupportedVersionError.
    """
    return version.to_bytes(VERSION_BYTES, signed=True) + encode(message, version)
