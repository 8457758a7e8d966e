"""Rack-aware assignors for aiokafka.

    AIOKafkaConsumer(
        "orders",
        group_id="readers",
        client_rack="az1",
        partition_assignment_strategy=[RackAwareRangeAssignor("az1")],
    )

aiokafka reads subscriptions as version 0, without racks. Creating an assignor of this module adds the later fields, for
all consumers in the process; consumers with other assignors see no difference. aiokafka only rebalances eagerly, so
there is no cooperative assignor, and it passes neither generations nor static members' ids to assignors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocol,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

from kafka_rack.assignment.clients.leading import Leading
from kafka_rack.assignment.clients.subscriptions import VERSION, LastAssignment, assign_group, grouped, plain_cluster
from kafka_rack.assignment.members import Member
from kafka_rack.assignment.user_data import NO_GENERATION
from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned


class RackAwareSubscription(ConsumerProtocolMemberMetadata):  # type: ignore[misc]  # aiokafka's types are not exported
    """A subscription of any version; beside aiokafka's fields it has all of Kafka's as ``whole``."""

    whole: ConsumerProtocolSubscription

    @classmethod
    def of(cls, version: int, whole: ConsumerProtocolSubscription) -> RackAwareSubscription:
        made = cls(version, whole.topics, whole.user_data or b"")
        made.whole = whole
        return made

    def encode(self) -> bytes:
        return write_versioned(self.whole, self.version)

    @classmethod
    def decode(cls, data: BytesIO | bytes) -> RackAwareSubscription:
        taken = data if isinstance(data, bytes) else data.read()
        return cls.of(int.from_bytes(taken[:2], signed=True), read_versioned(ConsumerProtocolSubscription, taken))


class RackAwareAssignor(AbstractPartitionAssignor):  # type: ignore[misc]  # see RackAwareSubscription
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
        ConsumerProtocol.METADATA = RackAwareSubscription

    # aiokafka uses its own assignors as classes, but does not require that.
    def metadata(self, topics: Iterable[str]) -> RackAwareSubscription:
        """The member's subscription, version 3."""
        return RackAwareSubscription.of(
            VERSION,
            ConsumerProtocolSubscription(
                topics=sorted(topics),
                user_data=self.ownership.user_data(self.name),
                rack_id=self.rack or None,
            ),
        )

    def assign(self, cluster: Any, members: Mapping[str, Any]) -> dict[str, Any]:
        """Assign the partitions; subscriptions of older versions only lack racks."""
        group = [_member(member_id, said) for member_id, said in members.items()]
        topics = sorted({topic for member in group for topic in member.topics})
        answer = assign_group(self.name, _view(cluster, topics), group)
        self.leading.assigned(cluster, topics)
        return {
            member: ConsumerProtocolMemberAssignment(0, grouped(partitions), b"")
            for member, partitions in answer.items()
        }

    def on_assignment(self, assignment: Any) -> None:
        """Store this member's assignment."""
        owned = [(part.topic, part.partition) for part in assignment.partitions()]
        self.ownership.assigned(owned, NO_GENERATION)
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


def _view(cluster: Any, topics: Iterable[str]) -> dict[str, Any]:
    """The client's metadata in the plain form; reads replicas from the library's private attributes."""
    replicas = {
        topic: {number: partition.replicas for number, partition in cluster._partitions[topic].items()}
        for topic in topics
        if topic in cluster._partitions
    }
    return plain_cluster({broker.nodeId: broker.rack for broker in cluster.brokers()}, replicas)


def _member(member_id: str, said: Any) -> Member:
    whole = getattr(said, "whole", None)
    if whole is None:  # decoded before the first of our assignors was made
        return Member(member_id, list(said.subscription), user_data=said.user_data)
    return Member(
        member_id,
        list(whole.topics),
        rack=whole.rack_id,
        owned=[(part.topic, list(part.partitions)) for part in whole.owned_partitions],
        generation=whole.generation_id,
        user_data=whole.user_data,
    )
