"""Overrides by commands for leaders, ISRs and replicas on failed disks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Partition

NO_BROKERS: frozenset[int] = frozenset()


@dataclass(slots=True, frozen=True)
class PartitionOverrides:
    """The overrides of one partition.

    ``leader`` leads whenever it is eligible, instead of the first replica; None for the first replica. ``out_of_sync``
    replicas stay out of the ISR even with all records. ``offline`` are the brokers whose log directory with this
    partition has failed. ``copying`` are replicas added by a reassignment that lack records.
    """

    leader: int | None = None
    out_of_sync: frozenset[int] = NO_BROKERS
    offline: frozenset[int] = NO_BROKERS
    copying: frozenset[int] = NO_BROKERS


NO_OVERRIDES = PartitionOverrides()


def override(partition: Partition, **changes: Any) -> None:
    """Change the overrides of a partition, without brokers that no longer have a replica of it."""
    wanted, replicas = replace(partition.overrides, **changes), frozenset(partition.replicas)
    kept = PartitionOverrides(
        wanted.leader if wanted.leader in replicas and wanted.leader != partition.replicas[0] else None,
        wanted.out_of_sync & replicas,
        wanted.offline & replicas,
        wanted.copying & replicas,
    )
    partition.overrides = NO_OVERRIDES if kept == NO_OVERRIDES else kept
