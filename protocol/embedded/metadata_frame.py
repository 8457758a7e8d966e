"""Records of the metadata log as bytes: frame version, type and version in front of the message, unsigned varints.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> data = write_frame(FeatureLevelRecord(name="kraft.version", feature_level=1))
>>> data.hex(" ", -4)
'010c000e 6b726166 742e7665 7273696f 6e000100'
>>> read_frame(data).feature_level
1

Source: AbstractApiMessageSerde and MetadataRecordSerde, Apache Kafka 4.4.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from ..codec import check_trailing, codec
from ..errors import DecodeError, UnsupportedVersionError

FRAME_VERSION = 1
MODULES = ("metadata_acls", "metadata_brokers", "metadata_security", "metadata_settings", "metadata_topics")
MAX_INT16 = 2**15 - 1
VARINT_BITS = 7
MAX_VARINT_BYTES = 3  # bytes of one that may fit into an int16


class UnknownMetadataRecordError(UnsupportedVersionError):
    """A record of the metadata log that is of no known type, or in no known version of it."""


@cache
def record_types() -> dict[int, Any]:
    """The class of each type of metadata record."""
    found = {}
    for module in MODULES:
        for declared in vars(import_module(f"protocol.embedded.{module}")).values():
            if isinstance(declared, type) and declared.__name__.endswith("Record"):
                kind: Any = declared
                found[kind.api_key] = kind
    return found


def write_frame(record: Any) -> bytes:
    """A metadata record as bytes, in its newest version. Raises EncodeError."""
    kind = type(record)
    version = kind.valid_versions.highest
    frame = b"".join(map(number_bytes, (FRAME_VERSION, kind.api_key, version)))
    return frame + codec(kind, version).encode(record)


def read_frame(data: bytes) -> Any:
    """The metadata record that bytes are.

    Raises: DecodeError: the bytes are no metadata record. UnknownMetadataRecordError: it is of a newer Kafka.
    """
    frame, position = read_number(data, 0)
    if frame != FRAME_VERSION:
        raise UnknownMetadataRecordError(f"expected a metadata record of frame version 1, got {frame}")
    number, position = read_number(data, position)
    version, position = read_number(data, position)
    kind = record_types().get(number)
    if kind is None or version not in kind.valid_versions:
        name = f"type {number}" if kind is None else kind.__name__
        raise UnknownMetadataRecordError(
            f"expected a metadata record that is known here, got {name}, version {version}"
        )
    record, end = codec(kind, version).decode(data, position)
    check_trailing(len(data) - end, "error", kind, version, end)
    return record


def number_bytes(number: int) -> bytes:
    """An unsigned varint.

    >>> number_bytes(20).hex(), number_bytes(300).hex()
    ('14', 'ac02')
    """
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= VARINT_BITS
    data.append(number)
    return bytes(data)


def read_number(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned varint of at most 15 bits, and where it ends. Raises DecodeError."""
    number = 0
    for place, byte in enumerate(data[position : position + MAX_VARINT_BYTES]):
        number |= (byte & 127) << VARINT_BITS * place
        if byte < 128 and number <= MAX_INT16:
            return number, position + place + 1
        if byte < 128:
            break
    raise DecodeError("expected a number up to 32767 in front of a metadata record", "metadata record", 0, position)
