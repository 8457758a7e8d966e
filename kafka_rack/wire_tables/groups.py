"""Rows of ``memberships``: subscriptions and assignments of members, in all group protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from kafka_rack.wire_capture.bodies import asked_message
from kafka_rack.wire_capture.frames import Frame, PendingRequest
from kafka_rack.wire_tables.rows import ROWS, Target
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned
from protocol.errors import ProtocolError
from protocol.uuids import uuid_to_text

JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP = 11, 13, 14
CONSUMER_HEARTBEAT, SHARE_HEARTBEAT, STREAMS_HEARTBEAT = 68, 76, 88
CONSUMER = "consumer"
RowMaker = Callable[[Target, Frame, PendingRequest, Any], None]
Parts = list[dict[str, Any]]
Event = tuple[str, dict[str, Any]]
"""The event of a row, and its other columns by name; those that are missing are null."""
FIELDS = {
    "group_id": ("group_id",),
    "member_id": ("member_id",),
    "instance_id": ("group_instance_id", "instance_id"),
    "assignor": ("protocol_name", "server_assignor"),
    "generation": ("generation_id", "member_epoch"),
    "rack_id": ("rack_id",),
    "error_code": ("error_code",),
}
"""Column -> the fields of messages that it holds."""


def columns_of(message: Any) -> dict[str, Any]:
    """The columns that a message or a part of one has; none of None."""
    return {column: getattr(message, name) for column, name in fields_of(message.__class__)}


@cache
def fields_of(kind: type) -> list[tuple[str, str]]:
    """The columns that messages of a class have, and the names of their fields."""
    return [(column, name) for column, names in FIELDS.items() for name in names if hasattr(kind, name)]


def adder(protocol: str, events: Callable[[Target, PendingRequest, Any], Iterator[Event]]) -> RowMaker:
    """A function that adds the rows of the events in a message."""

    def add(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
        common = {"place": target.place(frame.connection), "kind": target.kind(asked.kind), "protocol": protocol}
        for event, columns in events(target, asked, message):
            row = {**columns, **common, "event": event, "ts": frame.ts, "frame": frame.index}
            target.rows.add("memberships", asked.kind.api_name, tuple(map(row.get, ROWS["memberships"])))

    return add


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


def join(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    for protocol in message.protocols:
        metadata = subscription(protocol.metadata, message.protocol_type)
        yield "join", {**columns_of(message), "assignor": protocol.name, **metadata}


def joined(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    request = columns_of(asked_message(asked))
    common = columns_of(message) | {"group_id": request.get("group_id")}
    leads = message.leader == message.member_id and message.error_code == 0
    yield "joined", {**common, "instance_id": request.get("instance_id"), "leader": leads}
    protocol_type = asked.message.protocol_type if request else message.protocol_type
    for member in message.members:
        metadata = subscription(member.metadata, protocol_type)
        yield "member", {**common, **columns_of(member), "leader": member.member_id == message.leader, **metadata}


def assign(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    for one in message.assignments:
        found = assignment(one.assignment, message.protocol_type)
        yield "assign", {**columns_of(message), "instance_id": None, **columns_of(one), **found}


def assigned(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    found = assignment(message.assignment, message.protocol_type)
    yield "assigned", {**columns_of(asked_message(asked)), **columns_of(message), **found}


def leave(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    for member in message.members or [None]:
        yield "leave", {**columns_of(message), **columns_of(member)}


def heartbeat(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    topics = getattr(message, "subscribed_topic_names", None)
    owned = parts_by_id(target, getattr(message, "topic_partitions", None))
    subscribed = list(topics) if topics is not None else None
    event = "leave" if message.member_epoch < 0 else "heartbeat"
    yield event, {**columns_of(message), "topics": subscribed, "assignment": owned}


def answered(target: Target, asked: PendingRequest, message: Any) -> Iterator[Event]:
    request, columns = columns_of(asked_message(asked)), columns_of(message)
    given = getattr(message, "assignment", None)
    columns |= {"group_id": request.get("group_id"), "member_id": message.member_id or request.get("member_id")}
    yield "answered", {**columns, "assignment": parts_by_id(target, given.topic_partitions) if given else None}


PROTOCOLS = {CONSUMER_HEARTBEAT: "consumer", SHARE_HEARTBEAT: "share", STREAMS_HEARTBEAT: "streams"}
REQUESTS: dict[int, RowMaker] = {
    **{
        key: adder("classic", events)
        for key, events in ((JOIN_GROUP, join), (LEAVE_GROUP, leave), (SYNC_GROUP, assign))
    },
    **{key: adder(protocol, heartbeat) for key, protocol in PROTOCOLS.items()},
}
RESPONSES: dict[int, RowMaker] = {
    **{key: adder("classic", events) for key, events in ((JOIN_GROUP, joined), (SYNC_GROUP, assigned))},
    **{key: adder(protocol, answered) for key, protocol in PROTOCOLS.items()},
}
