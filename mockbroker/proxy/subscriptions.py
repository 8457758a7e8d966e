"""Adds the rack to a ConsumerProtocolSubscription, which a member of a classic group sends to the group's leader.

Only the leader decodes a subscription, so its bytes are not re-encoded: they stay, and the rack is added at the end.

- Version 3 and newer have a field for the rack. Fields of newer versions stay after it.
- Versions 1 and 2 become version 3. A leader with fewer versions ignores the rest, as Java's clients, librdkafka,
  franz-go and kafka-python do. The generation of version 2 is the value that leaders assume without one: -1, or for a
  cooperative sticky member the one in its user data, since some leaders (sarama) read it there only in version 1.
- Version 0 stays. A library that writes it does not know racks, so its groups do not use them, and sarama before 1.41.1
  would fail: it refuses unknown bytes.
- Malformed subscriptions stay: kafka-go and sarama-cluster write version 1 without the fields that it adds.

Source: KIP-429, KIP-792, KIP-881; ConsumerProtocol.deserializeSubscription, CooperativeStickyAssignor.memberData of
Apache Kafka 4.4; sarama 1.30 and 1.61, consumer_group_members.go and balance_strategy.go.
"""

from __future__ import annotations

from protocol.codec import codec
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.errors import ProtocolError

VERSION_BYTES = 2
OWNED_VERSION = 1
GENERATION_VERSION = 2
RACK_VERSION = 3
NO_GENERATION = -1
GENERATION_BYTES = 4
LENGTH_BYTES = 2
MAX_RACK_BYTES = 0x7FFF
COOPERATIVE_STICKY = "cooperative-sticky"
NO_RACKS = (b"\xff\xff", b"\0\0")
"""The encodings of a null and of an empty rack, which Java treats as null."""


def with_rack(subscription: bytes, rack: str, assignor: str) -> bytes | None:
    """A subscription with the rack; None if it already has one, or must stay as it is.

    Args:
        subscription: its bytes, with the version in front.
        assignor: the name of its protocol.

    >>> with_rack(bytes.fromhex("0001 00000001 000165 ffffffff 00000000"), "a", "range").hex(" ", -2)
    '0003 0000 0001 0001 65ff ffff ff00 0000 00ff ffff ff00 0161'
    """
    written = rack.encode()
    version = int.from_bytes(subscription[:VERSION_BYTES], signed=True)
    if len(written) > MAX_RACK_BYTES or len(subscription) < VERSION_BYTES or version < OWNED_VERSION:
        return None
    try:
        known = codec(ConsumerProtocolSubscription, min(version, RACK_VERSION))
        found, end = known.decode(subscription, VERSION_BYTES)
    except ProtocolError:
        return None
    named = len(written).to_bytes(LENGTH_BYTES) + written
    if version >= RACK_VERSION:
        if found.rack_id:
            return None
        before = end - LENGTH_BYTES
        assert subscription[before:end] in NO_RACKS
        return subscription[:before] + named + subscription[end:]
    if end != len(subscription):
        return None  # a leader that knows the extra fields would no longer find them
    generation = b"" if version >= GENERATION_VERSION else generation_in(found, assignor)
    return RACK_VERSION.to_bytes(VERSION_BYTES) + subscription[VERSION_BYTES:] + generation + named


def generation_in(found: ConsumerProtocolSubscription, assignor: str) -> bytes:
    """The generation of a member, from the user data of its assignor, for versions without the field."""
    if assignor == COOPERATIVE_STICKY and found.user_data is not None and len(found.user_data) == GENERATION_BYTES:
        return found.user_data
    return NO_GENERATION.to_bytes(GENERATION_BYTES, signed=True)
