"""Removes members from a consumer group, on their request or after a missed deadline.

Source: GroupMetadataManager.consumerGroupLeave and consumerGroupFenceMembers, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.groups.consumer import records
from mockbroker.state.groups.consumer.group import ConsumerGroup, add
from mockbroker.state.groups.consumer.members import ConsumerMember
from mockbroker.state.groups.modern.members import STATIC_LEAVE_EPOCH
from mockbroker.state.groups.modern.subscriptions import count_matches, count_names


def leave(group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int, now_ms: int) -> None:
    """Remove a member that leaves (epoch -1), or mark a static one as temporarily absent (-2).

    Raises ApiError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    if instance_id is None:
        fence(group, [group.member(member_id)], now_ms)
        return
    member = group.check_static_member(member_id, instance_id)
    if epoch != STATIC_LEAVE_EPOCH:
        fence(group, [member], now_ms)
        return
    away = replace(
        member,
        epoch=STATIC_LEAVE_EPOCH,
        pending_revocation={},
        assigned={topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in member.assigned.items()},
    )
    group.write([records.member_assignment(group.id, away)])


def fence(group: ConsumerGroup, members: Sequence[ConsumerMember], now_ms: int) -> None:
    """Remove members. If only members of the classic protocol remain, the group becomes a classic one."""
    if not members:
        return
    from mockbroker.state.groups.consumer import migration

    if migration.may_downgrade_without(group, members):
        migration.downgrade(group, now_ms, leaving={member.id for member in members}, rebalance=True)
        return
    gone: list[CoordinatorRecord] = []
    counts = dict(group.counts)
    subscribers: dict[str, int] = {}
    for member in members:
        gone += records.no_member(group.id, member.id)
        count_names(counts, member.topics, -1)
        if member.expression:
            add(subscribers, member.expression, 1)
    for text, count in subscribers.items():
        if group.expressions.get(text) == count:
            gone.append(records.no_expression(group.id, text))
            if text in group.resolved:
                count_matches(counts, group.resolved[text].topics, -1)
    epoch = group.epoch + 1
    gone.append(records.group_epoch(group.id, epoch, group.groups.topics.hash_of(counts)))
    if len(group.members) == len(members) and group.groups.rules.empty_groups_are_assigned:
        gone.append(records.target_epoch(group.id, epoch, 0))
    for member in members:
        group.cancel_timers_of(member.id)
    group.write(gone)
