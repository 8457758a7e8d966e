"""Common part of OffsetCommit and TxnOffsetCommit: offsets of partitions, each with its own error.

A topic that is named twice has two entries in the answer, unless a partition is refused before the group is looked up:
then the answer begins with the refused partitions, and has each topic once.
Source: KafkaApis, OffsetCommitResponse.Builder and TxnOffsetCommitResponse.Builder, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mockbroker.call import Call
from mockbroker.handlers.leadership import find_partition, is_known
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.offsets import NEVER, Committed
from mockbroker.state.image.image import TopicPartition
from protocol.error_codes import ErrorCode

CommitResponse = TypeVar("CommitResponse")
Keep = Callable[[dict[TopicPartition, Committed]], Mapping[TopicPartition, ErrorCode]]


def keep_offsets(
    call: Call,
    request: Any,
    response: CommitResponse,
    keep: Keep,
    *,
    first_version_by_id: int,
    expires_ms: int = NEVER,
) -> CommitResponse:
    """Fill in a response: the result of ``keep`` for each existing partition, an error for the others.

    Args:
        keep: called with the offsets of all existing partitions; returns the error of each.
        first_version_by_id: the first version that names topics by id instead of name.
        expires_ms: when the offsets expire, by the wall clock.
    """
    filled: Any = response
    refused: dict[str | bytes, Any] = {}
    accepted: list[tuple[str | bytes, Any]] = []
    offsets: dict[TopicPartition, Committed] = {}
    results: list[tuple[TopicPartition, Committed, Any]] = []
    for topic in request.topics:
        key = topic.topic_id if call.version >= first_version_by_id else topic.name
        entry = type(filled).Topic(name=topic.name, topic_id=topic.topic_id)
        if not is_known(call, key):
            refused.setdefault(key, entry)
        for wanted in topic.partitions:
            result = type(filled).Topic.Partition(partition_index=wanted.partition_index)
            try:
                partition = find_partition(call, key, wanted.partition_index)
            except ApiError as error:
                result.error_code = error.code
                refused.setdefault(key, type(filled).Topic(name=topic.name, topic_id=topic.topic_id))
                refused[key].partitions.append(result)
                continue
            entry.partitions.append(result)
            place = (partition.topic.name, partition.index)
            committed = Committed(
                wanted.committed_offset,
                wanted.committed_leader_epoch,
                wanted.committed_metadata or "",
                expires_ms,
                partition.topic.id,
            )
            results.append((place, committed, result))
            if place not in offsets or call.cluster.groups.fits(committed):
                offsets[place] = committed
        if entry.partitions and entry is not refused.get(key):
            accepted.append((key, entry))
    if results:
        errors = keep(offsets)
        for place, committed, result in results:
            code = errors[place]
            is_too_long = code is ErrorCode.NONE and not call.cluster.groups.fits(committed)
            result.error_code = ErrorCode.OFFSET_METADATA_TOO_LARGE if is_too_long else code
    filled.topics = merged(refused, accepted) if refused else [entry for _, entry in accepted]
    return response


def merged(refused: dict[str | bytes, Any], accepted: list[tuple[str | bytes, Any]]) -> list[Any]:
    """The refused topics, then the accepted ones, each topic once."""
    for key, entry in accepted:
        if key in refused:
            refused[key].partitions.extend(entry.partitions)
        else:
            refused[key] = entry
    return list(refused.values())
