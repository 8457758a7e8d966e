"""Followers' progress, the high watermark, and the replicas that leave and join the ISR.

A follower that reaches its leader without delay has all records at once, and needs no state. Any other has a
``FollowerState`` with its log end offset, which does not move while a link is cut, trails the leader while a lag is
set for its broker, and follows late while its link is slow. The high watermark is the lowest log end offset in the
ISR; it never decreases unless an unclean leader is elected, and does not move while fewer than
``min.insync.replicas`` are in sync. A follower that has lacked records for ``replica.lag.time.max.ms`` leaves the ISR,
and one that has caught up joins it again, both only if the leader reaches the controller.

Nothing here survives a restart. Source: Partition.maybeIncrementLeaderHW, Partition.getOutOfSyncReplicas and
Replica.isCaughtUp, Apache Kafka 4.4; KIP-497, KAFKA-15583.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.replicas.network import CONTROLLER, LinkCondition, LinkConditions
from mockbroker.state.replicas.overrides import NO_OVERRIDES
from mockbroker.state.timers import Timers

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.topics.topic import Partition

NO_LEADER = -1


@dataclass(slots=True, eq=False)
class FollowerState:
    """A follower that may lack records of its leader.

    ``end_offset`` is its log end offset, ``readable_end`` its high watermark, which limits its readers and follows the
    leader's late. ``caught_up_ms`` is when it last had all of the leader's records; ``missing`` has the end offset and
    time of each append that it lacks.

    Over a link with a ``condition`` batches are delayed: ``arriving`` has the arrival time and end offset of each batch
    in transit, ``arrived_end`` is the end offset of arrived batches.
    """

    end_offset: int
    readable_end: int
    caught_up_ms: int
    missing: deque[tuple[int, int]] = field(default_factory=deque)
    condition: LinkCondition | None = None
    arriving: deque[tuple[int, int]] = field(default_factory=deque)
    arrived_end: int = 0

    def follow_over(self, condition: LinkCondition | None) -> None:
        """Fetch over a link in this condition from now on; batches in transit are lost if it has changed."""
        if condition is not self.condition:
            self.condition = condition
            self.arriving.clear()
            self.arrived_end = self.end_offset

    def restart(self, leader_end_offset: int, now_ms: int) -> None:
        """Follow another leader: the log is truncated to the leader's, and the lag time starts again.

        Source: Partition.makeLeader and Replica.resetReplicaState, Apache Kafka 4.4.
        """
        self.end_offset = min(self.end_offset, leader_end_offset)
        self.readable_end = min(self.readable_end, leader_end_offset)
        self.caught_up_ms = now_ms
        self.condition = None
        self.arriving.clear()
        self.missing.clear()
        if self.end_offset < leader_end_offset:
            self.missing.append((leader_end_offset, now_ms))


@dataclass(slots=True, eq=False)
class ReplicaStates:
    """The delayed or disconnected followers of a partition by broker id, and its high watermark.

    Exists while there are such followers, and while the partition is under min ISR.
    """

    high_watermark: int
    followers: dict[int, FollowerState] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Replication:
    """The followers of a cluster."""

    cluster: Cluster
    timers: Timers[Partition] = field(init=False)
    max_lag_ms: int = field(init=False)
    lags: dict[int, int] = field(default_factory=dict)
    """Records by which the followers on a broker lag, by broker id; without an entry they do not."""
    conditions: LinkConditions = field(default_factory=dict)
    """Conditions of links, by follower and leader broker id; ``refresh`` applies changes."""

    def __post_init__(self) -> None:
        self.timers = self.cluster.timers.subsystem("replication", self.check_in_sync)
        self.max_lag_ms = self.cluster.settings["replica.lag.time.max.ms"]

    @property
    def is_undisturbed(self) -> bool:
        """True if every follower has all records of its leader at once."""
        return not any(self.lags.values()) and not self.conditions and self.cluster.network.is_whole

    # queries of readers and elections

    def readable_end(self, partition: Partition, broker_id: int) -> int:
        """The end of readable records at a replica: the high watermark as this replica knows it."""
        states = partition.replica_states
        if states is None:
            return partition.log.end_offset
        follower = states.followers.get(broker_id)
        if follower is None or broker_id == partition.leader:
            return states.high_watermark
        return min(states.high_watermark, follower.readable_end)

    def preferred_replica(self, partition: Partition, client_rack: str, fetch_offset: int) -> int | None:
        """The replica to which the leader redirects a reader (KIP-392), None if the leader serves it.

        Only in-sync replicas with ``fetch_offset`` are candidates: a reader below the log's start remains with the
        leader, which reports the error; otherwise it would be redirected without end.

        Source: ReplicaManager.findPreferredReadReplica, Apache Kafka 4.4.
        """
        from kafka_rack.selection import ReplicaView

        views, racks = [], self.cluster.liveness.rack_by_online_broker
        for replica in partition.isr:
            end_offset = self.readable_end(partition, replica)
            if replica == partition.leader or partition.log.start_offset <= fetch_offset <= end_offset:
                views.append(ReplicaView(replica, racks.get(replica), end_offset, 0))
        chosen = self.cluster.selector.select(client_rack, partition.leader, views)
        return None if chosen == partition.leader else chosen

    def eligible(self, partition: Partition, online: frozenset[int]) -> frozenset[int]:
        """The online brokers that may be in the ISR: its members, and replicas that have caught up.

        A leader that does not reach the controller adds none.
        """
        overrides = partition.overrides
        if partition.leader in online and not self.cluster.network.connects(partition.leader, CONTROLLER):
            found = online.intersection(partition.isr)
        else:
            found = online.difference(self._outside(partition, caught_up=False))
        if overrides is NO_OVERRIDES:
            return found
        return found - overrides.out_of_sync - overrides.offline - overrides.copying

    def _outside(self, partition: Partition, *, caught_up: bool) -> list[int]:
        """The tracked followers outside the ISR that have caught up, or have not."""
        states = partition.replica_states
        return [
            broker_id
            for broker_id, follower in (states.followers.items() if states is not None else ())
            if broker_id not in partition.isr and self._has_all(partition, broker_id, follower) is caught_up
        ]

    def is_held_up(self, partition: Partition, online: frozenset[int]) -> bool:
        """True if an online follower currently fetches nothing, and so does not learn of a new log start offset."""
        states = partition.replica_states
        return states is not None and any(
            broker_id in online and not self._follows(partition, broker_id) for broker_id in states.followers
        )

    # events

    def appended(self, partition: Partition, now_ms: int) -> None:
        """Update followers after records were appended to a partition's log."""
        self.cluster.log_cleanup.appended(partition, now_ms)
        states = partition.replica_states
        if states is not None:
            end_offset = partition.log.end_offset
            for broker_id, follower in states.followers.items():
                follower.missing.append((end_offset, now_ms))
                if follower.condition is not None:
                    follower.condition.on_batch()
                self._replicate(partition, broker_id, follower, now_ms)
            self._advance(partition, states)
        self.cluster.notify(partition)

    def refresh(self, partitions: Iterable[Partition], now_ms: int) -> None:
        """Apply changes of brokers, links, lags, leaders or replicas."""
        is_undisturbed = self.is_undisturbed
        for partition in partitions:
            is_plain = partition.replica_states is None and partition.overrides is NO_OVERRIDES
            if not (is_undisturbed and is_plain) or is_under_min_isr(partition):
                self._refresh(partition, now_ms)

    def leader_changed(self, partition: Partition, now_ms: int) -> None:
        """Truncate the log to a new leader's end offset, as its followers do."""
        states = partition.replica_states
        is_plain = states is None and partition.overrides is NO_OVERRIDES
        if partition.leader == NO_LEADER or (is_plain and self.is_undisturbed):
            return
        if states is not None:
            new_leader = states.followers.pop(partition.leader, None)
            lacks_records = new_leader is not None and new_leader.end_offset < partition.log.end_offset
            if new_leader is not None and lacks_records and not partition.topic.is_internal:
                partition.truncate(new_leader.end_offset)  # a coordinator's write is acknowledged by all at once
            end_offset = partition.log.end_offset
            states.high_watermark = min(states.high_watermark, end_offset)
            for follower in states.followers.values():
                follower.restart(end_offset, now_ms)
        self._refresh(partition, now_ms)

    def isr_changed(self, partition: Partition, now_ms: int) -> None:
        """Update the high watermark after replicas have left or joined the ISR."""
        states = partition.replica_states
        if partition.eligible_leader_replicas:
            self._refresh(partition, now_ms)
        elif states is not None:
            self._advance(partition, states)
        elif is_under_min_isr(partition):
            partition.replica_states = ReplicaStates(partition.log.end_offset)

    def catch_up(self, partition: Partition, broker_ids: Iterable[int]) -> None:
        """Let the followers on these brokers catch up with the leader, regardless of delays."""
        states = partition.replica_states
        if states is not None:
            for broker_id in broker_ids:
                states.followers.pop(broker_id, None)

    def check_in_sync(self, partition: Partition, now_ms: int) -> None:
        """Deliver arrived batches; shrink the ISR by followers that lag too long, and expand it by those caught up."""
        states = partition.replica_states
        if states is None or partition.leader == NO_LEADER:
            return
        for broker_id, follower in states.followers.items():
            if follower.arriving:
                self._replicate(partition, broker_id, follower, now_ms)
        if not self.cluster.network.connects(partition.leader, CONTROLLER):
            self._advance(partition, states, is_led_alone=True)
            return
        late = {
            broker_id
            for broker_id, follower in states.followers.items()
            if broker_id in partition.isr and follower.missing and follower.caught_up_ms + self.max_lag_ms <= now_ms
        }
        if late:
            in_sync = [one for one in partition.isr if one not in late]
            self.cluster.replication_control.leaders.change_partition(partition, in_sync)
        self._advance(partition, states)
        if self._outside(partition, caught_up=True):
            self.cluster.replication_control.leaders.elect([partition.topic])

    # internals

    def _refresh(self, partition: Partition, now_ms: int) -> None:
        states = partition.replica_states
        if states is None:
            states = partition.replica_states = ReplicaStates(partition.log.end_offset)
        for broker_id in partition.replicas:
            if partition.leader in (broker_id, NO_LEADER):
                continue
            reachable = self._follows(partition, broker_id)
            follower = states.followers.get(broker_id)
            condition = self.conditions.get((broker_id, partition.leader))
            if reachable and condition is None and not self.lags.get(broker_id):
                if follower is not None:
                    del states.followers[broker_id]
                    self.cluster.notify(partition)  # waiting calls learn the log's start
                continue
            if follower is None:
                end_offset = partition.log.end_offset
                follower = states.followers[broker_id] = FollowerState(end_offset, end_offset, now_ms)
            follower.follow_over(condition)
            self._replicate(partition, broker_id, follower, now_ms)
        for broker_id in [one for one in states.followers if one not in partition.replicas]:
            del states.followers[broker_id]
        self._advance(partition, states)

    def _follows(self, partition: Partition, broker_id: int) -> bool:
        """True if a follower reaches its leader and its disk works."""
        if broker_id in partition.overrides.offline:
            return False
        broker = self.cluster.brokers.get(broker_id)
        if broker is not None and not broker.is_running and broker_id in partition.eligible_leader_replicas:
            return False  # an eligible leader leads with what it had when it stopped
        if self.conditions:
            condition = self.conditions.get((broker_id, partition.leader))
            if condition is not None and condition.is_cut:
                return False
        return self.cluster.network.connects(broker_id, partition.leader)

    def _has_all(self, partition: Partition, broker_id: int, follower: FollowerState) -> bool:
        """True if a follower over a slow link has caught up."""
        return (
            follower.condition is not None
            and not follower.missing
            and not self.lags.get(broker_id)
            and self._follows(partition, broker_id)
        )

    def _replicate(self, partition: Partition, broker_id: int, follower: FollowerState, now_ms: int) -> None:
        """Let a connected follower fetch whole batches, as far as its lag and its link allow."""
        if not self._follows(partition, broker_id):
            return
        log = partition.log
        lag = self.lags.get(broker_id, 0)
        readable_end = log.batch_start(max(log.start_offset, log.end_offset - lag)) if lag else log.end_offset
        if follower.condition is not None and follower.condition.arrival is not None:
            send(partition, follower, follower.condition.arrival, now_ms)
            readable_end = min(readable_end, follower.arrived_end)
        if readable_end > follower.readable_end:
            self.cluster.notify(partition)  # readers wait at this follower, in the ISR or not
        follower.readable_end = readable_end
        follower.end_offset = max(follower.end_offset, follower.readable_end)
        while follower.missing and follower.missing[0][0] <= follower.end_offset:
            follower.missing.popleft()
        if follower.missing:
            follower.caught_up_ms = max(follower.caught_up_ms, follower.missing[0][1])

    def _advance(self, partition: Partition, states: ReplicaStates, *, is_led_alone: bool = False) -> None:
        """Advance the high watermark, set the next deadline, and remove state without information.

        ``is_led_alone``: the leader does not reach the controller, so the ISR does not shrink.
        """
        in_sync = [follower for broker_id, follower in states.followers.items() if broker_id in partition.isr]
        under_min_isr = is_under_min_isr(partition)
        high_watermark = min((one.end_offset for one in in_sync), default=partition.log.end_offset)
        if high_watermark > states.high_watermark and partition.leader != NO_LEADER and not under_min_isr:
            states.high_watermark = high_watermark
            self.cluster.notify(partition)
        deadlines = [one.caught_up_ms + self.max_lag_ms for one in in_sync if one.missing and not is_led_alone]
        deadlines += [
            follower.arriving[0][0]
            for broker_id, follower in states.followers.items()
            if follower.arriving and self._follows(partition, broker_id)
        ]
        if deadlines:
            self.timers.set(partition, min(deadlines))
        else:
            self.timers.cancel(partition)
        if not states.followers and states.high_watermark == partition.log.end_offset and not under_min_isr:
            partition.replica_states = None


def send(partition: Partition, follower: FollowerState, arrival: Callable[[int, int], int], now_ms: int) -> None:
    """Send the leader's new batches to a follower, and deliver those that have arrived; in order."""
    last_ms, sent_end = follower.arriving[-1] if follower.arriving else (now_ms, follower.arrived_end)
    for batch in partition.log.batches(sent_end) if sent_end < partition.log.end_offset else ():
        last_ms = max(last_ms, arrival(len(batch.data), now_ms))
        follower.arriving.append((last_ms, batch.last_offset + 1))
    while follower.arriving and follower.arriving[0][0] <= now_ms:
        follower.arrived_end = follower.arriving.popleft()[1]


def is_under_min_isr(partition: Partition) -> bool:
    """True if fewer replicas are in sync than ``min.insync.replicas``."""
    return len(partition.isr) < partition.effective_min_isr()
