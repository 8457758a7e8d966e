"""Where a client is: what it says itself, what the racks file says, and what to do when they differ."""

from __future__ import annotations

from typing import NamedTuple

from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.rack_names import shown


class Place(NamedTuple):
    """``rack`` and how it is known (``source``); ``told`` is what the client itself said and how, ``detail`` a quarrel.

    ``source``: request, replica, connection, membership, client_id, listener, racks_file or None.
    """

    rack: str | None
    source: str | None
    told: str | None = None
    told_in: str | None = None
    detail: str | None = None


NOWHERE = Place(None, None)


def place_of(
    said: str | None,
    said_in: str | None,
    rules: RackRules | None,
    client_id: str | None,
    host: str | None,
    cluster_racks: frozenset[str] = frozenset(),
) -> Place:
    """Where a client is.

    What it says holds, since brokers act on that. The racks file is asked about those who say nothing, or a rack that
    the cluster does not have; there the client id comes before the address, which may be a proxy's.

    Args:
        said, said_in: the rack that the client names, and where.

    >>> rules = RackRules.read("az-b@10.0.0.0/8", "racks")
    >>> place_of(None, None, rules, "etl", "10.1.1.1").rack
    'az-b'
    >>> place_of("az-a", "request", rules, "etl", "10.1.1.1", frozenset({"az-a", "az-b"})).detail
    'it says az-a, the racks file az-b'
    """
    filed = None if rules is None else rules.of_client(client_id, host)
    if not said:
        return Place(filed, "racks_file") if filed is not None else NOWHERE
    if filed is None or filed == said:
        return Place(said, said_in, said, said_in)
    detail = f"it says {shown(said)}, the racks file {shown(filed)}"
    if cluster_racks and said not in cluster_racks:
        return Place(filed, "racks_file", said, said_in, detail)
    return Place(said, said_in, said, said_in, detail)
