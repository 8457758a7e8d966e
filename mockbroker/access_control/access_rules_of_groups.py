"""Rules for the APIs of groups that need several operations: one function per API, as in ``access_rules.py``.

Source: KafkaApis, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mockbroker.access_control.access_checks import (
    CLUSTER_FAILED,
    GROUP_FAILED,
    ID_FAILED,
    TOPIC_FAILED,
    amend,
    check_cluster,
    check_groups,
    check_topics,
    denied_topics,
    refuse_all,
    response_class,
    split,
)
from mockbroker.access_control.authorizer import PrincipalAccess
from mockbroker.call import Call, Verdict, Wait
from mockbroker.core.faults.errors import hand_over
from mockbroker.state.errors import ApiError
from mockbroker.state.security.operations import CLUSTER_ACTION, DELETE, DESCRIBE, GROUP, READ, TRANSACTIONAL_ID
from mockbroker.state.topics.topic import INTERNAL_TOPICS, check_topic_name
from mockbroker.subjects import subjects_of, topic_name
from protocol.uuids import ZERO_UUID

Rule = Callable[[Call, PrincipalAccess], "Verdict | Wait | None"]

SHARE_KEY_VERSION = 6  # of FindCoordinator
COORDINATORS_VERSION = 4  # of FindCoordinator
GROUP_KEY, TRANSACTION_KEY, SHARE_KEY = 0, 1, 2
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def offset_fetch(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    verdict = check_groups(call, access, DESCRIBE)
    if verdict is None:
        verdict = check_topics(call, access, DESCRIBE)
    groups = call.request.groups or (call.request,)
    whole = {group.group_id for group in groups if group.topics is None}
    if whole and verdict is None:

        def keep(response: Any) -> None:
            for group in response.groups or (response,):
                if not response.groups or group.group_id in whole:
                    group.topics = [one for one in group.topics if access.may_topic(DESCRIBE, topic_name(call, one))]

        amend(call, keep)
    return verdict


def find_coordinator(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    request = call.request
    if request.key_type == SHARE_KEY:
        return check_cluster(call, access, CLUSTER_ACTION) if call.version >= SHARE_KEY_VERSION else None
    if request.key_type == GROUP_KEY:
        kind, code = GROUP, GROUP_FAILED
    elif request.key_type == TRANSACTION_KEY:
        kind, code = TRANSACTIONAL_ID, ID_FAILED
    else:
        return None
    if call.version < COORDINATORS_VERSION:
        return None if access.may(DESCRIBE, kind, request.key) else refuse_all(call, code)
    keys = request.coordinator_keys
    rest = [key for key in keys if access.may(DESCRIBE, kind, key)]
    entry = response_class(call).Coordinator
    failed = [
        entry(key=key, node_id=-1, host="", port=-1, error_code=code, error_message="")
        for key in keys
        if key not in rest
    ]
    return split(call, "coordinator_keys", rest, failed, "coordinators")


def list_groups(call: Call, access: PrincipalAccess) -> None:
    def keep(response: Any) -> None:
        response.groups = [one for one in response.groups if access.may(DESCRIBE, GROUP, one.group_id)]

    if not access.may_cluster(DESCRIBE):
        amend(call, keep)


def heartbeat(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """ConsumerGroupHeartbeat, ShareGroupHeartbeat: refused if the member subscribes to an unauthorized topic."""
    verdict = check_groups(call, access, READ)
    names = call.request.subscribed_topic_names or ()
    if verdict is None and denied_topics(access, DESCRIBE, names):
        return refuse_all(call, TOPIC_FAILED)
    return verdict


def described_groups(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe: the client must see all of a group's topics."""

    def hide(response: Any) -> None:
        entry = response.Group
        response.groups = [
            entry(group_id=one.group_id, error_code=TOPIC_FAILED, error_message=HIDDEN_TOPICS)
            if denied_topics(access, DESCRIBE, set(topics_of(one)))
            else one
            for one in response.groups
        ]

    amend(call, hide)
    return check_groups(call, access, DESCRIBE)


def topics_of(group: Any) -> Iterator[str]:
    """The topics of a described group: those of its topology, or of its members' assignments."""
    topology = getattr(group, "topology", None)
    for one in topology.subtopologies if topology is not None else ():
        yield from (*one.source_topics, *one.repartition_sink_topics)
        yield from (topic.name for topic in (*one.state_changelog_topics, *one.repartition_source_topics))
    if hasattr(group, "topology"):
        return
    for member in group.members:
        for held in (member.assignment, getattr(member, "target_assignment", None)):
            yield from (topic.topic_name for topic in (held.topic_partitions if held is not None else ()))


