"""Clients in racks whose calls a journal's tests look at."""

from __future__ import annotations

from mockbroker.core.simulation import Simulation
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.records import Record, build_batch
from tests.unit.mockbroker.core.client import Client
from tests.unit.mockbroker.handlers.records import TOPIC, fetch_request, produce_request

RACK_AWARE = {"replica.selector.class": "rack-aware"}


def cluster_of(racks: str = "a,b,c", *, near: bool = False, **settings: str) -> Simulation:
    """A simulation with a topic of one partition, led by broker 0 in rack a; ``near`` has it send readers on."""
    sim = Simulation(racks, settings={**(RACK_AWARE if near else {}), **settings})
    sim.cluster.replication_control.create(TOPIC, assignment=[list(range(len(racks.split(","))))])
    return sim


def produce(
    sim: Simulation,
    *values: bytes,
    client_id: str = "writer",
    key: bytes | None = None,
    software: tuple[str, str] | None = None,
    **fields: int,
) -> int:
    """Produce a batch to broker 0, after ApiVersions if a software is named; gives the batch's size."""
    sent = build_batch([Record(key=key, value=value, timestamp=1000) for value in values])
    client = Client(sim, connection=fields.pop("connection", 1))
    if software is not None:
        name, version = software
        client.ask(ApiVersionsRequest(client_software_name=name, client_software_version=version), 3)
    client.ask(produce_request(sent, **fields), 12, client_id=client_id)
    return len(sent)


def fetch(
    sim: Simulation, rack: str = "", *, broker: int = 0, client_id: str = "reader", version: int = 12, offset: int = 0
) -> None:
    """Fetch the topic on a connection of its own."""
    connection = 100 + broker
    Client(sim, broker=broker, connection=connection).ask(
        fetch_request(offset, rack_id=rack), version, client_id=client_id
    )
