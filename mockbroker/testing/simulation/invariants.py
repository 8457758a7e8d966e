"""What holds in a cluster at every moment, whatever goes wrong: looked at while a simulation runs."""

from __future__ import annotations

from mockbroker.state.cluster import Cluster
from mockbroker.state.topics.topic import NO_LEADER, Partition

PartitionKey = tuple[bytes, int]  # topic id, partition


class Invariants:
    """Looks at one cluster after the other; ``broken`` has a sentence for each promise that did not hold, once."""

    def __init__(self) -> None:
        self.broken: dict[str, None] = {}
        self._high_watermarks: dict[PartitionKey, int] = {}
        self._epochs: dict[PartitionKey, tuple[int, int]] = {}
        self._leaders: dict[tuple[PartitionKey, int], int] = {}

    def look(self, cluster: Cluster) -> None:
        """Look at all partitions as they are now."""
        for topic in cluster.topics.values():
            if topic.diskless:
                continue
            unclean = bool(topic.config("unclean.leader.election.enable"))
            for partition in topic.partitions:
                self._look_at(cluster, partition, is_unclean=unclean)

    def _look_at(self, cluster: Cluster, partition: Partition, *, is_unclean: bool) -> None:
        name = f"{partition.topic.name}-{partition.index}"
        key = (partition.topic.id, partition.index)
        log, high_watermark = partition.log, partition.high_watermark
        self._expect(
            log.start_offset <= high_watermark <= log.end_offset,
            f"{name}: expected a high watermark from {log.start_offset} to {log.end_offset}, got {high_watermark}",
        )
        before = self._high_watermarks.get(key, 0)
        self._expect(
            is_unclean or high_watermark >= before,
            f"{name}: the high watermark went back from {before} to {high_watermark}",
        )
        self._high_watermarks[key] = high_watermark
        stable = partition.last_stable_offset(high_watermark)
        self._expect(stable <= high_watermark, f"{name}: the last stable offset {stable} is above {high_watermark}")
        isr, replicas = partition.isr, partition.replicas
        self._expect(set(isr) <= set(replicas), f"{name}: ISR {list(isr)} is not within the replicas {list(replicas)}")
        leader = partition.leader
        if leader != NO_LEADER:
            self._expect(leader in isr, f"{name}: leader {leader} is not in the ISR {list(isr)}")
            known = self._leaders.setdefault((key, partition.leader_epoch), leader)
            self._expect(
                known == leader, f"{name}: brokers {known} and {leader} both led in epoch {partition.leader_epoch}"
            )
        states = partition.replica_states
        if states is not None:
            for broker, follower in states.followers.items():
                self._expect(
                    broker not in isr or broker == leader or follower.end_offset >= high_watermark,
                    f"{name}: the high watermark is {high_watermark}, but broker {broker} of the ISR ends at "
                    f"{follower.end_offset}",
                )
        leader_epoch, partition_epoch = self._epochs.get(key, (-1, -1))
        self._expect(
            partition.leader_epoch >= leader_epoch and partition.partition_epoch >= partition_epoch,
            f"{name}: epochs went back from {leader_epoch} and {partition_epoch} to {partition.leader_epoch} and "
            f"{partition.partition_epoch}",
        )
        self._epochs[key] = (partition.leader_epoch, partition.partition_epoch)

    def _expect(self, holds: bool, otherwise: str) -> None:
        if not holds:
            self.broken[otherwise] = None
