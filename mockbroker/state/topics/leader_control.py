"""Runs elections: after changes of brokers and replicas, on request, and periodically.

Source: ReplicationControlManager and QuorumController (maybeBalancePartitionLeaders), Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mockbroker.state.configs.definitions import BROKER, TOPIC
from mockbroker.state.configs.effective import MIN_INSYNC_REPLICAS, UNCLEAN
from mockbroker.state.errors import ApiError
from mockbroker.state.features import ELR_VERSION, feature_level
from mockbroker.state.image import NO_LEADER_CHANGE
from mockbroker.state.replicas.overrides import override
from mockbroker.state.timers import Timers
from mockbroker.state.topics.election import Rules, election, partition_change
from mockbroker.state.topics.topic import NO_LEADER, Partition, Topic
from protocol.embedded.metadata_topics import ClearElrRecord, PartitionChangeRecord
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

BALANCE = "leaders"


@dataclass(slots=True, eq=False)
class LeaderControl:
    """Elects the leaders of a cluster's partitions, and changes their ISRs.

    With ``leader.imbalance.check.interval.seconds`` of 0 a preferred leader leads again as soon as it is back;
    otherwise after this interval from the last imbalance, unless ``auto.leader.rebalance.enable`` is false.
    """

    cluster: Cluster
    _balance: Timers[str] = field(init=False)

    def __post_init__(self) -> None:
        self._balance = self.cluster.timers.subsystem("leader balance", self._rebalance)

    def rules(self, acceptable: Container[int]) -> Rules:
        """The rules of elections in topics without unclean elections."""
        settings = self.cluster.settings
        return Rules(
            acceptable,
            feature_level(self.cluster, ELR_VERSION) > 0,
            returns=settings["auto.leader.rebalance.enable"] and not self._interval_ms(),
        )

    def elect(self, topics: Iterable[Topic]) -> None:
        """Update leaders and ISRs for the online brokers and their replicas' log end offsets."""
        online = self.cluster.liveness.online_ids
        replication = self.cluster.replication
        clean = self.rules(online)
        unclean = clean._replace(unclean=True)
        for topic in topics:
            if topic.diskless:
                continue
            rules = unclean if topic.config(UNCLEAN) else clean
            for partition in topic.partitions:
                offline = partition.overrides.offline
                own = rules._replace(acceptable=online - offline) if offline else rules
                # Replicas may catch up with a new leader, and join its ISR at once.
                while True:
                    eligible = replication.eligible(partition, online)
                    change = election(partition, eligible, own)
                    if change is None:
                        break
                    self.change(partition, change)

    def elect_leader(self, partition: Partition, *, unclean: bool) -> None:
        """Elect a partition's first replica, or in an ``unclean`` election any replica if there is no leader.

        Raises ApiError: ELECTION_NOT_NEEDED, PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
        """
        first = partition.replicas[0]
        if partition.leader == first or (unclean and partition.leader != NO_LEADER):
            raise ApiError(ErrorCode.ELECTION_NOT_NEEDED)
        if not self.change_partition(partition, partition.isr, unclean=unclean, preferred=None if unclean else first):
            raise ApiError(
                ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
            )
        override(partition, leader=None)
        self.elect([partition.topic])

    def lose(self, broker_id: int) -> None:
        """Remove a broker that restarts after a crash from ISRs and eligible leaders: it may have lost records.

        Source: ReplicationControlManager.handleBrokerShutdown, Apache Kafka 4.4.
        """
        if feature_level(self.cluster, ELR_VERSION) == 0:
            return
        for partition in self.cluster.partitions():
            now = partition.registration
            if broker_id in now.isr or broker_id in partition.eligible_leader_replicas:
                isr = [replica for replica in now.isr if replica != broker_id]
                online = self.cluster.liveness.online_ids - {broker_id}
                self.change_partition(partition, isr, online=online, lost=(broker_id,))

    def planned_change(
        self,
        partition: Partition,
        isr: Sequence[int],
        *,
        online: frozenset[int] | None = None,
        unclean: bool | None = None,
        **how: Any,
    ) -> PartitionChangeRecord | None:
        """The change that ``election.partition_change`` makes; None if there is none.

        Args:
            online: the brokers that are regarded as up, by default those that are.
            unclean: True if any replica may lead as a last resort; None if the topic's config decides.
        """
        online = self.cluster.liveness.online_ids if online is None else online
        if unclean is None:
            unclean = partition.topic.config(UNCLEAN)
        rules = self.rules(online - partition.overrides.offline)._replace(unclean=unclean)
        return partition_change(partition, isr, rules, **how)

    def change_partition(self, partition: Partition, isr: Sequence[int], **how: Any) -> bool:
        """Write a ``planned_change``; returns False if there is none.

        A leader changes its ISR in the same way, by AlterPartition (KIP-497).
        """
        change = self.planned_change(partition, isr, **how)
        if change is not None:
            self.change(partition, change)
        return change is not None

    def change(self, partition: Partition, record: PartitionChangeRecord) -> None:
        """Write a change of a partition, wake waiting calls, and begin the epoch of a new leader.

        One record at a time: with all records in one list, an outage of many partitions takes twice as long.
        """
        cluster = self.cluster
        epoch = partition.registration.leader_epoch
        if record.leader not in (NO_LEADER_CHANGE, partition.leader):
            cluster.support.leader_changes(partition)
        cluster.writer.commit((record,))
        cluster.woken.append(partition)
        out_of_sync = partition.overrides.out_of_sync
        if partition.leader in out_of_sync:  # elected without an alternative
            override(partition, out_of_sync=out_of_sync - {partition.leader})
        if partition.registration.leader_epoch != epoch:
            cluster.replication.leader_changed(partition, cluster.now_ms)
            for extension in cluster.extensions():
                extension.leader_changed(partition)
            partition.leader_epoch_began()
            if partition.topic.is_internal:
                cluster.internal_topics.leader_changed(partition)
            if partition.leader not in (NO_LEADER, partition.replicas[0]):
                self._balance_later()
        cluster.replication.isr_changed(partition, cluster.now_ms)

    def configs_changed(self, kind: str, resource: str, names: frozenset[str]) -> None:
        """Apply changed configs: elect leaders, and clear eligible ones of a changed ``min.insync.replicas``.

        Source: ConfigurationControlManager.incrementalAlterConfigResource, Apache Kafka 4.4.
        """
        if kind not in (TOPIC, BROKER) or names.isdisjoint((UNCLEAN, MIN_INSYNC_REPLICAS)):
            return
        cluster, name = self.cluster, resource if kind == TOPIC else ""
        topics = [topic for topic in cluster.topics.values() if name in ("", topic.name)]
        if UNCLEAN in names:
            self.elect(topics)
        if MIN_INSYNC_REPLICAS in names:
            partitions = [partition for topic in topics if not topic.diskless for partition in topic.partitions]
            cluster.replication.refresh(partitions, cluster.now_ms)
            cluster.woken.extend(partitions)
            if any(one.eligible_leader_replicas or one.last_known_elr for one in partitions):
                cluster.writer.commit([ClearElrRecord(topic_name=name)])

    # internals

    def _interval_ms(self) -> int:
        return int(self.cluster.settings["leader.imbalance.check.interval.seconds"]) * 1000

    def _balance_later(self) -> None:
        interval_ms = self._interval_ms()
        if interval_ms and self.cluster.settings["auto.leader.rebalance.enable"] and BALANCE not in self._balance:
            self._balance.set(BALANCE, self.cluster.now_ms + interval_ms)

    def _rebalance(self, _key: str, _now_ms: int) -> None:
        """Elect the first replica of each partition if it may lead, unless a command set another leader."""
        for partition in self.cluster.partitions():
            first = partition.replicas[0]
            if partition.leader == first or partition.overrides.leader is not None:
                continue
            self.change_partition(partition, partition.isr, preferred=first)
            if partition.leader != first:
                self._balance_later()
        self.elect(self.cluster.topics.values())
