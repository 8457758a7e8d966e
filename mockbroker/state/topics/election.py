"""Who leads a partition and who is in sync, given the brokers that are online: what is to change, as a record.

Every replica that is online and has what the leader has is in the ISR. The preferred leader, the first replica, leads
again as soon as it is back; until then whoever leads stays, and a new leader is the first of the ISR. While no replica
of the ISR is online there is no leader and the ISR stays as it was, unless ``unclean`` election takes any replica.

Source: PartitionChangeBuilder, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from mockbroker.state.topics.topic import NO_LEADER
from protocol.embedded.metadata_topics import PartitionChangeRecord

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Partition

NO_LEADER_CHANGE = -2  # PartitionChangeRecord.Leader


Leadership = tuple[int, tuple[int, ...]]
"""Who leads, -1 for nobody, and who is in sync, in the order of the replicas."""


def elect(replicas: tuple[int, ...], now: Leadership, eligible: Container[int]) -> Leadership:
    """Leader and ISR in line with the brokers that may be in sync: all that are online, unless they lack records.

    >>> elect((1, 2, 3), (1, (1, 2, 3)), {2, 3})
    (2, (2, 3))
    >>> elect((1, 2, 3), (3, (3,)), {1, 2})
    (-1, (3,))
    """
    leader, isr = now
    for replica in isr:
        if replica in eligible:
            break
    else:
        return (NO_LEADER, isr)
    in_sync = tuple([replica for replica in replicas if replica in eligible])
    if replicas[0] in eligible or leader not in eligible:
        return (in_sync[0], in_sync)
    return (leader, in_sync)


def elect_unclean(replicas: tuple[int, ...], now: Leadership, online: Container[int]) -> Leadership:
    """The first replica that is online leads, whatever it lacks, and is alone in sync.

    >>> elect_unclean((1, 2, 3), (-1, (1,)), {2, 3})
    (2, (2,))
    """
    for replica in replicas:
        if replica in online:
            return (replica, (replica,))
    return now


def election(
    partition: Partition, eligible: Container[int], online: Container[int], *, unclean: bool = False
) -> PartitionChangeRecord | None:
    """What changes about a partition now that these brokers are online, None if nothing does.

    A leader that changes begins a leader epoch; an ISR that changes alone does not, as since Kafka 3.6.

    Args:
        eligible: those of the brokers online that may be in its ISR.
    """
    now = partition.registration
    before = (now.leader, now.isr)
    after = elect(now.replicas, before, eligible)
    if unclean and after[0] == NO_LEADER:
        after = elect_unclean(now.replicas, after, online)
    return None if after == before else change_record(partition, after)


def reassignment(partition: Partition, replicas: tuple[int, ...], eligible: Container[int]) -> PartitionChangeRecord:
    """What changes when a partition moves to these replicas at once; those that are eligible are in sync.

    The leader epoch moves on when a replica is dropped, even if the leader stays: see
    ``triggerLeaderEpochBumpForReplicaReassignmentIfNeeded``.
    """
    isr = tuple([replica for replica in replicas if replica in eligible]) or replicas
    leader = partition.leader if partition.leader in replicas else NO_LEADER
    record = change_record(partition, elect(replicas, (leader, isr), eligible))
    record.replicas = list(replicas)
    if not set(partition.replicas) <= set(replicas) and record.leader == NO_LEADER_CHANGE:
        record.leader = partition.leader
    return record


def change_record(partition: Partition, after: Leadership) -> PartitionChangeRecord:
    """The record that gives a partition this leader and ISR; what stays as it is is left out."""
    leader, isr = after
    now = partition.registration
    record = PartitionChangeRecord(partition_id=partition.index, topic_id=partition.topic.id)
    if isr != now.isr:
        record.isr = list(isr)
    if leader != now.leader:
        record.leader = leader
    return record
