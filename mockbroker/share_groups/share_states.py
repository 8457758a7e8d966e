"""Share partition states, as recorded in ``__share_group_state``.

Source: ShareCoordinatorShard.replay, PersisterStateBatchCombiner, SharePartitionKey and ShareGroupOffset, Apache Kafka
4.4.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.errors import ApiError
from protocol.embedded.share_state_log import ShareSnapshotValue, ShareUpdateValue
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.share_groups.state.share_partitions import SharePartitions
    from mockbroker.state.cluster import Cluster

SHARE_TOPIC = "__share_group_state"
COORDINATOR_KEY = re.compile(
    r"(?P<group>.*):(?P<topic>[A-Za-z0-9_-]{22})(?:==)?:(?P<partition>[-+]?\d{1,4000})", re.DOTALL
)
NOT_HOSTED = "This server does not host this topic-partition."
NO_OFFSET = -1
NO_EPOCH = -1


class SharePartitionKey(NamedTuple):
    """Identifies a share partition: a group's view of one partition of a topic."""

    group_id: str
    topic_id: bytes
    partition: int


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


class StateBatch(NamedTuple):
    """Persisted state of a range of records: offsets (both inclusive), delivery state and delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


@dataclass(slots=True, frozen=True)
class ShareState:
    """The persisted state of a share partition.

    ``updates`` counts the updates since the last snapshot, whose number is ``snapshot_epoch``. Leaders and groups with
    older epochs than ``newest_leader_epoch`` and ``newest_state_epoch`` are fenced, even after reinitialization. The
    times are those of the last snapshot, in wall-clock time; a snapshot repeated because of its age has two.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    state_batches: tuple[StateBatch, ...] = ()
    updates: int = 0
    newest_leader_epoch: int = 0
    newest_state_epoch: int = 0
    create_ms: int = 0
    write_ms: int = 0


def share_of(cluster: Cluster) -> SharePartitions:
    """The share partitions that run, with their coordinators."""
    found: SharePartitions = cluster.extension("share")
    return found


def replay(states: dict[SharePartitionKey, ShareState], record: CoordinatorRecord) -> None:
    """Apply a record of ``__share_group_state`` to the states by share partition."""
    key = SharePartitionKey(record.key.group_id, record.key.topic_id, record.key.partition)
    before = states.get(key)
    if record.value is None:
        states.pop(key, None)
    elif isinstance(record.value, ShareSnapshotValue):
        states[key] = after_snapshot(before, record.value)
    else:
        states[key] = after_update(before, record.value)


def after_snapshot(before: ShareState | None, value: ShareSnapshotValue) -> ShareState:
    return ShareState(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        tuple(state_batches(value)),
        newest_leader_epoch=max(value.leader_epoch, before.newest_leader_epoch if before is not None else 0),
        newest_state_epoch=max(value.state_epoch, before.newest_state_epoch if before is not None else 0),
        create_ms=value.create_timestamp,
        write_ms=value.write_timestamp,
    )


def after_update(before: ShareState | None, value: ShareUpdateValue) -> ShareState:
    if before is None:  # in a log whose beginning is deleted: a snapshot comes later
        before = ShareState(value.snapshot_epoch, 0, NO_EPOCH, value.start_offset, value.delivery_complete_count)
    start_offset = before.start_offset if value.start_offset == NO_OFFSET else value.start_offset
    return replace(
        before,
        leader_epoch=before.leader_epoch if value.leader_epoch == NO_EPOCH else value.leader_epoch,
        start_offset=start_offset,
        delivery_complete_count=value.delivery_complete_count,
        state_batches=tuple(combined([*before.state_batches, *state_batches(value)], start_offset)),
        updates=before.updates + 1,
        newest_leader_epoch=max(value.leader_epoch, before.newest_leader_epoch),
    )


def state_batches(value: Any) -> list[StateBatch]:
    """The state batches in a record or request."""
    return [
        StateBatch(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count)
        for one in value.state_batches
    ]


def combined(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Merges batches that may overlap into disjoint ones, without offsets before the start.

    Of several batches with an offset, the one with the most deliveries wins; among equals, the higher state.

    >>> combined([StateBatch(0, 9, 0, 1), StateBatch(3, 4, 2, 1), StateBatch(5, 5, 2, 1)], 2)
    [StateBatch(first_offset=2, last_offset=2, delivery_state=0, delivery_count=1), \
StateBatch(first_offset=3, last_offset=5, delivery_state=2, delivery_count=1), \
StateBatch(first_offset=6, last_offset=9, delivery_state=0, delivery_count=1)]
    """
    pruned = [
        one._replace(first_offset=max(one.first_offset, start_offset))
        for one in batches
        if start_offset == NO_OFFSET or one.last_offset >= start_offset
    ]
    if len(pruned) < 2:
        return pruned
    changes: dict[
        int, list[tuple[int, tuple[int, int]]]
    ] = {}  # by offset: the change in the number of batches with each priority
    for one in pruned:
        priority = (one.delivery_count, one.delivery_state)
        changes.setdefault(one.first_offset, []).append((1, priority))
        changes.setdefault(one.last_offset + 1, []).append((-1, priority))
    result: list[StateBatch] = []
    open_batches: dict[tuple[int, int], int] = {}
    winner: tuple[int, int] | None = None
    since = NO_OFFSET
    for offset in sorted(changes):
        if winner is not None:
            append(result, StateBatch(since, offset - 1, winner[1], winner[0]))
        for change, priority in changes[offset]:
            left = open_batches.get(priority, 0) + change
            if left:
                open_batches[priority] = left
            else:
                del open_batches[priority]
        winner, since = max(open_batches, default=None), offset
    return result


def append(result: list[StateBatch], batch: StateBatch) -> None:
    """Append a batch, merged into the last one if both are adjacent and in the same state."""
    before = result[-1] if result else None
    if before is not None and before[1:] == (batch.first_offset - 1, *batch[2:]):
        result[-1] = before._replace(last_offset=batch.last_offset)
    else:
        result.append(batch)
