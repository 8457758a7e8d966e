"""The rack in a ConsumerProtocolSubscription, which a member of a classic group tells the group's leader.

A subscription is bytes for everyone but the leader, so nothing of it is written anew: what stands in it stays where it
is, and the rack comes to its end.

- Version 3 and newer have room for a rack. What a newer version adds behind it stays behind it.
- Versions 1 and 2 are made version 3. A leader that knows fewer versions reads as far as it knows, as Java's clients,
  librdkafka, franz-go and kafka-python do. Version 2's generation is what leaders take it for that find none: -1, or of
  a cooperative sticky member the one in its user data, since some leaders (sarama) look there in version 1 alone.
- Version 0 stays. A library that writes it knows nothing of racks, so a group of its own has no use for one, and of
  sarama before 1.41.1 such a group would not survive it: it refuses bytes that it does not know.
- What cannot be read stays: kafka-go and sarama-cluster say version 1, and leave out what it adds.

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
"""How a rack is written that is null, or empty, which Java takes for none."""


def with_rack(subscription: bytes, rack: str, assignor: str) -> bytes | None:
    """A subscription that names a rack; None where it names one already, or is to stay as it is.

    Args:
        subscription: with its version in front.
        assignor: the name of the protocol that it belongs to.

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
        return None  # a leader that knows more of it than we do would not find it any more
    generation = b"" if version >= GENERATION_VERSION else generation_in(found, assignor)
    return RACK_VERSION.to_bytes(VERSION_BYTES) + subscription[VERSION_BYTES:] + generation + named


def generation_in(found: ConsumerProtocolSubscription, assignor: str) -> bytes:
    """The generation of a member that has no place for it but the user data of its assignor."""
    if assignor == COOPERATIVE_STICKY and found.user_data is not None and len(found.user_data) == GENERATION_BYTES:
        return found.user_data
    return NO_GENERATION.to_bytes(GENERATION_BYTES, signed=True)
