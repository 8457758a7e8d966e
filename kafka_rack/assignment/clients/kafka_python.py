"""Rack-aware assignors for kafka-python 3.

KafkaConsumer(
    "orders",
    group_id="readers",
    client_rack="az1",
    partition_assignment_strategy=[RackAwareCooperativeStickyAssignor("az1")],
)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from kafka_rack.assignment.clients.leading import Leading
from kafka_rack.assignment.clients.subscriptions import VERSION, LastAssignment, assign_group, grouped, plain_cluster
from kafka_rack.assignment.members import Member


class RackAwareAssignor(AbstractPartitionAssignor):  # type: ignore[misc]  # kafka-python has no types
    """The common base of the assignors below.

    Args:
        rack: the member's rack, as its client_rack; None: it has none.
        broker_down_is_change: as leader, take a broker that goes down for a change of racks, as Kafka did up to 4.3.
    """

    name = ""

    def __init__(self, rack: str | None = None, *, broker_down_is_change: bool = False) -> None:
        self.rack = rack
        self.ownership = LastAssignment()
        self.leading = Leading(rack, _view, broker_down_is_change=broker_down_is_change)

    def metadata(self, topics: Iterable[str]) -> Any:
        """The member's subscription, version 3."""
        owned = [
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
            for topic, partitions in self.ownership.owned(self.name)
        ]
        return ConsumerProtocolSubscription(
            version=VERSION,
            topics=sorted(topics),
            user_data=self.ownership.user_data(self.name),
            owned_partitions=owned,
            generation_id=self.ownership.generation,
            rack_id=self.rack or None,
        )

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, Any]:
        """Share the partitions out; subscriptions of older versions just lack racks."""
        group = [_member(member) for member in members]
        topics = sorted({topic for member in group for topic in member.topics})
        answer = assign_group(self.name, _view(cluster, topics), group)
        self.leading.assigned(cluster, topics)
        return {
            member: ConsumerProtocolAssignment(0, grouped(partitions), b"") for member, partitions in answer.items()
        }

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Remember what this member has been assigned."""
        self.ownership.assigned([(part.topic, part.partition) for part in assignment.partitions()], generation)
        self.leading.joined()


class RackAwareRangeAssignor(RackAwareAssignor):
    """Range, within racks where balance and co-partitioning allow."""

    name = "range"


class RackAwareRoundRobinAssignor(RackAwareAssignor):
    """Round robin: it does not look at racks, but lets a group change over to assignors that do."""

    name = "roundrobin"


class RackAwareStickyAssignor(RackAwareAssignor):
    """Sticky: balance before locality before stickiness."""

    name = "sticky"


class RackAwareCooperativeStickyAssignor(RackAwareAssignor):
    """Sticky, and partitions that stay are read on during a rebalance."""

    name = "cooperative-sticky"

    def supported_protocols(self) -> list[Any]:
        return [RebalanceProtocol.COOPERATIVE]


def _view(cluster: Any, topics: Iterable[str]) -> dict[str, Any]:
    """The client's metadata in the plain form. The library keeps replicas where only its own code looks."""
    replicas = {
        topic: {number: partition.replica_nodes for number, partition in cluster._partitions[topic].items()}
        for topic in topics
        if topic in cluster._partitions
    }
    return plain_cluster({broker.node_id: broker.rack for broker in cluster.brokers()}, replicas)


def _member(joined: Any) -> Member:
    """A member as the coordinator gives it to the leader, its subscription decoded."""
    said = joined.metadata
    return Member(
        joined.member_id,
        list(said.topics),
        rack=getattr(said, "rack_id", None),
        instance_id=getattr(joined, "group_instance_id", None),
        owned=[(part.topic, list(part.partitions)) for part in getattr(said, "owned_partitions", None) or ()],
        generation=getattr(said, "generation_id", None),
        user_data=None if said.user_data is None else bytes(said.user_data),
    )
