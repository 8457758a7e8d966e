"""Which partitions ``kafka-rack topics --describe`` is asked for: those that lack replicas or a leader.

Source: TopicCommand.PartitionDescription, Apache Kafka 4.1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from kafka_rack.cli.live.cluster import LiveCluster
from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition

Judge = Callable[[LayoutPartition, int, int], bool]
"""Whether a partition is one of those; given min.insync.replicas and how many replicas are only on their way to it."""


def is_under_replicated(partition: LayoutPartition, _: int, adding: int) -> bool:
    return len(partition.isr or ()) < len(partition.replicas) - adding


def is_under_min_isr(partition: LayoutPartition, min_insync_replicas: int, _: int) -> bool:
    return partition.leading < 0 or len(partition.isr or ()) < min_insync_replicas


def is_at_min_isr(partition: LayoutPartition, min_insync_replicas: int, _: int) -> bool:
    return len(partition.isr or ()) == min_insync_replicas


def is_unavailable(partition: LayoutPartition, _min: int, _adding: int) -> bool:
    return partition.leading < 0


FILTERS: dict[str, tuple[Judge, str]] = {
    "under_replicated_partitions": (is_under_replicated, "with replicas out of sync"),
    "under_min_isr_partitions": (is_under_min_isr, "with fewer in-sync replicas than min.insync.replicas"),
    "at_min_isr_partitions": (is_at_min_isr, "with just as many in-sync replicas as min.insync.replicas"),
    "unavailable_partitions": (is_unavailable, "without a leader"),
}


def add_partition_filters(parser: argparse.ArgumentParser) -> None:
    """One option a filter; no two go together."""
    filters = parser.add_mutually_exclusive_group()
    for name, (_, which) in FILTERS.items():
        option = f"--{name.replace('_', '-')}"
        filters.add_argument(option, action="store_true", help=f"of --describe: only partitions {which}")


def chosen_partitions(
    cluster: LiveCluster, arguments: argparse.Namespace, layout: ClusterLayout
) -> dict[str, list[int]] | None:
    """Topic -> the numbers of its partitions that are asked for; None where there is no filter.

    Diskless topics have no replicas, so none of theirs is chosen.
    """
    judge = next((judge for name, (judge, _) in FILTERS.items() if getattr(arguments, name)), None)
    if judge is None:
        return None
    moves = cluster.moves_under_way() if judge is is_under_replicated else []
    adding = {(move.topic, move.partition): len(move.adding) for move in moves}
    chosen: dict[str, list[int]] = {}
    for name, number, partition in layout.without_diskless().each_partition():
        if judge(partition, layout.topics[name].min_insync_replicas or 1, adding.get((name, number), 0)):
            chosen.setdefault(name, []).append(number)
    return chosen
