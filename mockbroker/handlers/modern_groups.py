"""Common parts of the APIs of groups whose coordinator assigns: of the consumer, share and streams protocols.

Reads cluster.groups.
Errors: UNSUPPORTED_VERSION if the cluster does not support the protocol; per described group INVALID_GROUP_ID,
NOT_COORDINATOR, GROUP_ID_NOT_FOUND. The last has a message; for share groups the errors of coordinators have one too.
Source: KIP-848, KIP-932, KIP-1071; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar, cast

from mockbroker.api import Needs
from mockbroker.call import Call
from mockbroker.groups.modern.group import ModernGroup
from mockbroker.groups.modern.members import grouped
from mockbroker.handlers.error_responses import request_error
from mockbroker.handlers.find_coordinator import check_coordinator, check_group
from mockbroker.state.errors import ApiError
from mockbroker.state.features import feature_level
from mockbroker.state.security.operations import Operation, ResourceType
from protocol.error_codes import ErrorCode

OF_DESCRIBE = Needs(
    group="Describe", topic="Describe", note="without Describe on a topic of the group: TOPIC_AUTHORIZATION_FAILED"
)
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."
Response = TypeVar("Response")
SomeGroup = TypeVar("SomeGroup", bound=ModernGroup[Any])


def check_protocol(call: Call, feature: str, protocol: str) -> None:
    """Raises ApiError: UNSUPPORTED_VERSION, if the cluster does not support this protocol."""
    protocols = call.cluster.configs.broker(None, "group.coordinator.rebalance.protocols")
    if feature_level(call.cluster, feature) < 1 or protocol not in protocols:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION)


def check_may_see(call: Call, names: Iterable[str] | None) -> None:
    """Raises ApiError: TOPIC_AUTHORIZATION_FAILED, unless the client may describe these topics."""
    may_see = partial(call.access.may_topic, Operation.DESCRIBE)
    if not all(map(may_see, names or ())):
        raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def answered_heartbeat(
    call: Call, request: Any, response: type[Response], check: Callable[[], None], take: Callable[[], Response]
) -> Response:
    """The response that ``take`` makes of a heartbeat that ``check`` accepts, or an error with its message."""
    make: Any = response
    try:
        check_may_see(call, getattr(request, "subscribed_topic_names", None))
        check()
        check_coordinator(call, request.group_id)
        return take()
    except ApiError as error:
        message = None if error.code == ErrorCode.NOT_COORDINATOR else request_error(error).message
        return cast("Response", make(error_code=error.code, error_message=message))


def described_groups(
    call: Call,
    request: Any,
    kind: type[SomeGroup],
    entry_class: type[Any],
    described_member: Callable[[SomeGroup, Any], Any],
    *,
    complete: Callable[[SomeGroup, Any], None] | None = None,
    errors_with_message: Collection[int] = (ErrorCode.GROUP_ID_NOT_FOUND,),
) -> list[Any]:
    """One entry per group with its members by id, in the request's order; ``complete`` sets what only one kind has.

    The client must see all of a group's topics.
    """
    entries, may_see = [], partial(call.access.may_topic, Operation.DESCRIBE)
    for group_id in request.group_ids:
        try:
            check_group(call, group_id)
            group = call.cluster.groups.get_as(kind, group_id)
        except ApiError as error:
            message = error.message if error.code in errors_with_message else None
            entries.append(entry_class(group_id=group_id, error_code=error.code, error_message=message))
            continue
        entry = entry_class(
            group_id=group_id,
            group_state=group.state_name,
            group_epoch=group.epoch,
            assignment_epoch=group.assignment_epoch,
            assignor_name=group.assignor_name,
            members=[described_member(group, member) for _, member in sorted(group.members.items())],
        )
        if request.include_authorized_operations:
            entry.authorized_operations = call.access.permitted(ResourceType.GROUP, group_id)
        if complete is not None:
            complete(group, entry)
        if not all(map(may_see, topics_of(entry))):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            entry = entry_class(group_id=group_id, error_code=code, error_message=HIDDEN_TOPICS)
        entries.append(entry)
    return entries


def topics_of(group: Any) -> Iterator[str]:
    """The topics of a described group: those of its topology, or of its members' assignments."""
    if hasattr(group, "topology"):
        for one in group.topology.subtopologies if group.topology is not None else ():
            yield from (*one.source_topics, *one.repartition_sink_topics)
            yield from (topic.name for topic in (*one.state_changelog_topics, *one.repartition_source_topics))
        return
    for member in group.members:
        for assignment in (member.assignment, getattr(member, "target_assignment", None)):
            yield from (topic.topic_name for topic in (assignment.topic_partitions if assignment is not None else ()))


def described_partitions(group: ModernGroup[Any], partitions: Iterable[tuple[bytes, int]], kind: type[Any]) -> Any:
    """The partitions of existing topics, by topic name, as an assignment of this class."""
    named = sorted(
        (name, topic_id, sorted(numbers))
        for topic_id, numbers in grouped(partitions).items()
        if (name := group.groups.topics.name_of(topic_id)) is not None
    )
    entry = kind.TopicPartitions
    return kind(
        topic_partitions=[
            entry(topic_id=topic_id, topic_name=name, partitions=numbers) for name, topic_id, numbers in named
        ]
    )
