"""Topics and their partitions: replicas, ISRs, leaders and epochs.

Source: MetadataImage.write, TopicsDelta and PartitionRegistration.merge, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mockbroker.state.image.image import TOPIC_RESOURCE
from protocol.embedded.metadata_topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

if TYPE_CHECKING:
    from mockbroker.state.image.image import Apply, Image

NO_LEADER_CHANGE = -2
LISTS = (
    *("replicas", "isr", "directories", "removing_replicas", "adding_replicas"),
    *("eligible_leader_replicas", "last_known_elr"),
)
"""The lists of a partition, with equal names in its records."""
NO_DIRECTORY = bytes(15) + b"\1"  # DirectoryId.UNASSIGNED


@dataclass(slots=True)
class PartitionRegistration:
    """A partition's replicas, ISR and leader; the leader is -1 while there is none.

    ``leader_epoch`` counts the changes that make replicas check their logs again, ``partition_epoch`` all changes.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    directories: tuple[bytes, ...] = ()  # of the replicas, in their order; empty: none chosen
    removing_replicas: tuple[int, ...] = ()  # the replicas that a reassignment in progress removes
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()  # eligible leaders outside the ISR (KIP-966)
    last_known_elr: tuple[int, ...] = ()  # the last leader, while there is none

    def copy(self) -> PartitionRegistration:
        return replace(self)

    def directory_of(self, broker_id: int) -> bytes | None:
        """The id of the directory chosen for a broker's replica, None if none was."""
        held = dict(zip(self.replicas, self.directories, strict=False))
        return held.get(broker_id)


@dataclass(slots=True)
class TopicImage:
    """A topic: its name, its id (16 bytes), its partitions in order."""

    name: str
    id: bytes
    partitions: list[PartitionRegistration] = field(default_factory=list)

    def copy(self) -> TopicImage:
        return TopicImage(self.name, self.id, [partition.copy() for partition in self.partitions])


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
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            **{name: tuple(getattr(record, name) or ()) for name in LISTS},
        )
    )


def records(topics: dict[bytes, TopicImage]) -> Iterator[TopicRecord | PartitionRecord]:
    for topic in topics.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in enumerate(topic.partitions):
            lists: dict[str, Any] = {name: list(values) for name in LISTS if (values := getattr(partition, name))}
            yield PartitionRecord(
                partition_id=index,
                topic_id=topic.id,
                leader=partition.leader,
                leader_epoch=partition.leader_epoch,
                partition_epoch=partition.partition_epoch,
                **lists,
            )


def change_partition(image: Image, record: PartitionChangeRecord) -> None:
    """Change a partition; a record that names a leader begins an epoch, even if the leader is unchanged."""
    partition = image.topics[record.topic_id].partitions[record.partition_id]
    if record.replicas is not None and record.directories is None and partition.directories:
        held = dict(zip(partition.replicas, partition.directories, strict=True))
        partition.directories = tuple(held.get(replica, NO_DIRECTORY) for replica in record.replicas)
    for name in LISTS:
        values = getattr(record, name)
        if values is not None:
            setattr(partition, name, tuple(values))
    if record.leader != NO_LEADER_CHANGE:
        partition.leader = record.leader
        partition.leader_epoch += 1
    partition.partition_epoch += 1


def clear_elr(image: Image, record: ClearElrRecord) -> None:
    """Clear the eligible leaders outside ISRs, of one topic or of all."""
    for topic in image.topics.values():
        if record.topic_name in ("", topic.name):
            for partition in topic.partitions:
                if partition.eligible_leader_replicas or partition.last_known_elr:
                    partition.eligible_leader_replicas = partition.last_known_elr = ()
                    partition.partition_epoch += 1


APPLY: dict[type, Apply] = {
    ClearElrRecord: clear_elr,
    TopicRecord: create,
    RemoveTopicRecord: remove,
    PartitionRecord: add_partition,
    PartitionChangeRecord: change_partition,
}
