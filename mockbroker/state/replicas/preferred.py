"""Which replica should serve a reader (KIP-392), and what a follower that lacks an offset says.

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
    """The replica that the leader sends a reader to, None where it serves the reader itself.

    Args:
        racks: of the brokers that are up.

    Only replicas in sync are asked for, and of those only the ones that have ``fetch_offset``: a reader below the
    log's start stays with the leader, who tells it so, or it would be sent around without end.
    """
    views = []
    for replica in partition.isr:
        end_offset = replication.readable_end(partition, replica)
        if replica == partition.leader or partition.log.start_offset <= fetch_offset <= end_offset:
            views.append(ReplicaView(replica, racks.get(replica), end_offset, 0))
    chosen = selector.select(client_rack, partition.leader, views)
    return None if chosen == partition.leader else chosen


def check_follower_has(partition: Partition, fetch_offset: int, end_offset: int) -> None:
    """A follower refuses an offset that it does not have yet, and the reader goes back to the leader.

    Raises ApiError: OFFSET_OUT_OF_RANGE.
    """
    if fetch_offset > end_offset:
        name = f"{partition.topic.name}-{partition.index}"
        raise ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {fetch_offset} of {name}, but this follower has up to {end_offset}"
        )
