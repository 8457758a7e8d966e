"""Topics and their partitions: replicas, the in-sync ones, leaders and epochs.

Source: TopicsDelta and PartitionRegistration.merge, Apache Kafka 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mockbroker.state.image.image import TOPIC_RESOURCE
from protocol.embedded.metadata_topics import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image

NO_LEADER_CHANGE = -2


@dataclass(slots=True)
class PartitionRegistration:
    """Who has a replica of a partition, who is in sync and who leads it; -1 while nobody does.

    ``leader_epoch`` counts what makes replicas look at their logs anew, ``partition_epoch`` every change.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


@dataclass(slots=True)
class TopicImage:
    """A topic: its name, its id (16 bytes), its partitions in order."""

    name: str
    id: bytes
    partitions: list[PartitionRegistration] = field(default_factory=list)


def create(image: Image, record: TopicRecord) -> None:
    image.topics[record.topic_id] = TopicImage(record.name, record.topic_id)


def remove(image: Image, record: RemoveTopicRecord) -> None:
    topic = image.topics.pop(record.topic_id)
    image.configs.pop((TOPIC_RESOURCE, topic.name), None)


def add_partition(image: Image, record: PartitionRecord) -> None:
    partitions = image.topics[record.topic_id].partitions
    assert record.partition_id == len(partitions), (record.partition_id, len(partitions))
    partitions.append(
        PartitionRegistration(
            tuple(record.replicas), tuple(record.isr), record.leader, record.leader_epoch, record.partition_epoch
        )
    )


def change_partition(image: Image, record: PartitionChangeRecord) -> None:
    """A leader that is named begins an epoch, even if it is the one there was."""
    partition = image.topics[record.topic_id].partitions[record.partition_id]
    if record.replicas is not None:
        partition.replicas = tuple(record.replicas)
    if record.isr is not None:
        partition.isr = tuple(record.isr)
    if record.leader != NO_LEADER_CHANGE:
        partition.leader = record.leader
        partition.leader_epoch += 1
    partition.partition_epoch += 1


APPLY: dict[type, Apply] = {
    TopicRecord: create,
    RemoveTopicRecord: remove,
    PartitionRecord: add_partition,
    PartitionChangeRecord: change_partition,
}
