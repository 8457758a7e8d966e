"""Messages that travel behind their own version, an int16: the consumer protocol's, and those of coordinators' logs.

>>> from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
>>> data = write_versioned(ConsumerProtocolSubscription(topics=["events"], rack_id="az-a"), 3)
>>> read_versioned(ConsumerProtocolSubscription, data).rack_id
'az-a'
>>> from_the_future = b"\\x00\\x09" + data[2:] + b"what version 9 adds"
>>> read_versioned(ConsumerProtocolSubscription, from_the_future).rack_id
'az-a'
"""

from typing import Any

from ..codec import check_trailing, codec
from ..errors import DecodeError, UnsupportedVersionError
from ..registry import modules_by_name

VERSION_BYTES = 2

# Read by the highest known version where the one in front is newer, as versions of these only ever add fields at the
# end. Sources: ConsumerProtocol.deserializeSubscription and deserializeAssignment; EndTransactionMarker and
# ControlRecordType.parseTypeId; Apache Kafka 4.1; KIP-429, KIP-792, KIP-881.
READ_FORWARD = frozenset(
    {"ConsumerProtocolSubscription", "ConsumerProtocolAssignment", "ControlRecordTypeSchema", "EndTxnMarker"}
)
# Of these, newer versions are refused. Sources: DefaultKafkaPrincipalBuilder, ProducerStateManager and
# TransactionLog, Apache Kafka 4.1.
VERSIONED_MODULES = frozenset(
    f"embedded.{module}"
    for module in (
        "consumer_group_log",
        "group_log",
        "principal",
        "producer_snapshot",
        "share_group_log",
        "share_state_log",
        "streams_group_log",
        "transaction_log",
    )
)


def is_versioned(name: str) -> bool:
    """True if a message follows its version on the wire. Keys of coordinators' logs follow their type instead."""
    return name in READ_FORWARD or (modules_by_name()[name] in VERSIONED_MODULES and not name.endswith("Key"))


def read_versioned(message: Any, data: bytes, *, trailing: str = "ignore") -> Any:
    """Read a message behind its version. A newer version than known is read as the highest known where Kafka does so.

    Args:
        trailing: ``ignore`` lets bytes left over be, as Kafka does, ``error`` refuses them; those of a newer version
            are always ignored.

    Raises: DecodeError: the bytes are not the message; its offset counts from the start of the body.
        UnsupportedVersionError: the version is newer, and not to be read so; or no version stands before this message.
    """
    if type(data) is not bytes:
        data = bytes(data)
    version = stated_version(message, data)
    highest = message.valid_versions.highest
    if version > highest and message.name in READ_FORWARD:
        version, trailing = highest, "ignore"
    found, end = codec(message, version).decode(data, VERSION_BYTES)
    check_trailing(len(data) - end, trailing, message, version, end - VERSION_BYTES)
    return found


def stated_version(message: Any, data: bytes) -> int:
    """The version in front of a message.

    Raises: DecodeError: there is none, or it lies below the lowest that exists. UnsupportedVersionError: this message
        does not travel behind one.
    """
    name, lowest = message.name, message.valid_versions.lowest
    if not is_versioned(name):
        raise UnsupportedVersionError(f"no version stands in front of {name}; expected one of {message.valid_versions}")
    if len(data) < VERSION_BYTES:
        raise DecodeError(f"expected 2 bytes of version, {len(data)} remain", name, 0, 0)
    version = int.from_bytes(data[:VERSION_BYTES], signed=True)
    if version < lowest:
        raise DecodeError(f"version {version}, but the lowest is {lowest}", name, version, 0)
    return version


def write_versioned(message: Any, version: int) -> bytes:
    """A message behind its version.

    Raises: EncodeError, UnsupportedVersionError.
    """
    return version.to_bytes(VERSION_BYTES, signed=True) + codec(type(message), version).encode(message)
