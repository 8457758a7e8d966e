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
        rack: the member's rack, equal to its client_rack; None for none.
        broker_down_is_change: as leader, treat a broker that goes down as a change of racks, as Kafka did up to 4.3.
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
        """Assign the partitions; subscriptions of older versions only lack racks."""
        group = [_member(member) for member in members]
        topics = sorted({topic for member in group for topic in member.topics})
        answer = assign_group(self.name, _view(cluster, topics), group)
        self.leading.assigned(cluster, topics)
        return {
            member: ConsumerProtocolAssignment(0, grouped(partitions), b"") for member, partitions in answer.items()
        }

    def on_assignment(self, assignment: Any, generation: int) -> None:
        """Store this member's assignment."""
        self.ownership.assigned([(part.topic, part.partition) for part in assignment.partitions()], generation)
        self.leading.joined()


class RackAwareRangeAssignor(RackAwareAssignor):
    """Range, within racks where balance and co-partitioning allow."""

    name = "range"


class RackAwareRoundRobinAssignor(RackAwareAssignor):
    """Round robin, without racks; lets a group migrate to assignors that use them."""

    name = "roundrobin"


class RackAwareStickyAssignor(RackAwareAssignor):
    """Sticky: balance before locality before stickiness."""

    name = "sticky"


class RackAwareCooperativeStickyAssignor(RackAwareAssignor):
    """Sticky; members continue to read their kept partitions during a rebalance."""

    name = "cooperative-sticky"

    def supported_protocols(self) -> list[Any]:
        return [RebalanceProtocol.COOPERATIVE]


def _view(cluster: Any, topics: Iterable[str]) -> dict[str, Any]:
    """The client's metadata in the plain form; reads replicas from the library's private attributes."""
    replicas = {
        topic: {number: partition.replica_nodes for number, partition in cluster._partitions[topic].items()}
        for topic in topics
        if topic in cluster._partitions
    }
    return plain_cluster({broker.node_id: broker.rack for broker in cluster.brokers()}, replicas)


def _member(joined: Any) -> Member:
    """A member from the coordinator's list for the leader, with its decoded subscription."""
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
