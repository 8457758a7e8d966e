"""What OffsetCommit and TxnOffsetCommit have in common: offsets of partitions, each of which gets its own error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mockbroker.call import Call
from mockbroker.handlers.leadership import find_partition, is_known
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.offsets import Committed
from mockbroker.state.image.image import TopicPartition
from protocol.error_codes import ErrorCode

CommitResponse = TypeVar("CommitResponse")
Keep = Callable[[dict[TopicPartition, Committed]], Mapping[TopicPartition, ErrorCode]]


def keep_offsets(
    call: Call, request: Any, response: CommitResponse, keep: Keep, *, first_version_by_id: int
) -> CommitResponse:
    """Fill in a response: what ``keep`` says of each partition that there is, else that there is none.

    Args:
        keep: gets the offsets of all partitions that there are, and gives the error of each.
        first_version_by_id: from this version on topics go by id, before that by name.
    """
    filled: Any = response
    offsets: dict[TopicPartition, Committed] = {}
    accepted: list[tuple[TopicPartition, Any]] = []
    for topic in request.topics:
        entry = type(filled).Topic(name=topic.name, topic_id=topic.topic_id)
        key = topic.topic_id if call.version >= first_version_by_id else topic.name
        if not topic.partitions and is_known(call, key):
            continue  # Kafka has nothing to say of it
        filled.topics.append(entry)
        for wanted in topic.partitions:
            result = type(filled).Topic.Partition(partition_index=wanted.partition_index)
            entry.partitions.append(result)
            try:
                partition = find_partition(call, key, wanted.partition_index)
            except ApiError as error:
                result.error_code = error.code
                continue
            place = (partition.topic.name, partition.index)
            offsets[place] = Committed(
                wanted.committed_offset, wanted.committed_leader_epoch, wanted.committed_metadata or ""
            )
            accepted.append((place, result))
    if accepted:
        errors = keep(offsets)
        for place, result in accepted:
            result.error_code = errors[place]
    return response
