"""Rows of ``memberships``: who joins with what and who gets what, in all group protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_rack.wire_capture.bodies import asked_message
from kafka_rack.wire_capture.frames import Frame, PendingRequest
from kafka_rack.wire_tables.rows import Target
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned
from protocol.errors import ProtocolError
from protocol.uuids import uuid_to_text

JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP = 11, 13, 14
CONSUMER_HEARTBEAT, SHARE_HEARTBEAT, STREAMS_HEARTBEAT = 68, 76, 88
CONSUMER = "consumer"
Parts = list[dict[str, Any]]


def add(
    target: Target,
    frame: Frame,
    asked: PendingRequest,
    event: str,
    protocol: str,
    *,
    error_code: int | None = None,
    error: str | None = None,
    **values: Any,
) -> None:
    """One row; what is not given is null."""
    given = values.get
    target.rows.add(
        "memberships",
        asked.kind.api_name,
        (
            target.place(frame.connection),
            target.kind(asked.kind),
            frame.ts,
            event,
            protocol,
            given("group_id"),
            given("member_id"),
            given("instance_id"),
            given("assignor"),
            given("generation"),
            given("rack_id"),
            given("topics"),
            given("assignment"),
            given("leader"),
            error_code,
            frame.index,
            error,
        ),
    )


def subscription(data: bytes, protocol_type: str | None) -> dict[str, Any]:
    """The columns of a member's metadata, if it is a consumer's."""
    if protocol_type not in (CONSUMER, None) or not data:
        return {}
    try:
        found = read_versioned(ConsumerProtocolSubscription, data)
    except ProtocolError as error:
        return {"error": str(error)}
    owned = [part(topic.topic, None, topic.partitions) for topic in found.owned_partitions]
    return {"topics": list(found.topics), "rack_id": found.rack_id, "assignment": owned}


def assignment(data: bytes, protocol_type: str | None) -> dict[str, Any]:
    """The columns of a classic assignment, if it is a consumer's."""
    if protocol_type not in (CONSUMER, None):
        return {}
    if not data:
        return {"assignment": []}
    try:
        found = read_versioned(ConsumerProtocolAssignment, data)
    except ProtocolError as error:
        return {"error": str(error)}
    return {"assignment": [part(topic.topic, None, topic.partitions) for topic in found.assigned_partitions]}


def part(topic: str | None, topic_id: str | None, partitions: list[int]) -> dict[str, Any]:
    return {"topic": topic, "topic_id": topic_id, "partitions": list(partitions)}


def parts_by_id(target: Target, topics: Any) -> Parts | None:
    if topics is None:
        return None
    known = target.known.topics
    return [part(known.get(topic.topic_id), uuid_to_text(topic.topic_id), topic.partitions) for topic in topics]


def join(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    for protocol in message.protocols:
        add(
            target,
            frame,
            asked,
            "join",
            "classic",
            group_id=message.group_id,
            member_id=message.member_id,
            instance_id=message.group_instance_id,
            assignor=protocol.name,
            **subscription(protocol.metadata, message.protocol_type),
        )


def joined(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    request = asked_message(asked)
    common = {
        "group_id": request.group_id if request is not None else None,
        "assignor": message.protocol_name,
        "generation": message.generation_id,
        "error_code": message.error_code,
    }
    protocol_type = request.protocol_type if request is not None else message.protocol_type
    instance_id = request.group_instance_id if request is not None else None
    leads = message.leader == message.member_id and message.error_code == 0
    add(
        target,
        frame,
        asked,
        "joined",
        "classic",
        member_id=message.member_id,
        instance_id=instance_id,
        leader=leads,
        **common,
    )
    for member in message.members:
        add(
            target,
            frame,
            asked,
            "member",
            "classic",
            member_id=member.member_id,
            instance_id=member.group_instance_id,
            leader=member.member_id == message.leader,
            **common,
            **subscription(member.metadata, protocol_type),
        )


def assign(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    for one in message.assignments:
        add(
            target,
            frame,
            asked,
            "assign",
            "classic",
            group_id=message.group_id,
            member_id=one.member_id,
            generation=message.generation_id,
            assignor=message.protocol_name,
            **assignment(one.assignment, message.protocol_type),
        )


def assigned(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    request = asked_message(asked)
    add(
        target,
        frame,
        asked,
        "assigned",
        "classic",
        group_id=request.group_id if request is not None else None,
        member_id=request.member_id if request is not None else None,
        instance_id=request.group_instance_id if request is not None else None,
        generation=request.generation_id if request is not None else None,
        assignor=message.protocol_name,
        error_code=message.error_code,
        **assignment(message.assignment, message.protocol_type),
    )


def leave(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    members = [(one.member_id, one.group_instance_id) for one in message.members] or [(message.member_id, None)]
    for member_id, instance_id in members:
        add(
            target,
            frame,
            asked,
            "leave",
            "classic",
            group_id=message.group_id,
            member_id=member_id,
            instance_id=instance_id,
        )


def heartbeat(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    protocol = PROTOCOLS[asked.kind.api_key]
    owned = getattr(message, "topic_partitions", None)
    topics = getattr(message, "subscribed_topic_names", None)
    add(
        target,
        frame,
        asked,
        "leave" if message.member_epoch < 0 else "heartbeat",
        protocol,
        group_id=message.group_id,
        member_id=message.member_id,
        instance_id=getattr(message, "instance_id", None),
        assignor=getattr(message, "server_assignor", None),
        generation=message.member_epoch,
        rack_id=message.rack_id,
        topics=list(topics) if topics is not None else None,
        assignment=parts_by_id(target, owned),
    )


def answered(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    request = asked_message(asked)
    given = getattr(message, "assignment", None)
    add(
        target,
        frame,
        asked,
        "answered",
        PROTOCOLS[asked.kind.api_key],
        group_id=request.group_id if request is not None else None,
        member_id=message.member_id or (request.member_id if request is not None else None),
        generation=message.member_epoch,
        assignment=parts_by_id(target, given.topic_partitions) if given is not None else None,
        error_code=message.error_code,
    )


PROTOCOLS = {CONSUMER_HEARTBEAT: "consumer", SHARE_HEARTBEAT: "share", STREAMS_HEARTBEAT: "streams"}
REQUESTS: dict[int, Callable[[Target, Frame, PendingRequest, Any], None]] = {
    JOIN_GROUP: join,
    LEAVE_GROUP: leave,
    SYNC_GROUP: assign,
    CONSUMER_HEARTBEAT: heartbeat,
    SHARE_HEARTBEAT: heartbeat,
    STREAMS_HEARTBEAT: heartbeat,
}
RESPONSES: dict[int, Callable[[Target, Frame, PendingRequest, Any], None]] = {
    JOIN_GROUP: joined,
    SYNC_GROUP: assigned,
    CONSUMER_HEARTBEAT: answered,
    SHARE_HEARTBEAT: answered,
    STREAMS_HEARTBEAT: answered,
}
