"""Rewrites brokers' addresses in answers, so that clients stay with the proxy.

Node ids and all other fields stay. An entry without a host, as for a coordinator that was not found, stays too.
A test lists the hosts and racks of responses that are not rewritten, since clients do not connect there.

The proxy has listeners only for brokers. They do not name controllers: a DescribeCluster for these is answered with
MISMATCHED_ENDPOINT_TYPE.

>>> from protocol.apis.find_coordinator import FindCoordinatorResponse
>>> def place_of(node_id, host, port, rack):
...     return "127.0.0.1", 19000 + node_id, rack
>>> answer = FindCoordinatorResponse(node_id=2, host="kafka-2.example", port=9092)
>>> rewrite_addresses(10, 3, answer, place_of), answer.host, answer.port
(True, '127.0.0.1', 19002)

Source: the response schemas of Apache Kafka 4.4; AuthHelper.computeDescribeClusterResponse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from mockbroker.api_parts import fields_of, item_of, lists_of
from protocol.registry import APIS, message_class

NODE_IDS = ("node_id", "broker_id")


PlaceOf = Callable[[int, str, int, str | None], tuple[str, int, str | None]]
"""Host, port and rack of a broker for clients, from its id and its real host, port and rack."""


class Nodes(NamedTuple):
    """The place of nodes in a response: ``field`` is their list, "" for the response itself."""

    field: str
    node_id: str
    has_racks: bool


@lru_cache(maxsize=1024)
def nodes_in(api_key: int, version: int) -> tuple[Nodes, ...]:
    """Each record of an answer that has a node's id, host and port, by its declaration.

    >>> nodes_in(60, 0)
    (Nodes(field='brokers', node_id='broker_id', has_racks=True),)
    """
    if api_key not in APIS:
        return ()
    response = message_class(api_key, "response")
    lists = {field.name: item_of(response, field.name) for field in lists_of(response, version)}
    found = []
    for name, record in {"": response, **lists}.items():
        if isinstance(record, type):
            fields = {field.name for field in fields_of(record, version)}
            node_id = next((field for field in NODE_IDS if field in fields), "")
            if node_id and {"host", "port"} <= fields:
                found.append(Nodes(name, node_id, "rack" in fields))
    return tuple(found)


def may_carry_addresses(api_key: int, version: int) -> bool:
    """True if an answer must be decoded, because it may contain brokers' addresses.

    >>> may_carry_addresses(1, 15), may_carry_addresses(1, 16), may_carry_addresses(8, 0)
    (False, True, False)
    """
    return bool(nodes_in(api_key, version))


def rewrite_addresses(api_key: int, version: int, response: Any, place_of: PlaceOf) -> bool:
    """Set the addresses and racks for clients in an answer, in place.

    Returns: True if the answer changed; if not, the received bytes can be sent unchanged.
    """
    changed = False
    for nodes in nodes_in(api_key, version):
        for entry in getattr(response, nodes.field) if nodes.field else (response,):
            if not entry.host:
                continue
            rack = entry.rack if nodes.has_racks else None
            host, port, shown_rack = place_of(getattr(entry, nodes.node_id), entry.host, entry.port, rack)
            if (host, port) != (entry.host, entry.port):
                entry.host, entry.port = host, port
                changed = True
            if nodes.has_racks and shown_rack != rack:
                entry.rack = shown_rack
                changed = True
    return changed
