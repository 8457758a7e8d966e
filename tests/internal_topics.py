"""Reads the topics of coordinators as a consumer does, through the frames of a Simulation."""

from __future__ import annotations

from mockbroker.core.simulation import Simulation
from mockbroker.state.cluster import Cluster
from mockbroker.state.logs.producers import Marker
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.apis.fetch import FetchRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.codec import codec
from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue
from protocol.embedded.versioned import read_versioned
from protocol.records import ControlType, Record, control_type, iter_batches, iter_records

EARLIEST = -2
WHOLE = 1 << 30  # bytes

OffsetRecord = tuple[str, str, int, int | None]
"""Group, topic, partition and the offset; None where the record deletes it."""


def end_transaction(cluster: Cluster, producer_id: int, *, committed: bool) -> None:
    """Apply the marker that ends a producer's transaction in all partitions of groups."""
    topic = cluster.topics.get(OFFSETS_TOPIC)
    for partition in topic.partitions if topic is not None else ():
        cluster.internal_topics.end_transaction(partition, Marker(committed, producer_id, 0, coordinator_epoch=0))


def records_of(sim: Simulation, topic: str, key: str, *, committed_only: bool = False) -> list[Record]:
    """What a consumer reads of a key's partition from its beginning, with markers and what was aborted."""
    partition = sim.cluster.internal_topics.partition_of(topic, key)
    asked = ListOffsetsRequest.Topic.Partition(partition_index=partition.index, timestamp=EARLIEST)
    starts = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsRequest.Topic(name=topic, partitions=[asked])])
    offset = sim.ask(starts, version=6, broker=partition.leader).topics[0].partitions[0].offset
    records: list[Record] = []
    while True:  # a fetch gives what is in one segment
        entry = (
            sim.ask(
                fetch_from(topic, partition.index, offset, committed_only=committed_only),
                version=11,
                broker=partition.leader,
            )
            .responses[0]
            .partitions[0]
        )
        assert entry.error_code == 0
        if not entry.records:
            return records
        records += iter_records(entry.records)
        offset = [header.last_offset for header in iter_batches(entry.records)][-1] + 1


def fetch_from(
    topic: str, index: int, offset: int, *, committed_only: bool = False, max_wait_ms: int = 0, min_bytes: int = 0
) -> FetchRequest:
    wanted = FetchRequest.Topic.Partition(
        partition=index, fetch_offset=offset, partition_max_bytes=WHOLE, current_leader_epoch=-1
    )
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=WHOLE,
        isolation_level=int(committed_only),
        session_epoch=-1,
        topics=[FetchRequest.Topic(topic=topic, partitions=[wanted])],
    )


def offsets_in(records: list[Record]) -> list[OffsetRecord]:
    """The OffsetCommit records."""
    kind = OffsetCommitKey.api_key.to_bytes(2)  # type: ignore[attr-defined]
    return [offset_in(one) for one in records if not one.is_control and one.key is not None and one.key[:2] == kind]


def offset_in(record: Record) -> OffsetRecord:
    assert record.key is not None
    key, _ = codec(OffsetCommitKey, 0).decode(record.key, 2)
    value = None if record.value is None else read_versioned(OffsetCommitValue, record.value, trailing="error")
    return (key.group, key.topic, key.partition, None if value is None else value.offset)


def committed(records: list[Record]) -> list[Record]:
    """The records that count: those of no transaction, and those whose marker says so; each where it stands."""
    ends: dict[int, list[tuple[int, bool]]] = {}
    for one in records:
        if one.is_control and one.batch is not None:
            is_commit = control_type(one) is ControlType.COMMIT
            ends.setdefault(one.batch.producer_id, []).append((one.offset, is_commit))
    kept = []
    for one in records:
        if one.is_control or one.batch is None:
            continue
        if one.batch.is_transactional:
            following = [is_commit for offset, is_commit in ends.get(one.batch.producer_id, []) if offset > one.offset]
            if not following or not following[0]:
                continue
        kept.append(one)
    return kept
