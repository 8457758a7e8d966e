"""Expires offsets that are too old, and groups without members and offsets.

Kafka checks every ``offsets.retention.check.interval.ms``; so does this module, and when the wall clock has jumped.

Source: GroupCoordinatorShard.cleanupGroupMetadata and OffsetMetadataManager.cleanupExpiredOffsets, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from mockbroker.groups.offsets import deletions
from mockbroker.state.coordinator_shard import NEVER
from mockbroker.state.errors import ApiError

if TYPE_CHECKING:
    from mockbroker.groups.coordinator import AnyGroup, Groups
    from protocol.embedded.group_log import OffsetCommitValue

MINUTE_MS = 60_000


def expire(groups: Groups, now_ms: int) -> None:
    """Delete offsets that are too old and whose topics the group does not read, and groups that have nothing left."""
    retention_ms = int(groups.config("offsets.retention.minutes")) * MINUTE_MS
    wall_ms = groups.clock.at(now_ms)
    for group in groups.select():
        if (
            expire_offsets(groups, group, wall_ms, retention_ms)
            and group.expires_without_offsets
            and not group.member_count
        ):
            groups.remove(group)


def expire_offsets(groups: Groups, group: AnyGroup, wall_ms: int, retention_ms: int) -> bool:
    """Delete a group's offsets that are too old; returns True if none is left, nor pending in a transaction."""
    offsets = groups.offsets(group.id)
    known = offsets.all_partitions()
    committed = offsets.committed()
    if committed:
        read = topics_read(group)
        old = [
            (topic, index)
            for (topic, index), value in sorted(committed.items())
            if read is not None
            and topic not in read
            and is_over(group, value, wall_ms, retention_ms)
            and not offsets.is_unstable((topic, index))
        ]
        groups.write(group.id, deletions(group.id, old))
        return len(old) == len(known)
    return not known


def is_over(group: AnyGroup, value: OffsetCommitValue, wall_ms: int, retention_ms: int) -> bool:
    """True if an offset is too old to retain: by the expiry time of its commit, else by the broker's retention."""
    begun_ms = group.retention_begun_ms(value.commit_timestamp)
    if begun_ms is None:
        return False
    return wall_ms >= (begun_ms + retention_ms if value.expire_timestamp == NEVER else value.expire_timestamp)


def topics_read(group: AnyGroup) -> Collection[str] | None:
    """The topics that members read, None if they are not consumers or their subscriptions cannot be read."""
    try:
        return group.subscribed_topics()
    except ApiError:
        return None
