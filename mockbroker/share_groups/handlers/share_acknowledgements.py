"""The common parts of ShareFetch and ShareAcknowledge: checks, acknowledgements, and the response.

Source: KafkaApis.validateAcknowledgementBatches and handleAcknowledgements, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from mockbroker.call import Call
from mockbroker.handlers.leadership import LEADER_MOVED, find_partition, node_endpoints
from mockbroker.share_groups.share_states import NOT_HOSTED, SharePartitionKey, share_of
from mockbroker.share_groups.state.acknowledging import (
    REJECT,
    RENEW,
    Acknowledgement,
    UnforeseenAcknowledgement,
    acknowledge,
)
from mockbroker.share_groups.state.sessions import TopicIndex
from mockbroker.state.errors import ApiError
from mockbroker.state.features import feature_level
from protocol.error_codes import ErrorCode

SHARE_FEATURE = "share.version"
MAX_MEMBER_ID = 36
RENEWING_VERSION = 2
FINE = ApiError(ErrorCode.NONE)

Response = TypeVar("Response")
Acknowledgements = Mapping[TopicIndex, Sequence[Acknowledgement]]


def check_enabled(call: Call) -> None:
    """Raises ApiError: UNSUPPORTED_VERSION if the cluster has no share groups."""
    if feature_level(call.cluster, SHARE_FEATURE) < 1:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def acknowledgements_of(topics: Iterable[Any]) -> dict[TopicIndex, list[Acknowledgement]]:
    """The acknowledgements of each partition in a request; of a partition that is named twice the first counts.

    A topic may be named twice, as by librdkafka 2.15 when its partitions alternate; each entry counts.
    """
    result: dict[TopicIndex, list[Acknowledgement]] = {}
    for topic in topics:
        for one in topic.partitions:
            result.setdefault(
                (topic.topic_id, one.partition_index),
                [
                    Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)
                    for batch in one.acknowledgement_batches
                ],
            )
    return result


def check_member(group_id: str | None, member_id: str | None) -> tuple[str, str]:
    """Both ids, if valid. Raises ApiError: INVALID_REQUEST."""
    if group_id is None:
        raise ApiError(ErrorCode.INVALID_REQUEST, "expected a group id, got null")
    if not member_id or len(member_id) > MAX_MEMBER_ID:
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"expected a member id of 1 to {MAX_MEMBER_ID} characters, got {member_id!r}"
        )
    return group_id, member_id


def take_acknowledgements(
    call: Call, group_id: str, member_id: str, acknowledgements: Acknowledgements, *, is_renewal: bool
) -> dict[TopicIndex, ApiError]:
    """Apply acknowledgements; returns the outcome of each partition, ``FINE`` if all of them succeeded."""
    outcomes: dict[TopicIndex, ApiError] = {}
    fine: dict[TopicIndex, ApiError] = {}
    taken = False
    for one, batches in acknowledgements.items():
        try:
            if one[0] not in call.cluster.topic_by_id:
                raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID)
            if not are_valid(batches, call.version, is_renewal=is_renewal):
                raise ApiError(ErrorCode.INVALID_REQUEST)
            find_partition(call, *one)
        except ApiError as error:
            outcomes[one] = ApiError(error.code)
            continue
        if batches:
            taken = True
            outcomes[one] = take(call, SharePartitionKey(group_id, *one), member_id, batches)
        else:
            fine[one] = FINE
    return {**outcomes, **fine} if taken else outcomes


def take(call: Call, key: SharePartitionKey, member_id: str, batches: Sequence[Acknowledgement]) -> ApiError:
    """Apply acknowledgements of one partition that this broker serves. Raises UnforeseenAcknowledgement."""
    share = share_of(call.cluster)
    partition = share.get(key)
    is_diskless = call.cluster.topic_by_id[key.topic_id].diskless  # every broker serves it
    if partition is None or not (is_diskless or partition.leader == call.broker.id):
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_HOSTED)
    try:
        acknowledge(partition, member_id, batches, call.now_ms)
    except UnforeseenAcknowledgement:
        raise
    except ApiError as error:
        share.fence_on(key, error)
        return error
    finally:
        call.cluster.notify(key)
    return FINE


def are_valid(batches: Iterable[Acknowledgement], version: int, *, is_renewal: bool) -> bool:
    """True if batches are in order, with one known type for all of their offsets or one for each."""
    greatest = RENEW if version == RENEWING_VERSION else REJECT
    last_offset = -1
    for one in batches:
        count = one.last_offset - one.first_offset + 1
        if count < 1 or one.first_offset < last_offset or len(one.types) not in (1, count):
            return False
        if any(not 0 <= kind <= greatest or (kind == RENEW and not is_renewal) for kind in one.types):
            return False
        last_offset = one.last_offset
    return True


def answered(call: Call, response_class: type[Response], group_id: str, entries: Mapping[TopicIndex, Any]) -> Response:
    """The response with these partitions, grouped by topic, and with the leaders of those that have another one."""
    make: Any = response_class
    topics: dict[bytes, Any] = {}
    moved: list[Any] = []
    for (topic_id, index), entry in entries.items():
        topics.setdefault(topic_id, make.Topic(topic_id=topic_id)).partitions.append(entry)
        topic = call.cluster.topic_by_id.get(topic_id)  # it may be deleted while the call waits
        if entry.error_code in LEADER_MOVED and topic is not None:
            known = call.leadership(topic.partitions[index])
            entry.current_leader.leader_id, entry.current_leader.leader_epoch = known.leader, known.leader_epoch
            moved.append(entry)
    response = make(
        acquisition_lock_timeout_ms=call.cluster.configs.group(group_id, "share.record.lock.duration.ms"),
        responses=list(topics.values()),
        node_endpoints=node_endpoints(call, moved, make.NodeEndpoint),
    )
    return cast("Response", response)
