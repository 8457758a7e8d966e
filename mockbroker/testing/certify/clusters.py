"""A cluster of certify's own, before which a program is certified.

``real_cluster.py`` has the other, a proxy before brokers that really run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from mockbroker.adapters.server import MockCluster
from mockbroker.state.brokers.listeners import numbered_brokers
from mockbroker.state.logs.appending import append
from mockbroker.state.topics.topic import NO_LEADER
from mockbroker.testing.certify.facts import TopicPartition
from mockbroker.testing.certify.plan import CertifyPlan, layout, replication_factor
from protocol.records import Record, build_batch, iter_batches

if TYPE_CHECKING:
    from protocol.records.batches import BatchHeader

LARGE_LAG = 1_000_000
"""Records: every reader that is not at the log's start is ahead of a follower that lags so far."""
WHOLE_LOG = 1 << 60
VALUE_BYTES = 200


class OwnCluster:
    """A mock cluster for the run: a broker in each rack. ``RealCluster`` has the same methods.

    ``served`` has the listeners, the faults and the path of calls; ``fed`` counts the records written from here;
    ``hidden_racks`` has the racks whose followers lag for programs alone.
    """

    def __init__(self, plan: CertifyPlan) -> None:
        settings = {
            "group.initial.rebalance.delay.ms": 500,
            "replica.lag.time.max.ms": 1_000,
            "default.replication.factor": replication_factor(len(plan.racks)),
            "num.partitions": plan.partitions,
            **plan.security.settings,
        }
        protocol = plan.security.protocol
        brokers = numbered_brokers(
            len(plan.racks), list(plan.racks), "127.0.0.1", 0, listener_per_rack=True, protocol=protocol
        )
        self.mock = self.served = MockCluster(
            brokers,
            settings=settings,
            follower_fetching=True,
            capture=plan.capture,
            capture_bytes=plan.capture_bytes,
            users=plan.security.users,
        )
        self.mock.state.replication_control.create(plan.topic, assignment=layout(len(plan.racks), plan.partitions))
        self.fed, self.hidden_racks = 0, set[str]()

    async def start(self) -> None:
        """Start it, with the topic. Raises OSError, RealClusterError, UnfitClusterError."""
        await self.mock.start()

    async def close(self) -> None:
        """Stop it, and delete the topic and group of the run."""
        await self.mock.close()

    def feeds(self, topic: str) -> bool:
        """True if records may be written into a topic from here."""
        return True

    async def feed(self, topics: Sequence[str], count: int) -> None:
        """Write records into each partition that has a leader."""
        now_ms = self.mock.now_ms()
        for partition in (one for topic in topics for one in self.mock.state.topics[topic].partitions):
            if partition.leader != NO_LEADER:
                batch = batch_to_feed(partition.topic.name, partition.index, count, now_ms)
                append(partition, batch, now_ms, size=len(batch))
                self.mock.state.replication.appended(partition, now_ms)
                self.fed += count
        self.mock.settle()

    def end_offset(self, place: TopicPartition) -> int:
        """The offset after the last of a partition, as far as known."""
        return self.mock.state.find_partition(*place).log.end_offset

    async def lag(self, broker: int, places: Iterable[TopicPartition]) -> None:
        """Let a follower lag in the partitions that are read there."""
        self.mock.set_follower_lag(broker, LARGE_LAG)

    async def catch_up(self, broker: int) -> None:
        """End its lag."""
        self.mock.set_follower_lag(broker, 0)

    def owns(self, topic: str) -> bool:
        """True if leaders and replicas of a topic may be moved, and batches keep their producers' checksums."""
        return True

    async def move(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> str | None:
        """Move partitions to these brokers, the first to lead; returns why they cannot, or None once they are there."""
        for index, brokers in replicas.items():
            self.mock.move_replicas(topic, index, brokers)
        return None

    async def stop_rack(self, rack: str) -> list[int]:
        """Stop the brokers of a rack for programs; returns their ids."""
        return await self.mock.stop_rack(rack)

    async def start_rack(self, rack: str) -> None:
        """Start them again."""
        await self.mock.start_rack(rack)

    def outage_rack(self, followers: Mapping[int, int], coordinators: AbstractSet[int]) -> str | None:
        """The rack to stop: one that is read from, and rather one without a coordinator; None where none may be.

        Args:
            followers: broker -> how many partitions are read there that it follows.
            coordinators: of groups and transactions of the program.
        """
        if not followers:
            return self.mock.state.liveness.racks()[-1]
        # Members that lose their coordinator join again, which frees a reader that hangs on a follower.
        most = max(sorted(followers), key=lambda one: (one not in coordinators, followers[one]))
        return self.mock.state.brokers[most].rack

    async def logged(self, place: TopicPartition, first: int, end: int) -> list[BatchHeader]:
        """The batches that are in a partition's log from one offset to another."""
        log = self.mock.state.find_partition(*place).log
        return [header for data in log.read(log.start_offset, WHOLE_LOG) for header in iter_batches(data)]


def batch_to_feed(topic: str, index: int, count: int, now_ms: int) -> bytes:
    """Records for a partition that the program reads."""
    values = (f"{topic}-{index} {now_ms} {number} ".encode().ljust(VALUE_BYTES, b".") for number in range(count))
    return build_batch([Record(value=value, timestamp=now_ms) for value in values])
