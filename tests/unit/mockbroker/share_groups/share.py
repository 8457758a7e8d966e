"""Shorthand for what tests of share groups send and read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from mockbroker.core.simulation import Simulation
from mockbroker.share_groups.share_states import SHARE_TOPIC, SharePartitionKey, coordinator_key, share_of
from protocol.apis.share_fetch import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from protocol.records import Record, build_batch
from tests.unit.mockbroker.handlers.records import produce, values

TOPIC = "orders"
GROUP = "workers"
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
Batches = Iterable[tuple[int, int, Sequence[int]]]
FetchPartition = ShareFetchRequest.Topic.Partition
AckPartition = ShareAcknowledgeRequest.Topic.Partition


def begun(sim: Simulation, partitions: int = 1, *, start_offset: int = 0, group: str = GROUP) -> bytes:
    """A topic whose share partitions have begun; gives its id. Partition i is led by broker i."""
    topic = sim.cluster.replication_control.create(TOPIC, partitions, 3)
    for index in range(partitions):
        share_of(sim.cluster).coordinator.initialize(SharePartitionKey(group, topic.id, index), 1, start_offset)
    return topic.id


def filled(sim: Simulation, *counts: int, index: int = 0) -> None:
    """Produce batches of so many records to a partition."""
    for count in counts:
        records = [Record(value=str(number).encode(), timestamp=1000) for number in range(count)]
        assert produce(sim, build_batch(records), index=index, broker=index).error_code == 0


def share_fetch_request(
    topic_id: bytes,
    epoch: int = 0,
    *,
    member: str = "one",
    group: str | None = GROUP,
    indexes: Iterable[int] = (0,),
    batches: Batches = (),
    max_records: int = 500,
    batch_size: int = 500,
    **fields: Any,
) -> ShareFetchRequest:
    taken = [
        FetchPartition.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
        for first, last, types in batches
    ]
    partitions = [FetchPartition(partition_index=index, acknowledgement_batches=taken) for index in indexes]
    given = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
    return ShareFetchRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        max_records=max_records,
        batch_size=batch_size,
        topics=[ShareFetchRequest.Topic(topic_id=topic_id, partitions=partitions)] if partitions else [],
        **given,
    )


def share_fetch(
    sim: Simulation, topic_id: bytes, epoch: int = 0, *, broker: int = 0, **fields: Any
) -> ShareFetchResponse:
    """Fetch without a wait; gives the whole answer."""
    version = fields.pop("version", None)
    answer: ShareFetchResponse = sim.ask(share_fetch_request(topic_id, epoch, **fields), broker=broker, version=version)
    return answer


def acquired(response: ShareFetchResponse, topic: int = 0, partition: int = 0) -> list[tuple[int, int, int]]:
    """First offset, last offset and delivery count of what was acquired; nothing where the answer names nothing."""
    if not response.responses:
        return []
    entry = response.responses[topic].partitions[partition]
    return [(one.first_offset, one.last_offset, one.delivery_count) for one in entry.acquired_records]


def read_values(response: ShareFetchResponse) -> list[bytes | None]:
    return [value for topic in response.responses for one in topic.partitions for value in values(one.records)]


def acknowledge(
    sim: Simulation,
    topic_id: bytes,
    epoch: int,
    *batches: tuple[int, int, Sequence[int]],
    member: str = "one",
    group: str | None = GROUP,
    index: int = 0,
    broker: int = 0,
    version: int | None = None,
    is_renew_ack: bool = False,
) -> ShareAcknowledgeResponse:
    taken = [
        AckPartition.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))
        for first, last, types in batches
    ]
    partition = AckPartition(partition_index=index, acknowledgement_batches=taken)
    request = ShareAcknowledgeRequest(
        group_id=group,
        member_id=member,
        share_session_epoch=epoch,
        is_renew_ack=is_renew_ack,
        topics=[ShareAcknowledgeRequest.Topic(topic_id=topic_id, partitions=[partition])],
    )
    answer: ShareAcknowledgeResponse = sim.ask(request, broker=broker, version=version)
    return answer


def outcome(response: ShareAcknowledgeResponse) -> int:
    """The error code of the one partition."""
    return response.responses[0].partitions[0].error_code


def coordinator_of(sim: Simulation, topic_id: bytes, index: int = 0, group: str = GROUP) -> int:
    """The broker that keeps the state of a share partition."""
    return sim.cluster.internal_topics.coordinator(
        coordinator_key(SharePartitionKey(group, topic_id, index)), SHARE_TOPIC
    ).id
