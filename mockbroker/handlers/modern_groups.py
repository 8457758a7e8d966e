"""Common parts of the APIs of groups whose coordinator assigns: of the consumer, share and streams protocols.

Reads cluster.groups.
Errors: UNSUPPORTED_VERSION if the cluster does not support the protocol; per described group INVALID_GROUP_ID,
NOT_COORDINATOR, GROUP_ID_NOT_FOUND. The last has a message; for share groups the errors of coordinators have one too.
Source: KIP-848, KIP-932, KIP-1071; KafkaApis and GroupCoordinatorService, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from mockbroker.api import Needs
from mockbroker.call import Call
from mockbroker.groups.modern.group import ModernGroup
from mockbroker.handlers.error_responses import reported
from mockbroker.handlers.find_coordinator import check_group
from mockbroker.state.errors import ApiError
from mockbroker.state.features import feature_level
from mockbroker.state.security.operations import Operation, ResourceType
from protocol.error_codes import ErrorCode

OF_DESCRIBE = Needs(
    group="Describe", topic="Describe", note="without Describe on a topic of the group: TOPIC_AUTHORIZATION_FAILED"
)
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."
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


def described_groups(
    call: Call,
    request: Any,
    kind: type[SomeGroup],
    entry_class: type[Any],
    described_member: Callable[[SomeGroup, Any], Any],
    *,
    complete: Callable[[SomeGroup, Any], None] = lambda _group, _entry: None,
    in_words: bool = False,
) -> list[Any]:
    """One entry per group with its members by id, in the request's order. The client must see all of a group's topics.

    Args:
        complete: sets what only one kind has.
        in_words: NOT_COORDINATOR has a message.
    """
    entries, may_see = [], partial(call.access.may_topic, Operation.DESCRIBE)
    for group_id in request.group_ids:
        entry = entry_class(group_id=group_id)
        with reported(entry):
            check_group(call, group_id, in_words=in_words)
            group = call.cluster.groups.get_as(kind, group_id)
            found = entry_class(
                group_id=group_id,
                group_state=group.state_name,
                group_epoch=group.epoch,
                assignment_epoch=group.assignment_epoch,
                assignor_name=group.assignor_name,
                members=[described_member(group, member) for _, member in sorted(group.members.items())],
            )
            if request.include_authorized_operations:
                found.authorized_operations = call.access.permitted(ResourceType.GROUP, group_id)
            complete(group, found)
            if not all(map(may_see, topics_of(found))):
                raise ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, HIDDEN_TOPICS)
            entry = found
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
    topics, entry = group.groups.topics, kind.TopicPartitions
    return kind(
        topic_partitions=[
            entry(topic_id=topics.by_name[name].id, topic_name=name, partitions=numbers)
            for name, numbers in topics.numbers_by_name(partitions).items()
        ]
    )
