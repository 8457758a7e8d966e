"""Elections: changes of a partition's leader and ISR for the online brokers, as a record.

Every online replica with all records of the leader is in the ISR. While the ISR is smaller than
``min.insync.replicas``, the replicas that left it last remain eligible leaders (KIP-966): the high watermark does not
move, so they have all records below it. When no member of the ISR is online, one of them leads, or else the last known
leader. Without that feature the ISR retains its last members. ``unclean`` election finally allows any replica.

By default the preferred leader, the first replica, leads again as soon as it is back; until then the leader does not
change, and a new leader is the first eligible replica.

Source: PartitionChangeBuilder and PartitionReassignmentReplicas, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.state.topics.topic import NO_LEADER
from protocol.embedded.metadata_topics import PartitionChangeRecord

if TYPE_CHECKING:
    from mockbroker.state.image import PartitionRegistration
    from mockbroker.state.topics.topic import Partition

NONE: tuple[int, ...] = ()


class Rules(NamedTuple):
    """The rules of an election.

    ``acceptable`` are the brokers that may lead: all online ones. ``keeps_eligible``: eligible leaders are recorded
    (``eligible.leader.replicas.version``). ``unclean``: any replica may lead as a last resort. ``returns``: the
    preferred leader leads whenever it may.
    """

    acceptable: Container[int]
    keeps_eligible: bool = False
    unclean: bool = False
    returns: bool = True


def election(partition: Partition, eligible: Container[int], rules: Rules) -> PartitionChangeRecord | None:
    """The change of a partition after the online brokers changed, None if nothing changes.

    A change of the leader begins a leader epoch; since Kafka 3.6 a change of the ISR alone does not.

    Args:
        eligible: the online brokers that may be in its ISR.
    """
    now = partition.registration
    leader = now.leader
    if leader in eligible:
        isr = tuple([replica for replica in now.replicas if replica in eligible])
        preferred = preferred_leader(partition, rules)
        if isr == now.isr and (preferred in (None, leader) or preferred not in eligible):
            return None
        return partition_change(partition, isr, rules, preferred=preferred)
    isr = tuple([replica for replica in now.isr if replica in eligible])
    return partition_change(partition, isr, rules, preferred=preferred_leader(partition, rules))


def preferred_leader(partition: Partition, rules: Rules) -> int | None:
    """The broker that leads whenever it may: set by a command, else the first replica; None if none returns."""
    if partition.overrides.leader is not None:
        return partition.overrides.leader
    return partition.registration.replicas[0] if rules.returns else None


def partition_change(
    partition: Partition,
    isr: Sequence[int],
    rules: Rules,
    *,
    preferred: int | None = None,
    assignment: PartitionRegistration | None = None,
    lost: Container[int] = (),
) -> PartitionChangeRecord | None:
    """The record that sets a partition's ISR, and a leader if any replica may lead; None if nothing changes.

    It has changed fields only. The leader epoch increases when a replica is removed, even if the leader does not
    change: ``triggerLeaderEpochBumpForReplicaReassignmentIfNeeded``.

    Args:
        preferred: the broker that leads if it may.
        assignment: a registration with other replicas, and those that a reassignment adds and removes; one that can
            complete does. Its ISR and leader are not read.
        lost: brokers that may have lost records, and so are no longer eligible leaders.
    """
    now, target = partition.registration, assignment or partition.registration
    replicas, removing, adding = target.replicas, target.removing_replicas, target.adding_replicas
    if removing or adding:
        done = completed(isr, replicas, removing, adding)
        if done is not None:
            replicas, isr = done
            removing = adding = NONE
    isr = tuple([replica for replica in replicas if replica in isr])
    elr = NONE
    if rules.keeps_eligible and len(isr) < partition.effective_min_isr():
        left = {*now.eligible_leader_replicas, *now.isr}.difference(isr)
        elr = tuple([replica for replica in replicas if replica in left and replica not in lost])
    leader, is_unclean = elect(now, replicas, isr, elr, rules, preferred)
    if leader != now.leader and leader in elr:
        enough = partition.effective_min_isr() <= 1
        isr, elr = (leader,), NONE if enough else tuple([replica for replica in elr if replica != leader])
    elif is_unclean:
        isr, elr = (leader,), NONE
    if not isr and not rules.keeps_eligible:
        isr = now.isr
    wanted = {
        "isr": isr,
        "eligible_leader_replicas": elr,
        "last_known_elr": last_known(now, leader, replicas) if rules.keeps_eligible else now.last_known_elr,
        "replicas": replicas,
        "removing_replicas": removing,
        "adding_replicas": adding,
    }
    changes: dict[str, Any] = {
        name: list(values) for name, values in wanted.items() if tuple(values) != getattr(now, name)
    }
    if leader != now.leader or not set(now.replicas) <= set(replicas):
        changes["leader"] = leader
    if not changes:
        return None
    return PartitionChangeRecord(partition_id=partition.index, topic_id=partition.topic.id, **changes)


def last_known(now: PartitionRegistration, leader: int, replicas: tuple[int, ...]) -> tuple[int, ...]:
    """The last leader, recorded while there is none: ``maybeUpdateLastKnownLeader``."""
    if leader != NO_LEADER:
        return NONE
    last = now.last_known_elr
    if not last and now.leader != NO_LEADER:
        last = (now.leader,)
    if replicas != now.replicas and not set(last) & set(replicas):
        return replicas[:1]  # a move forced by a command may leave only offline brokers
    return last


def elect(
    now: PartitionRegistration,
    replicas: tuple[int, ...],
    isr: Sequence[int],
    elr: Sequence[int],
    rules: Rules,
    preferred: int | None,
) -> tuple[int, bool]:
    """The leader, -1 if none, and True if its election may lose records."""
    valid = [replica for replica in replicas if replica in (isr or elr) and replica in rules.acceptable]
    if valid:
        if preferred in valid:
            return (preferred, False)
        return (now.leader if now.leader in valid else valid[0], False)
    if rules.keeps_eligible and not isr and not elr and len(now.last_known_elr) == 1:
        (last,) = now.last_known_elr
        if last in rules.acceptable and last in replicas:
            return (last, True)
    if rules.unclean:
        for replica in replicas:
            if replica in rules.acceptable:
                return (replica, True)
    return (NO_LEADER, False)


def completed(
    isr: Sequence[int], replicas: tuple[int, ...], removing: Container[int], adding: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Replicas and ISR after a reassignment, None until all added replicas are in sync.

    >>> completed((1, 2, 3), (3, 4, 1, 2), (1, 2), (4,)) is None
    True
    >>> completed((1, 2, 3, 4), (3, 4, 1, 2), (1, 2), (4,))
    ((3, 4), (3, 4))
    """
    left = tuple([replica for replica in replicas if replica not in removing])
    in_sync = tuple([replica for replica in isr if replica not in removing])
    if not left or not in_sync or not set(adding) <= set(in_sync):
        return None
    removed = len(replicas) - len(left)
    if len(adding) < removed and not set(left) <= set(in_sync):
        return None
    return (left, in_sync)
