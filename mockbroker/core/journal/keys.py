"""Finds out if produced records have keys, from the log or from the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker.call import ProducedPart

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.logs.log import StoredBatch


def written_batches(cluster: Cluster, part: ProducedPart) -> list[StoredBatch] | None:
    """The batches that a Produce appended, as the log has them now; None if it no longer has them."""
    topic = cluster.topic_by_id.get(part.topic_id)
    if topic is None or part.end_offset < 0 or part.entry.base_offset < 0:
        return None
    found: list[StoredBatch] = []
    following = part.entry.base_offset
    for batch in topic.partitions[part.entry.index].log.batches(following):
        if batch.base_offset != following:
            return None
        found.append(batch)
        following = batch.last_offset + 1
        if following >= part.end_offset:
            return found if following == part.end_offset else None
    return None


def has_keys(cluster: Cluster | None, part: ProducedPart) -> bool | None:
    """True if any of the records has a key; None if they cannot be read (any more)."""
    from protocol.records import RecordError, iter_records

    batches = written_batches(cluster, part) if cluster is not None else None
    if batches is None:
        return None
    try:
        return any(record.key is not None for batch in batches for record in iter_records(batch.data))
    except RecordError:
        return None


def first_keys(request: Any) -> dict[tuple[str | bytes, int], bool | None]:
    """By partition of a Produce, True if its first record has a key; None if that requires decompression."""
    return {
        (topic.name or topic.topic_id, one.index): first_has_key(one.records or b"")
        for topic in request.topic_data
        for one in topic.partition_data
    }


def first_has_key(records: bytes) -> bool | None:
    """True if the first record of an uncompressed batch of magic 2 has a key; None for all other batches."""
    if len(records) < 66 or records[16] != 2 or records[22] & 7:
        return None
    at = 61
    try:
        for field in range(4):  # length, attributes, time and offset within the batch: all but the attributes vary
            if field == 1:
                at += 1
                continue
            while records[at] > 127:
                at += 1
            at += 1
        return not records[at] & 1
    except IndexError:
        return None
