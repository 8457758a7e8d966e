"""A snapshot of a cluster, which forks and resets start from.

It has the state that survives a restart, except group members, which are other programs: groups are empty, with their
committed offsets. It also has overrides of partitions, the offset of the wall clock, and the state of the random
generator. In a cluster that starts from it, all brokers are up, no link is cut, no disk is full,
and no follower lags.

Logs are not copied until they are used.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mockbroker.state.replicas.overrides import NO_OVERRIDES

if TYPE_CHECKING:
    from random import Random

    from mockbroker.state.cluster import Cluster
    from mockbroker.state.image import Image
    from mockbroker.state.logs.store import LogStore
    from mockbroker.state.replicas.overrides import PartitionOverrides

PartitionKey = tuple[bytes, int]  # topic id and partition


@dataclass(slots=True, frozen=True, eq=False)
class ClusterSnapshot:
    """A cluster at one moment, unchanging, so that many clusters can start from it."""

    image: Image
    logs: LogStore
    overrides: dict[PartitionKey, PartitionOverrides]
    last_producer_epochs: dict[str, int]
    clock_offset_ms: int
    cluster_id: str
    release: str | None
    rng: Random


def snapshot_of(cluster: Cluster) -> ClusterSnapshot:
    """The current state of a cluster."""
    overrides: dict[PartitionKey, PartitionOverrides] = {}
    for topic in cluster.topics.values():
        for partition in topic.partitions:
            if partition.overrides is not NO_OVERRIDES:
                overrides[topic.id, partition.index] = replace(
                    partition.overrides, offline=frozenset(), copying=frozenset()
                )
    return ClusterSnapshot(
        cluster.image.copy(),
        cluster.log_store.fork(),
        overrides,
        dict(cluster.producers.last_epochs),
        cluster.clock.offset_ms,
        cluster.id,
        cluster.release,
        copy(cluster.rng),
    )
