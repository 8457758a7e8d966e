"""Share partition states, as recorded in ``__share_group_state``.

Source: ShareCoordinatorShard.replay, PersisterStateBatchCombiner, SharePartitionKey and ShareGroupOffset, Apache Kafka
4.4.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from mockbroker.state.errors import ApiError
from protocol.embedded.share_state_log import ShareSnapshotValue, ShareUpdateValue, StateBatch
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.share_groups.state.coordinator import ShareCoordinator
    from mockbroker.share_groups.state.share_partitions import SharePartitions
    from mockbroker.state.cluster import Cluster

SHARE_TOPIC = "__share_group_state"
COORDINATOR_KEY = re.compile(
    r"(?P<group>.*):(?P<topic>[A-Za-z0-9_-]{22})(?:==)?:(?P<partition>[-+]?\d{1,4000})", re.DOTALL
)
NOT_HOSTED = "This server does not host this topic-partition."
NO_OFFSET = -1
NO_EPOCH = -1
NO_COUNT = -1


class SharePartitionKey(NamedTuple):
    """Identifies a share partition: a group's view of one partition of a topic."""

    group_id: str
    topic_id: bytes
    partition: int


def share_partition_of(key: Any) -> SharePartitionKey:
    """The share partition that the key of a record is about."""
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)


def coordinator_key(key: SharePartitionKey) -> str:
    """The key of a share partition in FindCoordinator requests.

    >>> coordinator_key(SharePartitionKey("workers", bytes(16), 2))
    'workers:AAAAAAAAAAAAAAAAAAAAAA:2'
    """
    return f"{key.group_id}:{urlsafe_b64encode(key.topic_id).decode().rstrip('=')}:{key.partition}"


def read_coordinator_key(key: str) -> str:
    """A client's key in the form of ``coordinator_key``. Raises ApiError: INVALID_REQUEST.

    >>> read_coordinator_key("workers:AAAAAAAAAAAAAAAAAAAAAA==:+2")
    'workers:AAAAAAAAAAAAAAAAAAAAAA:2'
    """
    found = COORDINATOR_KEY.fullmatch(key)
    if found is None or not found["group"].strip() or not -(1 << 31) <= int(found["partition"]) < 1 << 31:
        raise ApiError(ErrorCode.INVALID_REQUEST)
    return f"{found['group']}:{found['topic']}:{int(found['partition'])}"


@dataclass(slots=True, frozen=True)
class ShareState:
    """The persisted state of a share partition: its last snapshot with the updates since.

    ``updates`` counts towards the next snapshot: as in Kafka, one written for another reason does not reset the count.
    Leaders and groups with older epochs than ``newest_leader_epoch`` and ``newest_state_epoch`` are fenced, even after
    reinitialization.
    """

    value: ShareSnapshotValue
    updates: int = 0
    newest_leader_epoch: int = 0
    newest_state_epoch: int = 0


def share_of(cluster: Cluster) -> SharePartitions:
    """The share partitions that run, with their coordinators."""
    found: SharePartitions = cluster.extension("share")
    return found


def share_coordinator(cluster: Cluster) -> ShareCoordinator:
    """The cluster's share coordinators, which follow the logs of ``__share_group_state``."""
    return share_of(cluster).coordinator


def after_snapshot(before: ShareState | None, value: ShareSnapshotValue, max_updates: int) -> ShareState:
    """The state after a snapshot, which is due after ``max_updates`` updates."""
    known = before or ShareState(value)
    return ShareState(
        value,
        0 if known.updates >= max_updates else known.updates,
        max(value.leader_epoch, known.newest_leader_epoch),
        max(value.state_epoch, known.newest_state_epoch),
    )


def after_update(before: ShareState | None, update: ShareUpdateValue) -> ShareState:
    if before is None:  # in a log whose beginning is deleted: a snapshot comes later
        value = ShareSnapshotValue(
            snapshot_epoch=update.snapshot_epoch, leader_epoch=NO_EPOCH, start_offset=update.start_offset
        )
        before = ShareState(value)
    known: Any = before.value
    start_offset = known.start_offset if update.start_offset == NO_OFFSET else update.start_offset
    value = structs.replace(
        known,
        leader_epoch=known.leader_epoch if update.leader_epoch == NO_EPOCH else update.leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=update.delivery_complete_count,
        state_batches=combined([*known.state_batches, *update.state_batches], start_offset),
    )
    newest_leader_epoch = max(update.leader_epoch, before.newest_leader_epoch)
    return ShareState(value, before.updates + 1, newest_leader_epoch, before.newest_state_epoch)


def combined(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Merges batches that may overlap into disjoint ones, without offsets before the start.

    Of several batches with an offset, the one with the most deliveries wins; among equals, the higher state.

    >>> found = combined([state_batch(0, 9, 0, 1), state_batch(3, 4, 2, 1), state_batch(5, 5, 2, 1)], 2)
    >>> [structs.astuple(one)[:4] for one in found]
    [(2, 2, 0, 1), (3, 5, 2, 1), (6, 9, 0, 1)]
    """
    pruned = [
        state_batch(max(one.first_offset, start_offset), one.last_offset, one.delivery_state, one.delivery_count)
        for one in batches
        if start_offset == NO_OFFSET or one.last_offset >= start_offset
    ]
    if len(pruned) < 2:
        return pruned
    changes: dict[int, list[tuple[int, tuple[int, int]]]] = {}  # by offset: +1 or -1 batch of this count and state
    for one in pruned:
        priority = (one.delivery_count, one.delivery_state)
        changes.setdefault(one.first_offset, []).append((1, priority))
        changes.setdefault(one.last_offset + 1, []).append((-1, priority))
    result: list[StateBatch] = []
    open_batches: Counter[tuple[int, int]] = Counter()
    for offset, end in pairwise(sorted(changes)):
        for change, priority in changes[offset]:
            open_batches[priority] += change
        count, state = max(+open_batches, default=(NO_COUNT, 0))
        last = result[-1] if result else None
        if last is not None and (last.last_offset + 1, last.delivery_count, last.delivery_state) == (
            offset,
            count,
            state,
        ):
            last.last_offset = end - 1
        elif count != NO_COUNT:
            result.append(state_batch(offset, end - 1, state, count))
    return result


def state_batch(first_offset: int, last_offset: int, state: int, delivery_count: int) -> StateBatch:
    """The delivery state of a range of records, both offsets inclusive."""
    return StateBatch(
        first_offset=first_offset, last_offset=last_offset, delivery_state=state, delivery_count=delivery_count
    )
