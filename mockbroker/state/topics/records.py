"""The records that create, expand and delete a topic.

Source: ReplicationControlManager.createTopic, createPartitions and deleteTopic, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from mockbroker.state.configs.values import text_of
from mockbroker.state.image import TOPIC_RESOURCE, PartitionRegistration, partition_record
from mockbroker.state.topics.topic import NO_LEADER
from protocol.embedded.metadata_topics import PartitionRecord, TopicRecord


def topic_records(
    name: str,
    topic_id: bytes,
    configs: Mapping[str, Any],
    rows: Sequence[tuple[int, ...]],
    online: Container[int],
) -> Iterator[object]:
    """The records of a new topic, its configs, and one partition per row of replicas."""
    yield TopicRecord(name=name, topic_id=topic_id)
    if configs:
        from protocol.embedded.metadata_settings import ConfigRecord

        for key, value in configs.items():
            yield ConfigRecord(resource_type=TOPIC_RESOURCE, resource_name=name, name=key, value=text_of(value))
    yield from partition_records(topic_id, 0, rows, online)


def partition_records(
    topic_id: bytes, first: int, rows: Sequence[tuple[int, ...]], online: Container[int]
) -> Iterator[PartitionRecord]:
    """New partitions from number ``first`` on; the ISR has the online replicas, or all if none is online."""
    for index, replicas in enumerate(rows, first):
        isr = [replica for replica in replicas if replica in online]
        leader = isr[0] if isr else NO_LEADER
        yield partition_record(topic_id, index, PartitionRegistration(replicas, tuple(isr) or replicas, leader, 0, 0))