def described_share_offsets(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """Unauthorized topics get an error if the request names them, and are omitted if it requests all topics."""
    entry = response_class(call).Group
    asked = {group.group_id: group.topics for group in call.request.groups}

    def hide(response: Any) -> None:
        for place, group in enumerate(response.groups):
            if not access.may(DESCRIBE, GROUP, group.group_id):
                response.groups[place] = entry(group_id=group.group_id, error_code=GROUP_FAILED)
            elif not group.error_code:
                whole = asked.get(group.group_id) is None
                shown = [one for one in group.topics if access.may_topic(DESCRIBE, one.topic_name)]
                hidden = [one for one in group.topics if not whole and one not in shown]
                group.topics = [*shown, *map(hidden_offsets, hidden)]

    amend(call, hide)
    return None


def hidden_offsets(topic: Any) -> Any:
    """The entry of a topic whose offsets the client may not see."""
    for one in topic.partitions:
        one.start_offset, one.leader_epoch = 0, 0
        one.error_code, one.error_message = TOPIC_FAILED, TOPIC_FAILED.meaning
        if hasattr(one, "lag"):
            one.lag = -1
    topic.topic_id = ZERO_UUID
    return topic


def altered_share_offsets(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    return changed_share_offsets(call, access, READ)


def deleted_share_offsets(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    return changed_share_offsets(call, access, DELETE)


def changed_share_offsets(call: Call, access: PrincipalAccess, of_group: int) -> Verdict | Wait | None:
    """Needs Read on each topic, and ``of_group`` on the group; requests with partitions get errors per partition."""
    verdict = check_groups(call, access, of_group)
    if verdict is not None:
        return verdict
    entry = response_class(call).Topic
    words = {"error_code": TOPIC_FAILED, "error_message": TOPIC_FAILED.meaning}
    rest: list[Any] = []
    failed: list[Any] = []
    for topic in call.request.topics:
        if access.may_topic(READ, topic.topic_name):
            rest.append(topic)
        elif hasattr(topic, "partitions"):
            partitions = [entry.Partition(partition_index=one.partition_index, **words) for one in topic.partitions]
            failed.append(entry(topic_name=topic.topic_name, partitions=partitions))
        else:
            failed.append(entry(topic_name=topic.topic_name, **words))
    return merged(call, rest, failed, "responses")


def offset_delete(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    verdict = check_groups(call, access, DELETE)
    if verdict is not None:
        return verdict
    entry = response_class(call).Topic
    rest: list[Any] = []
    failed: list[Any] = []
    for topic in call.request.topics:
        if access.may_topic(READ, topic.name):
            rest.append(topic)
            continue
        partitions = [
            entry.Partition(partition_index=one.partition_index, error_code=TOPIC_FAILED) for one in topic.partitions
        ]
        failed.append(entry(name=topic.name, partitions=partitions))
    return merged(call, rest, failed, "topics")


def merged(call: Call, rest: list[Any], failed: list[Any], answers: str) -> Verdict | Wait | None:
    """Pass the rest of the topics to the handler, even if empty; its top-level error suppresses the failed entries."""
    if not failed:
        return None

    def put(response: Any) -> None:
        if not response.error_code:
            getattr(response, answers).extend(failed)

    hand_over(call, "topics", rest)
    amend(call, put)
    return None


def share_state(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    """The requests of brokers to share coordinators."""
    if access.may_cluster(CLUSTER_ACTION):
        return None
    verdict = refuse_all(call, CLUSTER_FAILED)
    assert isinstance(verdict, Verdict)
    for topic in verdict.response.results:
        for one in topic.partitions:
            one.error_message = CLUSTER_FAILED.meaning
    return verdict


def is_legal(name: str) -> bool:
    try:
        check_topic_name(name)
    except ApiError:
        return False
    return True


def streams_heartbeat(call: Call, access: PrincipalAccess) -> Verdict | Wait | None:
    verdict = check_groups(call, access, READ)
    names = subjects_of(call).topics
    if verdict is None and not any(name in INTERNAL_TOPICS or not is_legal(name) for name in names):
        verdict = check_topics(call, access, DESCRIBE)
    return verdict


RULES_OF_GROUPS: dict[int, Rule] = {
    9: offset_fetch,
    10: find_coordinator,
    16: list_groups,
    47: offset_delete,
    68: heartbeat,
    69: described_groups,
    76: heartbeat,
    77: described_groups,
    83: share_state,
    84: share_state,
    85: share_state,
    86: share_state,
    87: share_state,
    88: streams_heartbeat,
    89: described_groups,
    90: described_share_offsets,
    91: altered_share_offsets,
    92: deleted_share_offsets,
}
"""By API key."""
