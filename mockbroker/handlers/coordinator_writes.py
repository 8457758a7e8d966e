"""What requests are answered that have coordinators write something which is not replicated, or stand behind that.

Reads cluster.internal_topics, whose ``writes`` say which partitions are short of replicas in sync and which were
written to all the same.
Errors: COORDINATOR_NOT_AVAILABLE, once ``offsets.commit.timeout.ms`` is over.
Source: CoordinatorRuntime and CoordinatorOperationExceptionHelper, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple

from mockbroker.call import Call, Wait
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.state.groups.kind import CoordinatedGroup
from mockbroker.state.groups.offsets import GroupOffsets
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from mockbroker.state.topics.topic import Partition
from mockbroker.state.topics.unreplicated_writes import CommittedGroups
from protocol.error_codes import ErrorCode

GROUP_TIMEOUT = "offsets.commit.timeout.ms"
SHARE_TIMEOUT = "share.coordinator.write.timeout.ms"
Handler = Callable[[Call, Any], Any]


class CoordinatorWrite(NamedTuple):
    """Something that a response tells of as done: the partition it is in, and what is to be told if it is not."""

    partition: Partition
    fail: Callable[[], None]


def when_replicated(
    call: Call, response: Any, writes: Sequence[CoordinatorWrite], until_ms: int | None = None, *, setting: str
) -> Any:
    """A response once what it tells of is replicated, or the time is over; at once where nothing is missing.

    Args:
        setting: the broker's setting that says how long.
    """
    missing = [one for one in writes if call.cluster.internal_topics.writes.is_behind(one.partition)]
    if not missing:
        return response
    if until_ms is None:
        until_ms = timeout_ms(call, setting)
    elif call.now_ms >= until_ms:
        for one in missing:
            one.fail()
        return response
    return Wait(
        until_ms=until_ms,
        on=tuple({one.partition: None for one in missing}),
        then=lambda again: when_replicated(again, response, missing, until_ms, setting=setting),
    )


def timeout_ms(call: Call, setting: str = GROUP_TIMEOUT) -> int:
    """When a write that begins now is given up."""
    limit_ms: int = call.cluster.configs.broker(call.broker.id, setting)
    return call.now_ms + limit_ms


def answered_when_replicated(handler: Handler) -> Handler:
    """A handler of one group's request, whose answer waits until what the group did is replicated.

    What the handler refuses is refused at once.
    """

    @wraps(handler)
    def waiting(call: Call, request: Any) -> Any:
        return waited_for(call, request, handler(call, request))

    def waited_for(call: Call, request: Any, response: Any) -> Any:
        topics = call.cluster.internal_topics
        if not topics.writes.any_behind or is_refused(response):
            return response
        partition = topics.partition_of(OFFSETS_TOPIC, request.group_id)
        return after_writes(call, request, response, partition)

    return waiting


def after_writes(call: Call, request: Any, response: Any, partition: Partition, until_ms: int | None = None) -> Any:
    """A response once all that was written to a partition is replicated; its error if that takes too long."""
    if not call.cluster.internal_topics.writes.is_behind(partition):
        return response
    if until_ms is None:
        until_ms = timeout_ms(call)
    elif call.now_ms >= until_ms:
        return error_response(request, call.version, ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    return Wait(
        until_ms=until_ms,
        on=(partition,),
        then=lambda again: after_writes(again, request, response, partition, until_ms),
    )


def is_refused(response: Any) -> bool:
    """Whether a response has nothing but errors."""
    code = getattr(response, "error_code", None)
    if code is not None:
        return bool(code != ErrorCode.NONE)
    return all(partition.error_code for topic in response.topics for partition in topic.partitions)


def committed_groups(call: Call, group_id: str) -> CommittedGroups | None:
    """The groups that readers see beside a group, None where those are the ones that there are."""
    topics = call.cluster.internal_topics
    if not topics.writes.any_behind:
        return None
    return topics.writes.committed(topics.partition_of(OFFSETS_TOPIC, group_id))


def committed_group(call: Call, group_id: str) -> CoordinatedGroup:
    """A group as readers see it. Raises ApiError: GROUP_ID_NOT_FOUND."""
    committed = committed_groups(call, group_id)
    if committed is None:
        return call.cluster.groups.get(group_id)
    group = committed.groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
    return group


def committed_offsets(call: Call, group_id: str) -> GroupOffsets:
    """A group's offsets as readers see them."""
    committed = committed_groups(call, group_id)
    if committed is None:
        return call.cluster.groups.offsets(group_id)
    from mockbroker.state.image.image import Image

    return GroupOffsets(Image(offsets=committed.offsets), group_id)
