"""How far each replica of a partition is, what its readers may see, and who falls out of sync.

A follower that reaches its leader and is not slowed down has what the leader has, at once, and nothing is kept about
it. Of any other there is a ``FollowerState``: its log end offset, which stays where it is while a link is cut, and
follows the leader at a distance while a lag is set for its broker. The high watermark is the least log end offset of
the in-sync replicas, and goes back by unclean election alone. A follower that has lacked records for
``replica.lag.time.max.ms`` falls out of the ISR, if its leader reaches the controller; one that has caught up is taken
in again.

All of it is volatile. Source: Partition.maybeIncrementLeaderHW, Partition.getOutOfSyncReplicas and
Replica.isCaughtUp, Apache Kafka 4.4; KIP-497.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.replicas.network import CONTROLLER, Network
from mockbroker.state.timers import Timers

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Partition

NO_LEADER = -1


@dataclass(slots=True, eq=False)
class FollowerState:
    """A follower that may lack what its leader has.

    ``end_offset`` is its log end offset, ``readable_end`` how far it serves its own readers: its high watermark, which
    follows the leader's late. ``caught_up_ms`` is when it had all that its leader had; ``missing`` has the end offset
    and the time of each append that it lacks.
    """

    end_offset: int
    readable_end: int
    caught_up_ms: int
    missing: deque[tuple[int, int]] = field(default_factory=deque)


@dataclass(slots=True, eq=False)
class ReplicaStates:
    """The followers of one partition that are slowed down or cut off, by broker id, and its high watermark."""

    high_watermark: int
    followers: dict[int, FollowerState] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Replication:
    """What the followers of a cluster do.

    Args:
        network: which brokers reach each other.
        timers: deadlines by partition, whose ``on_timer`` is ``check_in_sync``.
        max_lag_ms: ``replica.lag.time.max.ms``.
        shrink_isr: takes replicas out of a partition's ISR.
        notify: wakes whoever waits for a partition.
    """

    network: Network
    timers: Timers[Partition]
    max_lag_ms: int
    shrink_isr: Callable[[Partition, tuple[int, ...]], None]
    notify: Callable[[Partition], None]
    lags: dict[int, int] = field(default_factory=dict)
    """Records that the followers on a broker are behind, by broker id; a broker without an entry is not."""

    @property
    def is_undisturbed(self) -> bool:
        """Whether every follower has what its leader has, at once."""
        return not self.lags and self.network.is_whole

    def set_lag(self, broker_id: int, records: int) -> None:
        """Have the followers on a broker be so many records behind, once ``refresh`` looks at them."""
        if records:
            self.lags[broker_id] = records
        else:
            self.lags.pop(broker_id, None)

    # what readers and elections ask

    def readable_end(self, partition: Partition, broker_id: int) -> int:
        """How far a replica serves readers: to the high watermark, a follower as far as it knows that."""
        states = partition.replica_states
        if states is None:
            return partition.log.end_offset
        follower = states.followers.get(broker_id)
        if follower is None or broker_id == partition.leader:
            return states.high_watermark
        return min(states.high_watermark, follower.readable_end)

    def eligible(self, partition: Partition, alive: frozenset[int], *, unclean: bool = False) -> Container[int]:
        """The brokers alive that may be in the ISR: those that are in it, and those that have caught up.

        With ``unclean`` election, while none of the ISR is alive, also the first replica that is, whatever it lacks.
        """
        states = partition.replica_states
        if states is None:
            return alive
        eligible = alive.difference(broker_id for broker_id in states.followers if broker_id not in partition.isr)
        if unclean and eligible.isdisjoint(partition.isr):
            return eligible.union([replica for replica in partition.replicas if replica in alive][:1])
        return eligible

    # what happens

    def appended(self, partition: Partition, now_ms: int) -> None:
        """Records were appended to a partition's log."""
        states = partition.replica_states
        if states is not None:
            end_offset = partition.log.end_offset
            for broker_id, follower in states.followers.items():
                follower.missing.append((end_offset, now_ms))
                self._replicate(partition, broker_id, follower)
            self._settle(partition, states)
        self.notify(partition)

    def refresh(self, partitions: Iterable[Partition], now_ms: int) -> None:
        """Brokers, links, lags, leaders or replicas have changed."""
        for partition in partitions:
            if partition.replica_states is None and self.is_undisturbed:
                continue
            self._refresh(partition, now_ms)

    def leader_changed(self, partition: Partition, now_ms: int) -> None:
        """A partition has another leader: what that one lacks is cut off the log, as its followers truncate to it."""
        states = partition.replica_states
        if states is None or partition.leader == NO_LEADER:
            return
        new_leader = states.followers.pop(partition.leader, None)
        if new_leader is not None and new_leader.end_offset < partition.log.end_offset:
            partition.truncate(new_leader.end_offset)
            states.high_watermark = min(states.high_watermark, new_leader.end_offset)
            for follower in states.followers.values():
                follower.end_offset = min(follower.end_offset, new_leader.end_offset)
                follower.readable_end = min(follower.readable_end, new_leader.end_offset)
                follower.missing.clear()
        self._refresh(partition, now_ms)

    def check_in_sync(self, partition: Partition, now_ms: int) -> None:
        """Take the followers out of the ISR that have lacked records for too long."""
        states = partition.replica_states
        if states is None or not self.network.connects(partition.leader, CONTROLLER):
            return
        late = {
            broker_id
            for broker_id, follower in states.followers.items()
            if broker_id in partition.isr and follower.missing and follower.caught_up_ms + self.max_lag_ms <= now_ms
        }
        if late:
            self.shrink_isr(partition, tuple(one for one in partition.isr if one not in late))
        self._settle(partition, states)

    # inside

    def _refresh(self, partition: Partition, now_ms: int) -> None:
        states = partition.replica_states
        if states is None:
            states = partition.replica_states = ReplicaStates(partition.log.end_offset)
        for broker_id in partition.replicas:
            if partition.leader in (broker_id, NO_LEADER):
                continue
            reachable = self.network.connects(broker_id, partition.leader)
            follower = states.followers.get(broker_id)
            if reachable and not self.lags.get(broker_id):
                if follower is not None:
                    del states.followers[broker_id]
                continue
            if follower is None:
                end_offset = partition.log.end_offset
                follower = states.followers[broker_id] = FollowerState(end_offset, end_offset, now_ms)
            self._replicate(partition, broker_id, follower)
        for broker_id in [one for one in states.followers if one not in partition.replicas]:
            del states.followers[broker_id]
        self._settle(partition, states)

    def _replicate(self, partition: Partition, broker_id: int, follower: FollowerState) -> None:
        """Let a follower that reaches its leader fetch as far as its lag allows: whole batches."""
        if not self.network.connects(broker_id, partition.leader):
            return
        log = partition.log
        lag = self.lags.get(broker_id, 0)
        follower.readable_end = log.batch_start(max(log.start_offset, log.end_offset - lag)) if lag else log.end_offset
        follower.end_offset = max(follower.end_offset, follower.readable_end)
        while follower.missing and follower.missing[0][0] <= follower.end_offset:
            follower.missing.popleft()
        if follower.missing:
            follower.caught_up_ms = max(follower.caught_up_ms, follower.missing[0][1])

    def _settle(self, partition: Partition, states: ReplicaStates) -> None:
        """Move the high watermark, set the next deadline, and forget states that say nothing."""
        in_sync = [
            (follower.end_offset, follower.caught_up_ms, bool(follower.missing))
            for broker_id, follower in states.followers.items()
            if broker_id in partition.isr
        ]
        high_watermark = min((end_offset for end_offset, _, _ in in_sync), default=partition.log.end_offset)
        if high_watermark > states.high_watermark:
            states.high_watermark = high_watermark
            self.notify(partition)
        deadlines = [caught_up_ms + self.max_lag_ms for _, caught_up_ms, is_behind in in_sync if is_behind]
        if deadlines:
            self.timers.set(partition, min(deadlines))
        else:
            self.timers.cancel(partition)
        if not states.followers:
            partition.replica_states = None
