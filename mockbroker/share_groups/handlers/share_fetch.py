"""ShareFetch (key 78) and ShareAcknowledge (79): members of a share group acquire and acknowledge records.

Read partitions' logs; write share sessions, share partitions, and the share coordinator's state.
Errors at the top: INVALID_REQUEST, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED,
(which waits); per partition UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER,
COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR, of acknowledgements also INVALID_REQUEST, INVALID_RECORD_STATE.
Source: KIP-932, KIP-1206, KIP-1222; KafkaApis.handleShareFetchRequest and handleShareAcknowledgeRequest, Apache
Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from mockbroker.api import Errors, Needs, handles
from mockbroker.call import Call, Wait
from mockbroker.handlers.leadership import find_partition
from mockbroker.share_groups.handlers.share_acknowledgements import (
    FINE,
    acknowledgements_of,
    answered,
    check_enabled,
    check_member,
    take_acknowledgements,
)
from mockbroker.share_groups.handlers.share_reading import ShareReading, failed, read, respond
from mockbroker.share_groups.share_states import share_of
from mockbroker.share_groups.state.sessions import ShareSession, TopicIndex
from mockbroker.state.errors import ApiError
from mockbroker.state.sessions.fetch_sessions import FINAL_EPOCH, FIRST_EPOCH
from mockbroker.subjects import Subjects, named, with_session
from protocol.apis.share_fetch import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from protocol.error_codes import ErrorCode

READ_COMMITTED = "read_committed"
ACQUIRE_MODES = (0, 1)
OF_SESSIONS = Errors(
    injected="lookup",
    words="nothing",
    top=(
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    ),
)


def session_subjects(call: Call, request: ShareFetchRequest) -> Subjects:
    """The partitions that the request names, after those of its session."""
    sessions = share_of(call.cluster).sessions_of(call.broker.id)
    session = sessions.get((request.group_id or "", request.member_id or ""))
    if session is None or request.share_session_epoch <= 0:
        return named(call, request)
    return with_session(call, request, session.partitions, forgotten(request))


def forgotten(request: ShareFetchRequest) -> Iterable[TopicIndex]:
    return ((topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions)


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
    is_renewal, epoch = request.is_renew_ack, request.share_session_epoch
    if is_renewal and any((request.max_bytes, request.min_bytes, request.max_records, request.max_wait_ms)):
        raise ApiError(ErrorCode.INVALID_REQUEST, "expected limits of 0 beside is_renew_ack")
    try:
        session, partitions = open_session(call, request, (group_id, member_id), named, acknowledges=acknowledges)
    except ApiError as error:
        if error.code != ErrorCode.SHARE_SESSION_LIMIT_REACHED or request.max_wait_ms <= 0:
            raise
        refusal = ShareFetchResponse(error_code=error.code)
        return Wait(call.now_ms + request.max_wait_ms, (), lambda _: refusal)
    reading = ShareReading(
        request,
        group_id,
        member_id,
        session,
        min(request.max_bytes, call.cluster.settings["fetch.max.bytes"]),
        call.now_ms + max(0, request.max_wait_ms),
        call.cluster.configs.group(group_id, "share.isolation.level") == READ_COMMITTED,
    )
    if acknowledges:
        reading.outcomes = take_acknowledgements(call, group_id, member_id, named, is_renewal=is_renewal)
    requested: list[TopicIndex] = []
    for one in partitions if not is_renewal else ():
        try:
            check_known(call, one, session)
            requested.append(one)
        except ApiError as error:
            reading.unknown[one] = failed(one, error)
    if not requested:
        return respond(call, reading, {})
    if request.share_acquire_mode not in ACQUIRE_MODES:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"share acquire mode {request.share_acquire_mode}")
    start = epoch % len(requested) if epoch > FIRST_EPOCH else 0  # each request of a session starts at the next one
    return read(call, reading, requested[start:] + requested[:start])


def open_session(
    call: Call,
    request: ShareFetchRequest,
    key: tuple[str, str],
    named: Collection[TopicIndex],
    *,
    acknowledges: bool,
) -> tuple[ShareSession | None, Collection[TopicIndex]]:
    """The session that continues (None for a first or final request), and the partitions to fetch from.

    Raises ApiError: INVALID_REQUEST, SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED.
    """
    sessions = share_of(call.cluster).sessions_of(call.broker.id)
    topics = call.cluster.topic_by_id
    if request.share_session_epoch == FINAL_EPOCH:
        sessions.find(key)
        return None, ()
    if request.share_session_epoch == FIRST_EPOCH:
        if acknowledges:
            raise ApiError(ErrorCode.INVALID_REQUEST, "expected no acknowledgements in the first request of a session")
        sessions.open(key, named, call.session.connection, topics)
        return None, named
    session = sessions.resume(key, request.share_session_epoch)
    session.update(named, forgotten(request), topics)
    return session, session.partitions


def check_known(call: Call, one: TopicIndex, session: ShareSession | None) -> None:
    """Raises ApiError: UNKNOWN_TOPIC_ID or UNKNOWN_TOPIC_OR_PARTITION unless the partition exists."""
    if session is not None and one in session.unknown:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
    if session is not None and one[0] not in call.cluster.topic_by_id:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the topic was deleted")
    find_partition(call, *one)


@handles(ShareAcknowledgeRequest, access=Needs(group="Read", topic="Read"), errors=OF_SESSIONS)
def share_acknowledge(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    """Apply the acknowledgements of a member."""
    check_enabled(call)
    group_id, member_id = member = check_member(request.group_id, request.member_id)
    share = share_of(call.cluster)
    sessions = share.sessions_of(call.broker.id)
    epoch = request.share_session_epoch
    if epoch == FIRST_EPOCH:
        raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH, "expected the epoch of a session that runs, got 0")
    if epoch == FINAL_EPOCH:
        sessions.find(member)
    else:
        sessions.resume(member, epoch)
    named = acknowledgements_of(request.topics)
    outcomes = take_acknowledgements(call, group_id, member_id, named, is_renewal=request.is_renew_ack)
    if epoch == FINAL_EPOCH:
        share.end_session(call.broker.id, member)
    entries = {
        one: ShareAcknowledgeResponse.Topic.Partition(
            partition_index=one[1],
            error_code=outcome.code,
            error_message=None if outcome is FINE else outcome.message,
        )
        for one, outcome in outcomes.items()
    }
    return answered(call, ShareAcknowledgeResponse, group_id, entries)
