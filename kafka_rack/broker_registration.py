"""The registrations that brokers write into ZooKeeper, and how each generation of readers reads them (KIP-36).

The JSON itself is ``protocol.embedded.broker_json``; this module writes a broker's registration, and reads it, if
requested as strictly as Kafka 0.9.0.0, which accepts only versions 1 and 2 (KAFKA-3100).

>>> data = write_broker([("PLAINTEXT", "host1", 9092)], "dc1", version=3, timestamp_ms=5)
>>> read_broker(data).rack
'dc1'
>>> read_broker(data, strict=True)
Traceback (most recent call last):
kafka_rack.errors.UnreadableRegistrationError: version 3, but only 1 and 2 are supported
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafka_rack.errors import KafkaRackError, UnreadableRegistrationError
from protocol.embedded.broker_json import BrokerRegistration, Endpoint, read_registration, write_registration
from protocol.errors import DecodeError, EncodeError

SECURITY_PROTOCOL = "PLAINTEXT"


class Registered(NamedTuple):
    """A broker's registration as read: listener, host and port of each address, and the rack."""

    addresses: tuple[tuple[str, str, int], ...]
    rack: str | None


def write_broker(
    addresses: Iterable[tuple[str, str, int]], rack: str | None, *, version: int, timestamp_ms: int
) -> bytes:
    """The JSON of a broker with these plaintext listeners, in a version from 1 to 5.

    Raises: KafkaRackError: a listener that the version has no form for.
    """
    endpoints = tuple(Endpoint(name, SECURITY_PROTOCOL, host, port) for name, host, port in addresses)
    try:
        return write_registration(BrokerRegistration(endpoints, rack, timestamp_ms=timestamp_ms), version)
    except EncodeError as error:
        raise KafkaRackError(error.reason) from None


def read_broker(data: bytes, *, strict: bool = False) -> Registered:
    """Read a broker's JSON.

    Args:
        strict: reads as Kafka 0.9.0.0 does.

    Raises: UnreadableRegistrationError: this reader cannot parse it.
    """
    try:
        found = read_registration(data, strict=strict)
    except DecodeError as error:
        raise UnreadableRegistrationError(error.reason) from None
    return Registered(tuple((one.listener, one.host or "", one.port) for one in found.endpoints), found.rack)
