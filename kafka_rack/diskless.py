"""Which broker a client is told to use for diskless topics: one of its own rack, in turn.

A diskless partition lives in object storage, so any broker can serve it. Metadata therefore names a broker near the
client as its leader. Source: the rack-aware metadata of KIP-1163 and its companions, as the design page draws it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

RACK_IN_CLIENT_ID = re.compile(r"(?:^|[ ,|])diskless_az=([^=,| ]*)")


def rack_in_client_id(client_id: str | None) -> str | None:
    """The rack that a client names in its client.id as ``diskless_az=RACK``, None if it names none.

    The mark stands at the start or after a space, ``,`` or ``|``; the rack ends at ``=``, ``,``, ``|``, a space
    or the end.

    >>> rack_in_client_id("billing,diskless_az=eu-1a")
    'eu-1a'
    >>> rack_in_client_id("my_diskless_az=eu-1a") is None
    True
    """
    if not client_id:
        return None
    found = RACK_IN_CLIENT_ID.search(client_id)
    return found.group(1) or None if found is not None else None


def client_rack(rack_id: str | None, client_id: str | None, listener_rack: str | None) -> str | None:
    """A client's rack: what the request names, else its client.id, else the listener's; None if nobody says.

    >>> client_rack(None, "diskless_az=b", "c")
    'b'
    """
    return rack_id or rack_in_client_id(client_id) or listener_rack or None


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
