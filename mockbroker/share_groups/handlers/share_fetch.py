"""ShareFetch (key 78) and ShareAcknowledge (79): members of a share group acquire and acknowledge records.

Read partitions' logs; write share sessions, share partitions, and the share coordinator's state.
Errors at the top: INVALID_REQUEST, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED,
(which waits); per partition UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR, of acknowledgements also INVALID_REQUEST, INVALID_RECORD_STATE.
Source: KIP-932, KIP-1206, KIP-1222; KafkaApis.handleShareFetchRequest and handleShareAcknowledgeRequest, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, FetchedPart, Wait
from mockbroker.handlers.leadership import LEADER_MOVED, find_partition, node_endpoints
from mockbroker.share_groups.handlers.share_acknowledgements import (
    FINE,
    acknowledgements_of,
    check_enabled,
    check_member,
    take_acknowledgements,
)
from mockbroker.share_groups.handlers.share_reading import ShareReading, read
from mockbroker.share_groups.share_states import share_of
from mockbroker.share_groups.state.sessions import FINAL_EPOCH, FIRST_EPOCH, MAX_EPOCH, ShareSession, TopicIndex
from mockbroker.state.errors import ApiError
from mockbroker.subjects import Subjects, named, with_session
from protocol.apis.share_fetch import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from protocol.error_codes import ErrorCode

READ_COMMITTED, LOCK_DURATION = "read_committed", "share.record.lock.duration.ms"
ACQUIRE_MODES = (0, 1)

if TYPE_CHECKING:
    from mockbroker.state.sessions.fetch_sessions import FetchPartition

NO_REPLICA = UNKNOWN_OFFSET = -1

Topic = TypeVar("Topic")
PartitionEntry = ShareFetchResponse.Topic.Partition
Outcomes = Mapping[TopicIndex, ApiError]
OF_SESSIONS = Errors(
    injected="lookup",
    words="nothing",
    top=(
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    ),
)


@dataclass(slots=True)
class FetchedShare:
    """A partition that a member requested: the fields of ``FetchPartition`` that observers read, and the group."""

    topic: bytes
    index: int
    group_id: str


def session_subjects(call: Call, request: ShareFetchRequest) -> Subjects:
    """The partitions that the request names, after those of its session."""
    fresh = named(call, request)
    if request.share_session_epoch <= 0:
        return fresh
    session = share_of(call.cluster).sessions_of(call.broker.id).get((request.group_id or "", request.member_id or ""))
    return with_session(call, fresh, session.partitions if session is not None else (), forgotten(request))


def forgotten(request: ShareFetchRequest) -> list[TopicIndex]:
    """The partitions that a request removes from its session."""
    return [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]


@handles(
    ShareFetchRequest,
    access=Needs(group="Read", topic="Read"),
    errors=OF_SESSIONS,
    subjects=session_subjects,
)
def share_fetch(call: Call, request: ShareFetchRequest) -> ShareFetchResponse | Wait:
    """Apply the acknowledgements of a member, then return acquired records."""
    check_enabled(call)
    group_id, member_id = check_member(request.group_id, request.member_id)
    named = acknowledgements_of(request.topics)
    acknowledges = any(named.values())
    is_renewal = request.is_renew_ack
    if is_renewal and any((request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)):
        raise ApiError(ErrorCode.INVALID_REQUEST, "expected limits of 0 beside is_renew_ack")
    try:
        session, partitions = open_session(call, request, (group_id, member_id), list(named), acknowledges=acknowledges)
    except ApiError as error:
        if error.code != ErrorCode.SHARE_SESSION_LIMIT_REACHED or request.max_wait_ms <= 0:
            raise
        refusal = ShareFetchResponse(error_code=error.code)
        return Wait(call.now_ms + request.max_wait_ms, (), lambda _: refusal)
    outcomes: Outcomes = {}
    if acknowledges:
        outcomes = take_acknowledgements(call, group_id, member_id, named, is_renewal=is_renewal)
    epoch = request.share_session_epoch

    def answer(later: Call, entries: dict[TopicIndex, PartitionEntry]) -> ShareFetchResponse:
        response = respond(later, group_id, epoch, session, entries, outcomes)
        if epoch == FINAL_EPOCH:
            share_of(later.cluster).end_session(later.broker.id, (group_id, member_id))
        return response

    entries: dict[TopicIndex, PartitionEntry] = {}
    requested: list[TopicIndex] = []
    if not is_renewal:
        for one in partitions:
            try:
                check_known(call, one, session)
                requested.append(one)
            except ApiError as error:
                entries[one] = PartitionEntry(partition_index=one[1], error_code=error.code, records=b"")
    if not requested:
        return answer(call, entries)
    if request.share_acquire_mode not in ACQUIRE_MODES:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"share acquire mode {request.share_acquire_mode}")
    committed_only = call.cluster.configs.group(group_id, "share.isolation.level") == READ_COMMITTED
    reading = ShareReading(
        request,
        group_id,
        member_id,
        rotated(requested, epoch),
        min(request.max_bytes, call.cluster.settings["fetch.max.bytes"]),
        call.now_ms + max(0, request.max_wait_ms),
        committed_only,
    )
    return read(call, reading, lambda later, found: answer(later, {**found, **entries}))


def open_session(
    call: Call, request: ShareFetchRequest, key: tuple[str, str], named: list[TopicIndex], *, acknowledges: bool
) -> tuple[ShareSession | None, list[TopicIndex]]:
    """The session that continues (None for a first or final request), and the partitions to fetch from.

    Raises ApiError: INVALID_REQUEST, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED.
    """
    sessions = share_of(call.cluster).sessions_of(call.broker.id)
    topics = call.cluster.topic_by_id
    if request.share_session_epoch == FINAL_EPOCH:
        sessions.find(key)
        return None, []
    if request.share_session_epoch == FIRST_EPOCH:
        if acknowledges:
            raise ApiError(ErrorCode.INVALID_REQUEST, "expected no acknowledgements in the first request of a session")
        sessions.open(key, named, call.session.connection, topics)
        return None, named
    session = sessions.resume(key, request.share_session_epoch)
    session.update(named, forgotten(request), topics)
    return session, list(session.partitions)


def check_known(call: Call, one: TopicIndex, session: ShareSession | None) -> None:
    """Raises ApiError: UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION unless the partition exists."""
    if session is not None and one in session.unknown:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
    if session is not None and one[0] not in call.cluster.topic_by_id:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
    find_partition(call, *one)


def rotated(requested: list[TopicIndex], epoch: int) -> list[TopicIndex]:
    """The partitions in reading order: each request of a session starts at the next partition."""
    start = epoch % len(requested) if epoch > FIRST_EPOCH else 0
    return requested[start:] + requested[:start]


def respond(
    call: Call,
    group_id: str,
    epoch: int,
    session: ShareSession | None,
    entries: Mapping[TopicIndex, PartitionEntry],
    outcomes: Outcomes,
) -> ShareFetchResponse:
    """The response, with the outcomes of acknowledgements; within a session it omits partitions without news."""
    response = ShareFetchResponse(acquisition_lock_timeout_ms=call.cluster.configs.group(group_id, LOCK_DURATION))
    included: dict[TopicIndex, PartitionEntry] = {}
    if session is not None and session.epoch != (1 if epoch == MAX_EPOCH else epoch + 1):
        response.error_code = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    else:
        report(call, group_id, entries)
        for one, entry in entries.items():
            if entry.error_code in LEADER_MOVED:
                add_leader(call, one, entry)
            has_records, has_error = bool(entry.records), entry.error_code != ErrorCode.NONE
            if session is None or session.has_news(one, has_records=has_records, has_error=has_error):
                included[one] = entry
    for one, outcome in outcomes.items():
        entry = included.setdefault(one, PartitionEntry(partition_index=one[1], records=b""))
        entry.acknowledge_error_code, entry.acknowledge_error_message = outcome.code, outcome.message
    response.responses = by_topic(ShareFetchResponse.Topic, included)
    response.node_endpoints = node_endpoints(call, entries.values(), ShareFetchResponse.NodeEndpoint)
    return response


def by_topic(topic_class: type[Topic], entries: Mapping[TopicIndex, Any]) -> list[Topic]:
    """The entries of partitions in topics of a response, in the order in which each is first named."""
    make: Any = topic_class
    topics: dict[bytes, Any] = {}
    for (topic_id, _), entry in entries.items():
        topics.setdefault(topic_id, make(topic_id=topic_id)).partitions.append(entry)
    return list(topics.values())


def add_leader(call: Call, one: TopicIndex, entry: PartitionEntry | ShareAcknowledgeResponse.Topic.Partition) -> None:
    """Add the leader of a partition to its entry."""
    topic = call.cluster.topic_by_id.get(one[0])
    if topic is not None:  # it may be deleted while the call waits
        known = call.leadership(topic.partitions[one[1]])
        entry.current_leader.leader_id, entry.current_leader.leader_epoch = known.leader, known.leader_epoch


def report(call: Call, group_id: str, entries: Mapping[TopicIndex, PartitionEntry]) -> None:
    """Report the fetched records to observers, as Fetch does."""
    parts = call.parts = []
    call.wanted = cast("list[FetchPartition]", [FetchedShare(*one, group_id) for one in entries])
    for (topic_id, index), entry in entries.items():
        topic = call.cluster.topic_by_id.get(topic_id)
        partition = topic.partitions[index] if topic is not None and 0 <= index < len(topic.partitions) else None
        acquired = entry.acquired_records
        first = acquired[0].first_offset if acquired else UNKNOWN_OFFSET
        parts.append(
            FetchedPart(
                None if topic is None else topic.name,
                topic_id,
                index,
                len(entry.records or b""),
                () if partition is None else None if partition.topic.diskless else partition.isr,
                entry.error_code,
                NO_REPLICA,
                first,
                first,
                acquired[-1].last_offset + 1 if acquired else UNKNOWN_OFFSET,
                UNKNOWN_OFFSET if partition is None else partition.high_watermark,
            )
        )


@handles(ShareAcknowledgeRequest, access=Needs(group="Read", topic="Read"), errors=OF_SESSIONS)
def share_acknowledge(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    """Apply the acknowledgements of a member."""
    check_enabled(call)
    group_id, member_id = check_member(request.group_id, request.member_id)
    share = share_of(call.cluster)
    sessions = share.sessions_of(call.broker.id)
    epoch = request.share_session_epoch
    if epoch == FIRST_EPOCH:
        raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH, "expected the epoch of a session that runs, got 0")
    if epoch == FINAL_EPOCH:
        sessions.find((group_id, member_id))
    else:
        sessions.resume((group_id, member_id), epoch)
    named = acknowledgements_of(request.topics)
    outcomes = take_acknowledgements(call, group_id, member_id, named, is_renewal=request.is_renew_ack)
    if epoch == FINAL_EPOCH:
        share.end_session(call.broker.id, (group_id, member_id))
    entries: dict[TopicIndex, ShareAcknowledgeResponse.Topic.Partition] = {}
    for one, outcome in outcomes.items():
        message = None if outcome is FINE else outcome.message
        entry = entries[one] = ShareAcknowledgeResponse.Topic.Partition(
            partition_index=one[1], error_code=outcome.code, error_message=message
        )
        if outcome.code in LEADER_MOVED:
            add_leader(call, one, entry)
    return ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=call.cluster.configs.group(group_id, LOCK_DURATION),
        responses=by_topic(ShareAcknowledgeResponse.Topic, entries),
        node_endpoints=node_endpoints(call, entries.values(), ShareAcknowledgeResponse.NodeEndpoint),
    )
