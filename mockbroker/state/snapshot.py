"""A cluster as it was at a moment, to begin others with: what forks and resets go on from.

It has what a restart finds again, but for members of groups, which are other programs: groups are empty, with the
offsets that they have committed. Beside it stands what commands hold of partitions, what is known of producers, how
far the wall clock has jumped, and where the drawing of ids goes on. All brokers are up in what begins with it, no link
is cut, no disk is full, and no follower is behind.

Nothing of a log is copied until somebody looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.image.image import Image
    from mockbroker.state.logs.producers import PartitionProducers
    from mockbroker.state.logs.store import LogStore
    from mockbroker.state.replicas.overrides import PartitionOverrides

PartitionKey = tuple[bytes, int]  # topic id and partition


@dataclass(slots=True, frozen=True, eq=False)
class ClusterSnapshot:
    """A cluster at a moment; nothing changes it, so any number of clusters begin with it."""

    image: Image
    logs: LogStore
    overrides: dict[PartitionKey, PartitionOverrides]
    producers: dict[PartitionKey, PartitionProducers]
    last_producer_epochs: dict[str, int]
    clock_offset_ms: int
    cluster_id: str
    release: str | None
    rng_state: Any

    def rng(self) -> Random:
        """A Random that draws what the cluster would have drawn next."""
        rng = Random(0)
        rng.setstate(self.rng_state)
        return rng


def snapshot_of(cluster: Cluster) -> ClusterSnapshot:
    """A cluster as it is now."""
    overrides: dict[PartitionKey, PartitionOverrides] = {}
    producers: dict[PartitionKey, PartitionProducers] = {}
    for topic in cluster.topics.values():
        for partition in topic.partitions:
            if partition.overrides is not None:
                overrides[topic.id, partition.index] = replace(
                    partition.overrides, offline=frozenset(), copying=frozenset()
                )
            if partition.has_known_producers:
                producers[topic.id, partition.index] = partition.producers.copy()
    return ClusterSnapshot(
        cluster.image.copy(),
        cluster.log_store.fork(),
        overrides,
        producers,
        dict(cluster.producers.last_epochs),
        cluster.clock.offset_ms,
        cluster.id,
        cluster.release,
        cluster.rng.getstate(),
    )
