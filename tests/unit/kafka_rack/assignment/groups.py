"""Small clusters and groups for the tests of assignment."""

from __future__ import annotations

from typing import Any

from kafka_rack.assignment import Assignment


def cluster(racks: list[str | None], replication_factor: int, **topics: int) -> dict[str, Any]:
    """Broker i in ``racks[i]``; the partitions of all topics, one after the other, start one broker further each."""
    brokers = len(racks)
    layout: dict[str, list[list[int]]] = {}
    start = 0
    for topic, partitions in topics.items():
        layout[topic] = [
            [(start + partition + replica) % brokers for replica in range(replication_factor)]
            for partition in range(partitions)
        ]
        start += partitions
    return {"nodes": [[broker, rack] for broker, rack in enumerate(racks)], "topics": layout}


def consumers(topics: list[list[str]], racks: list[str | None]) -> dict[str, Any]:
    """consumer0, consumer1, ... with these subscriptions and racks."""
    return {
        f"consumer{index}": {"topics": subscribed, "rack": rack}
        for index, (subscribed, rack) in enumerate(zip(topics, racks, strict=True))
    }


def short(assignment: Assignment) -> list[str]:
    """Each member's partitions as "t1-0 t1-1", members sorted."""
    return [
        " ".join(f"{topic}-{partition}" for topic, partition in sorted(pairs))
        for _, pairs in sorted(assignment.items())
    ]


def mismatches(cluster: dict[str, Any], members: dict[str, Any], assignment: Assignment) -> int:
    """How many partitions have no replica in the rack of their consumer; one without a rack never counts."""
    rack_of = dict(map(tuple, cluster["nodes"]))
    return sum(
        members[member]["rack"] not in {rack_of.get(broker) for broker in cluster["topics"][topic][partition]}
        for member, pairs in assignment.items()
        if members[member]["rack"]
        for topic, partition in pairs
    )
