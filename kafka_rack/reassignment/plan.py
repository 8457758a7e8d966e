"""A reassignment in the form of Kafka's own tool, for some partitions or for all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.errors import InputError
from kafka_rack.java import utf16_key


class Entry(NamedTuple):
    """The current or planned replicas of one partition, preferred leader first."""

    topic: str
    partition: int
    replicas: tuple[int, ...]


def plan_json(entries: Iterable[Entry]) -> str:
    """A plan in the format of kafka-reassign-partitions, byte for byte: by topic, then partition; any log directory.

    >>> plan_json([Entry("orders", 4, (1, 2))])
    '{"version":1,"partitions":[{"topic":"orders","partition":4,"replicas":[1,2],"log_dirs":["any","any"]}]}'
    """
    partitions = [
        {
            "topic": entry.topic,
            "partition": entry.partition,
            "replicas": list(entry.replicas),
            "log_dirs": ["any"] * len(entry.replicas),
        }
        for entry in sorted(entries, key=lambda entry: (utf16_key(entry.topic), entry.partition))
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"), ensure_ascii=False)


def entries_of(layout: Mapping[str, Sequence[Sequence[int]]]) -> list[Entry]:
    """The entries of all partitions of a layout: topic -> the replicas of partition 0, 1, ..."""
    return [
        Entry(topic, number, tuple(replicas))
        for topic in sorted(layout, key=utf16_key)
        for number, replicas in enumerate(layout[topic])
    ]


def current_plan_of(layout: ClusterLayout, entries: Iterable[Entry]) -> list[Entry]:
    """The current replicas of a plan's partitions: the plan that reverts it.

    Raises: InputError: a topic, partition or broker of the plan is not in the cluster.
    """
    known = layout.rack_of
    current = []
    for topic, number, replicas in entries:
        if topic not in layout.topics:
            raise InputError(f"{topic}-{number}: there is no topic {topic}")
        partitions = layout.topics[topic].partitions
        if number >= len(partitions):
            raise InputError(f"{topic}-{number}: topic {topic} has partitions 0 to {len(partitions) - 1}")
        strangers = [broker for broker in replicas if broker not in known]
        if strangers:
            raise InputError(f"{topic}-{number}: broker {strangers[0]} is not among the brokers")
        current.append(Entry(topic, number, partitions[number].replicas))
    return current
