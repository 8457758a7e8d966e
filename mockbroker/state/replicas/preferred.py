"""The preferred read replica for a reader (KIP-392), and a follower's answer to an offset that it lacks.

Source: KIP-392; ReplicaManager.findPreferredReadReplica and Partition.readRecords, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_rack.selection import ReplicaSelector, ReplicaView
from mockbroker.state.errors import ApiError
from mockbroker.state.replicas.replication import Replication
from mockbroker.state.topics.topic import Partition
from protocol.error_codes import ErrorCode


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


def check_follower_has(fetch_offset: int, end_offset: int) -> None:
    """Check an offset at a follower: if the follower lacks it, the reader returns to the leader.

    Raises ApiError: OFFSET_OUT_OF_RANGE.
    """
    if fetch_offset > end_offset:
        raise ApiError(ErrorCode.OFFSET_OUT_OF_RANGE)
