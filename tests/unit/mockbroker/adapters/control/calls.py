"""Calls of clients with racks, for what the control API tells of them."""

from __future__ import annotations

from typing import Any

from mockbroker import MockCluster
from tests.unit.mockbroker.handlers.records import batch, fetch_request, produce_request
from tests.unit.mockbroker.wire_client import WireClient


def address_of(cluster: MockCluster, broker: int) -> str:
    return cluster.bootstrap_servers.split(",")[broker]


async def write(cluster: MockCluster, value: bytes = b"an order", client_id: str = "writer") -> Any:
    """Write a record to partition 0 of orders, at its leader."""
    leader = cluster.state.topics["orders"].partitions[0].leader
    async with WireClient(address_of(cluster, leader), client_id=client_id) as client:
        return await client.ask(produce_request(batch(value)), 9)


async def read(cluster: MockCluster, broker: int, rack: str, client_id: str = "reader") -> Any:
    """Read partition 0 of orders from a broker, as a client of a rack."""
    async with WireClient(address_of(cluster, broker), client_id=client_id) as client:
        return await client.ask(fetch_request(rack_id=rack), 12)
