"""Shorthand for what produce and fetch tests send and read."""

from __future__ import annotations

from typing import Any

from mockbroker.core.simulation import Simulation
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.apis.produce import ProduceRequest, ProduceResponse
from protocol.records import Record, build_batch, iter_records

TOPIC = "orders"


def batch(*values: bytes, timestamp: int = 1000, **fields: Any) -> bytes:
    """One batch of records with these values."""
    return build_batch([Record(value=value, timestamp=timestamp) for value in values], **fields)


def produce_request(
    records: bytes | None, *, index: int = 0, topic: str = TOPIC, topic_id: bytes = bytes(16), acks: int = -1
) -> ProduceRequest:
    partition = ProduceRequest.Topic.Partition(index=index, records=records)
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[ProduceRequest.Topic(name=topic, topic_id=topic_id, partition_data=[partition])],
    )


def produce(
    sim: Simulation, records: bytes | None, *, version: int = 12, broker: int = 0, acks: int = -1, **fields: Any
) -> ProduceResponse.Topic.Partition:
    """Produce to one partition and give its entry of the answer."""
    response = sim.ask(produce_request(records, acks=acks, **fields), version=version, broker=broker)
    return response.responses[0].partition_responses[0]


def fetch_request(
    offset: int = 0,
    *,
    index: int = 0,
    topic: str = TOPIC,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 10**6,
    partition_max_bytes: int = 10**6,
    partition: dict[str, Any] | None = None,
    **fields: Any,
) -> FetchRequest:
    wanted = FetchRequest.Topic.Partition(
        partition=index, fetch_offset=offset, partition_max_bytes=partition_max_bytes, **(partition or {})
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[FetchRequest.Topic(topic=topic, partitions=[wanted])],
        **fields,
    )


def fetch(
    sim: Simulation, offset: int = 0, *, version: int = 12, broker: int = 0, **fields: Any
) -> FetchResponse.Topic.Partition:
    """Fetch from one partition without a wait and give its entry of the answer."""
    response = sim.ask(fetch_request(offset, **fields), version=version, broker=broker)
    return response.responses[0].partitions[0]


def values(records: bytes | None) -> list[bytes | None]:
    return [record.value for record in iter_records(records)]


def offsets(records: bytes | None) -> list[int]:
    return [record.offset for record in iter_records(records)]
