"""The preferred read replica for a reader (KIP-392).

Source: KIP-392; ReplicaManager.findPreferredReadReplica, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_rack.selection import ReplicaSelector, ReplicaView
from mockbroker.state.replicas.replication import Replication
from mockbroker.state.topics.topic import Partition


def preferred_replica(
    partition: Partition,
    client_rack: str,
    fetch_offset: int,
    racks: Mapping[int, str | None],
    replication: Replication,
    selector: ReplicaSelector,
) -> int | None:
    """The replica to which the leader redirects a reader, None if the leader serves it.

    Args:
        racks: of the online brokers.

    Only in-sync replicas with ``fetch_offset`` are candidates: a reader below the log's start remains with the leader,
    which reports the error; otherwise it would be redirected without end.
    """
    views = []
    for replica in partition.isr:
        end_offset = replication.readable_end(partition, replica)
        if replica == partition.leader or partition.log.start_offset <= fetch_offset <= end_offset:
            views.append(ReplicaView(replica, racks.get(replica), end_offset, 0))
    chosen = selector.select(client_rack, partition.leader, views)
    return None if chosen == partition.leader else chosen
