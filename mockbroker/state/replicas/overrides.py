"""What commands hold against what brokers would do by themselves: leaders, ISRs and replicas on full disks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Partition

NOBODY: frozenset[int] = frozenset()


@dataclass(slots=True, frozen=True)
class PartitionOverrides:
    """What is held of one partition.

    ``leader`` is who leads whenever it may, in place of the first replica; None for the first replica. ``out_of_sync``
    are kept out of the ISR though they have all records. ``offline`` are the brokers whose log directory with this
    partition has failed. ``copying`` are replicas that a reassignment adds and that have not all records yet.
    """

    leader: int | None = None
    out_of_sync: frozenset[int] = NOBODY
    offline: frozenset[int] = NOBODY
    copying: frozenset[int] = NOBODY


NONE = PartitionOverrides()


def overrides_of(partition: Partition) -> PartitionOverrides:
    """What is held of a partition, nothing for most."""
    return partition.overrides or NONE


def override(partition: Partition, overrides: PartitionOverrides) -> None:
    """Hold this of a partition from now on; what concerns brokers that have no replica of it any more is dropped."""
    replicas = frozenset(partition.replicas)
    kept = PartitionOverrides(
        overrides.leader if overrides.leader in replicas and overrides.leader != partition.replicas[0] else None,
        overrides.out_of_sync & replicas,
        overrides.offline & replicas,
        overrides.copying & replicas,
    )
    partition.overrides = None if kept == NONE else kept
