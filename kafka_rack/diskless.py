"""Which broker a client is told to use for diskless topics: one of its own rack, in turn or by hash.

A diskless partition lives in object storage, so any broker can serve it. Metadata therefore names a broker near the
client as its leader. Source: the rack-aware metadata of KIP-1163 and its companions, as the design page draws it; by
hash, InklessTopicMetadataTransformer of Inkless, whose page CLIENT-BROKER-AZ-ALIGNMENT has abs in place of toPositive.
"""

from __future__ import annotations

import base64
from collections.abc import Container, Iterable

from kafka_rack.java import murmur2, to_positive
from kafka_rack.zones import ZONE_KEYS, known_rack_in_client_id, zone_in_client_id

SELECTIONS = ("round-robin", "hash")
"""How a broker is chosen for diskless partitions: the proposals' way, and that of Inkless."""


def rack_in_client_id(client_id: str | None) -> str | None:
    """The rack that a client names in its client.id as ``diskless_az=RACK``, as it stands there; None if it names none.

    The mark stands at the start or after a space, ``,`` or ``|``; the rack ends at ``=``, ``,``, ``|``, a space
    or the end.

    >>> rack_in_client_id("billing,diskless_az=eu-1a")
    'eu-1a'
    >>> rack_in_client_id("my_diskless_az=eu-1a") is None
    True
    """
    return zone_in_client_id(client_id, ZONE_KEYS[:1])


def client_rack(
    rack_id: str | None, client_id: str | None, listener_rack: str | None, racks: Container[str] | None = None
) -> str | None:
    """A client's rack: what the request names, else its client.id, else the listener's; None if nobody says.

    Args:
        racks: those that brokers have. Where they are given, a zone in client.id counts only if it is one of them.

    >>> client_rack(None, "diskless_az=b", "c"), client_rack(None, "ws_az=z", "c", {"a", "b", "c"})
    ('b', 'c')
    """
    if rack_id:
        return rack_id
    said = zone_in_client_id(client_id) if racks is None else known_rack_in_client_id(client_id, racks)
    return said or listener_rack or None


def candidates(brokers: Iterable[tuple[int, str | None]], rack: str | None) -> list[int]:
    """The ids of the brokers that may serve a client of this rack: its rack's, or all where the rack has none.

    Args:
        brokers: (id, rack) of each broker that is alive.
        rack: the client's, None if unknown.

    >>> candidates([(0, "a"), (1, "b"), (2, "a")], "a")
    [0, 2]
    >>> candidates([(0, "a"), (1, "b")], "z")
    [0, 1]
    """
    alive = sorted(brokers)
    near = [broker_id for broker_id, broker_rack in alive if rack is not None and broker_rack == rack]
    return near or [broker_id for broker_id, _ in alive]


def choose(candidate_ids: list[int], turn: int) -> int:
    """The candidate whose turn it is; turns count from 0 and go round evenly.

    >>> [choose([4, 7], turn) for turn in range(3)]
    [4, 7, 4]
    """
    return candidate_ids[turn % len(candidate_ids)]


def choose_by_hash(candidate_ids: list[int], topic_id: bytes, partition: int) -> int:
    """The candidate of a partition by its hash: the same for every client of a rack while its brokers stay the same.

    Args:
        candidate_ids: in ascending order, as ``candidates`` returns them.

    >>> [choose_by_hash([4, 7], bytes(16), partition) for partition in range(3)]
    [7, 4, 7]
    """
    text = f"{base64.urlsafe_b64encode(topic_id).decode().rstrip('=')}-{partition}"
    return candidate_ids[to_positive(murmur2(text.encode())) % len(candidate_ids)]
