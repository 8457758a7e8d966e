"""How far each replica is, and which one should serve a reader (KIP-392).

Followers in sync have what the leader has, at once, unless a lag is set for their broker: then they are that many
records behind and still in sync, which is how a test sees what a real follower's delay does to readers.
Source: KIP-392; ReplicaManager.findPreferredReadReplica and Partition.readRecords, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping

from kafka_rack.selection import ReplicaSelector, ReplicaView
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import Partition
from protocol.error_codes import ErrorCode


def follower_end_offset(partition: Partition, lag: int) -> int:
    """Where the log of a follower ends that is ``lag`` records behind, and its high watermark with it.

    Followers copy whole batches, so it may be further behind by what else is in the batch.
    """
    if lag == 0:
        return partition.log.end_offset
    return partition.log.batch_start(max(partition.log.start_offset, partition.log.end_offset - lag))


def preferred_replica(
    partition: Partition,
    client_rack: str,
    fetch_offset: int,
    racks: Mapping[int, str | None],
    lags: Mapping[int, int],
    selector: ReplicaSelector,
) -> int | None:
    """The replica that the leader sends a reader to, None where it serves the reader itself.

    Args:
        racks, lags: of the brokers; a broker without an entry among the lags is not behind.

    Only replicas in sync are asked for, and of those only the ones that have ``fetch_offset``: a reader below the
    log's start stays with the leader, who tells it so, or it would be sent around without end.
    """
    views = [
        ReplicaView(replica, racks.get(replica), follower_end_offset(partition, lags.get(replica, 0)), 0)
        for replica in partition.isr
        if replica == partition.leader
        or partition.log.start_offset <= fetch_offset <= follower_end_offset(partition, lags.get(replica, 0))
    ]
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
