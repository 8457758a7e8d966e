"""The rack of a client: from the client itself, from the racks file, and the choice if they differ."""

from __future__ import annotations

from typing import NamedTuple

from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.rack_names import shown


class ClientLocation(NamedTuple):
    """A client's ``rack`` and its source; ``named_rack`` is the rack that the client itself named, with its source.

    ``known_from``: request, replica, connection, membership, client_id, listener, client, racks_file or None.
    ``conflict`` is a text if the client and the racks file differ.
    """

    rack: str | None
    known_from: str | None
    named_rack: str | None = None
    named_in: str | None = None
    conflict: str | None = None


UNKNOWN_LOCATION = ClientLocation(None, None)


def locate_client(
    named_rack: str | None,
    named_in: str | None,
    rules: RackRules | None,
    client_id: str | None,
    host: str | None,
    cluster_racks: frozenset[str] = frozenset(),
) -> ClientLocation:
    """The location of a client.

    The rack that it names wins, since brokers use it. The racks file applies to clients that name no rack, or one that
    the cluster does not have; there the client id comes before the address, which may be a proxy's.

    Args:
        named_rack, named_in: the rack that the client names, and where.

    >>> rules = RackRules.read("az-b@10.0.0.0/8", "racks")
    >>> locate_client(None, None, rules, "etl", "10.1.1.1").rack
    'az-b'
    >>> locate_client("az-a", "request", rules, "etl", "10.1.1.1", frozenset({"az-a", "az-b"})).conflict
    'it says az-a, the racks file az-b'
    """
    filed = None if rules is None else rules.of_client(client_id, host)
    if not named_rack:
        return ClientLocation(filed, "racks_file") if filed is not None else UNKNOWN_LOCATION
    if filed is None or filed == named_rack:
        return ClientLocation(named_rack, named_in, named_rack, named_in)
    conflict = f"it says {shown(named_rack)}, the racks file {shown(filed)}"
    if cluster_racks and named_rack not in cluster_racks:
        return ClientLocation(filed, "racks_file", named_rack, named_in, conflict)
    return ClientLocation(named_rack, named_in, named_rack, named_in, conflict)
