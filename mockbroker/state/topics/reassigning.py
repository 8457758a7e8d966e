"""Reassignments of partitions to other brokers; throttles determine how long their copies take.

An added replica copies all records of the leader; once it has caught up it joins the ISR, and when all added replicas
have, the removed ones are dropped. A copy takes no time unless throttled: by the topic's
``leader.replication.throttled.replicas`` with the leader's ``leader.replication.throttled.rate``, or the same for the
follower. Copies that share a throttled broker run one after the other. A restart begins copies again.

Source: KIP-73, KIP-455, KIP-860; ReplicationControlManager.alterPartitionReassignments, PartitionReassignmentReplicas,
PartitionReassignmentRevert and ReplicationQuotaManager, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mockbroker.state.brokers.log_dirs import record_directories
from mockbroker.state.errors import ApiError
from mockbroker.state.replicas.overrides import override
from mockbroker.state.timers import Timers
from mockbroker.state.topics.leader_control import LeaderControl
from mockbroker.state.topics.topic import NO_LEADER, Partition
from protocol.embedded.metadata_topics import PartitionChangeRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

LEADER, FOLLOWER = "leader", "follower"
ALL_REPLICAS = "*"
CopyKey = tuple[Partition, int]
Move = tuple[Partition, "PartitionChangeRecord | None"]
"""A partition and the change that begins its move, None if nothing changes."""


@dataclass(slots=True, eq=False)
class Copy:
    """A copy in progress: the bytes missing at ``start_ms``, and the rate in bytes per second from then on."""

    left_bytes: float
    rate: float = 0.0
    start_ms: float = 0.0

    def advance(self, now_ms: int) -> None:
        """Subtract the bytes copied by now."""
        if now_ms > self.start_ms:
            self.left_bytes = max(0.0, self.left_bytes - (now_ms - self.start_ms) * self.rate / 1000)
            self.start_ms = now_ms


@dataclass(slots=True, eq=False)
class Reassignments:
    """The reassignments in progress: the image has their partitions, this object the progress of copies."""

    cluster: Cluster
    leaders: LeaderControl
    _copies: dict[CopyKey, Copy] = field(default_factory=dict)  # in the order of their start
    _timers: Timers[CopyKey] = field(init=False)

    def __post_init__(self) -> None:
        self._timers = self.cluster.timers.subsystem("reassignments", self._copied)

    def under_way(self) -> Iterator[Partition]:
        """The partitions in reassignment, in the order of topic creation."""
        for partition in self.cluster.partitions():
            if partition.registration.adding_replicas or partition.registration.removing_replicas:
                yield partition

    def find(self, name: str, index: int) -> Partition:
        """A partition with replicas. Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT."""
        partition = self.cluster.find_partition(name, index)
        if partition.topic.diskless:
            raise ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"topic {name} is diskless and has no replicas")
        return partition

    def plan(self, name: str, index: int, replicas: list[int] | None, *, may_resize: bool) -> Move:
        """The change that begins a move to other brokers, the preferred leader first; None cancels the reassignment.

        Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
            NO_REASSIGNMENT_IN_PROGRESS.
        """
        partition = self.find(name, index)
        change = self._cancel(partition) if replicas is None else self._begin(partition, tuple(replicas), may_resize)
        return partition, change

    def start(self, moves: Sequence[Move]) -> None:
        """Begin moves. Two moves of one partition are both applied, although neither was planned with the other."""
        for partition, change in moves:
            if change is not None:
                before = partition.replicas
                self.leaders.change(partition, change)
                record_directories(self.cluster, [partition], [one for one in partition.replicas if one not in before])
        for partition, _ in moves:
            self._copy(partition)
        self.leaders.elect(dict.fromkeys(partition.topic for partition, _ in moves))

    def restore(self) -> None:
        """Begin the copies of reassignments in the image."""
        for partition in self.under_way():
            self._copy(partition)

    def configs_changed(self, _kind: str, _resource: str, names: frozenset[str]) -> None:
        """Continue copies at the new rates after throttles have changed."""
        if not self._copies or not any("replication.throttled." in name for name in names):
            return
        now_ms = self.cluster.now_ms
        moving = {partition.topic: None for partition, _ in self._copies}
        for copy in self._copies.values():
            copy.advance(now_ms)
        self._plan(now_ms)
        self.leaders.elect(moving)

    # internals

    def _begin(self, partition: Partition, target: tuple[int, ...], may_resize: bool) -> PartitionChangeRecord | None:
        self.cluster.replication_control.check_rows([target])
        now = partition.registration
        wanted = len(now.replicas) - len(now.adding_replicas)
        if not may_resize and len(target) != wanted:
            raise ApiError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"{len(target)} replicas, but there are {wanted} and the number is to stay",
            )
        removing = tuple(sorted(set(now.replicas) - set(target)))
        adding = tuple(sorted(set(target) - set(now.replicas)))
        assignment = replace(
            now,
            replicas=target + removing,
            removing_replicas=removing or now.removing_replicas,
            adding_replicas=adding or now.adding_replicas,
        )
        return self.leaders.planned_change(partition, partition.isr, assignment=assignment)

    def _cancel(self, partition: Partition) -> PartitionChangeRecord | None:
        now = partition.registration
        if not now.adding_replicas and not now.removing_replicas:
            raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        replicas = tuple([replica for replica in now.replicas if replica not in now.adding_replicas])
        isr = tuple([replica for replica in now.isr if replica not in now.adding_replicas])
        if not isr:
            if not partition.topic.config("unclean.leader.election.enable"):
                raise ApiError(
                    ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                    f"expected a replica of {list(replicas)} in sync to go back to, got ISR {list(now.isr)}",
                )
            isr = replicas[:1]
        assignment = replace(now, replicas=replicas, removing_replicas=(), adding_replicas=())
        return self.leaders.planned_change(partition, isr, assignment=assignment)

    def _copy(self, partition: Partition) -> None:
        """Start the copies of added replicas, and cancel those of replicas that are no longer added."""
        now = partition.registration
        coming = [broker for broker in now.adding_replicas if broker not in now.isr]
        for key in [key for key in self._copies if key[0] is partition and key[1] not in coming]:
            self._forget(key)
        for broker_id in coming:
            key = (partition, broker_id)
            if key not in self._copies and self._rates(partition, broker_id):
                self._copies[key] = Copy(partition.log.size_bytes)
                override(partition, copying=partition.overrides.copying | {broker_id})
        self._plan(self.cluster.now_ms)

    def _plan(self, now_ms: int) -> None:
        """Schedule each copy after earlier copies of its throttled brokers."""
        free_ms: dict[tuple[str, int], float] = {}
        for key, copy in list(self._copies.items()):
            rates = self._rates(*key)
            copy.rate = min(rates.values(), default=0.0)
            if not rates or not copy.left_bytes:
                self._forget(key)
                continue
            copy.start_ms = max((free_ms.get(one, now_ms) for one in rates), default=now_ms)
            if not copy.rate:
                self._timers.cancel(key)
                continue
            end_ms = copy.start_ms + copy.left_bytes / copy.rate * 1000
            free_ms.update(dict.fromkeys(rates, end_ms))
            self._timers.set(key, -int(-end_ms // 1))

    def _rates(self, partition: Partition, broker_id: int) -> dict[tuple[str, int], float]:
        """The throttles of a copy in bytes per second, by side and broker; empty if unthrottled."""
        rates: dict[tuple[str, int], float] = {}
        for side, broker in ((LEADER, partition.leader), (FOLLOWER, broker_id)):
            throttled: Collection[str] = partition.topic.config(f"{side}.replication.throttled.replicas") or ()
            if broker != NO_LEADER and (ALL_REPLICAS in throttled or f"{partition.index}:{broker}" in throttled):
                own = self.cluster.configs.own("broker", str(broker)).get(f"{side}.replication.throttled.rate")
                if own is not None:
                    rates[side, broker] = float(own)
        return rates

    def _copied(self, key: CopyKey, _now_ms: int) -> None:
        """Complete a copy."""
        self._forget(key)
        self.leaders.elect([key[0].topic])

    def _forget(self, key: CopyKey) -> None:
        partition, broker_id = key
        self._copies.pop(key, None)
        self._timers.cancel(key)
        override(partition, copying=partition.overrides.copying - {broker_id})

    def forget(self, partitions: Collection[Partition]) -> None:
        """Cancel the copies of deleted partitions."""
        gone = set(map(id, partitions))
        for key in [key for key in self._copies if id(key[0]) in gone]:
            self._forget(key)
