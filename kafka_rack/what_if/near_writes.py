"""Flows as they would be with producers whose partitioner is rack-aware (KIP-1123), and how evenly topics are written.

Of the records that a capture has, those move that ``unaware_partitioner`` is the reason for: without keys, by Java
clients of 4.4 or newer, and to another rack although a leader is in the producer's. They spread evenly over the
partitions led there, as the client's do (``writers``); what is read of them moves with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kafka_rack.locality.ledger import RECORD_BYTES
from kafka_rack.locality.reasons import CONSUME, PRODUCE
from kafka_rack.locality.tables import Amounts, add_amounts
from kafka_rack.locality.traffic import TrafficKey

if TYPE_CHECKING:
    from kafka_rack.what_if.workload import Workload

UNAWARE = "unaware_partitioner"
TopicPartition = tuple[str | None, int | None]
Flows = Mapping[TrafficKey, Amounts]
ReaderOf = Callable[[TrafficKey, int], tuple[str, str] | None]
"""The client that reads a partition in place of a flow's client; None if that is not known."""


def with_aware_partitioners(workload: Workload, reader_of: ReaderOf, anywhere: Collection[str]) -> Workload:
    """A workload whose producers choose partitions led in their rack, if they can.

    Args:
        anywhere: topics that any broker serves: their leaders are near anyway.
    """
    racks = {
        topic: {number: workload.brokers.get(layout.leader) for number, layout in partitions.items()}
        for topic, partitions in workload.topics.items()
        if topic not in anywhere
    }
    flows, before, after = moved_writes(workload.flows, racks, reader_of)
    copied = {}
    for (follower, topic, partition, leader), size in workload.replicated.items():
        place = topic, partition
        copied[follower, topic, partition, leader] = size * after[place] // before[place] if before[place] else size
    for topic, partition in after.keys() - before.keys() if copied else ():  # which nothing was written to
        layout = workload.topics[topic or ""][-1 if partition is None else partition]
        for follower in sorted(layout.in_sync - {layout.leader}):
            copied[follower, topic, partition, layout.leader] = after[topic, partition]
    return replace(workload, flows=flows, replicated=copied)


class MovedWrites(NamedTuple):
    """Flows of clients, and the record bytes written to each partition before and after."""

    flows: dict[TrafficKey, Amounts]
    before: Counter[TopicPartition]
    after: Counter[TopicPartition]


def moved_writes(
    flows: Flows, leader_racks: Mapping[str, Mapping[int, str | None]], reader_of: ReaderOf
) -> MovedWrites:
    """Move what rack-aware partitioners would write elsewhere.

    Args:
        leader_racks: of topics, by partition; without those that any broker serves.
    """
    found, before, after = dict[TrafficKey, Amounts](), Counter[TopicPartition](), Counter[TopicPartition]()
    moved: dict[TopicPartition, Counter[int]] = {}

    def add(key: TrafficKey, amounts: Amounts) -> None:
        found[key] = add_amounts(found.get(key), amounts)

    for key, amounts in flows.items():
        if key.category != PRODUCE:
            continue
        place, racks = (key.topic, key.partition), leader_racks.get(key.topic or "", {})
        before[place] += amounts[RECORD_BYTES]
        near = [number for number, rack in racks.items() if rack == key.client_rack]
        chosen = near if key.reason == UNAWARE and key.saves and near else [key.partition]
        for number, part in zip(chosen, divided(amounts, [1] * len(chosen)), strict=True):
            add(key._replace(partition=number), part)
            after[key.topic, number] += part[RECORD_BYTES]
            if number is not None and number != key.partition:
                moved.setdefault(place, Counter())[number] += part[RECORD_BYTES]
    for key, amounts in flows.items():
        place = key.topic, key.partition
        if key.category == PRODUCE:
            continue
        if key.category != CONSUME or place not in moved or not before[place]:
            add(key, amounts)
            continue
        moves = moved[place]
        stays = before[place] - moves.total()
        shares = [*([(key.partition, stays)] if stays else []), *moves.items()]
        for (number, _), part in zip(shares, divided(amounts, [share for _, share in shares]), strict=True):
            client = reader_of(key, number) if number is not None and number != key.partition else None
            client_id, host = client or (key.client_id, key.client_host)
            add(key._replace(partition=number, client_id=client_id, client_host=host), part)
    return MovedWrites(found, before, after)


def divided(amounts: Amounts, weights: Sequence[int]) -> Iterable[Amounts]:
    """Each amount by weights: the parts add up to it."""
    return zip(*(numbers_divided(number, weights) for number in amounts), strict=True)


def numbers_divided(number: int, weights: Sequence[int]) -> list[int]:
    """A number by weights: the parts add up to it.

    >>> numbers_divided(10, [1, 2])
    [4, 6]
    """
    total = sum(weights)
    parts = [number * weight // total for weight in weights]
    for place_of_rest in range(number - sum(parts)):
        parts[place_of_rest % len(parts)] += 1
    return parts


def skews(flows: Iterable[tuple[TrafficKey, Sequence[int]]], partitions: Mapping[str, int]) -> dict[str, float]:
    """For each topic that was written to, the bytes of its fullest partition by those of the mean: 1.0 is even.

    Args:
        partitions: how many each topic has.
    """
    written: dict[str, Counter[int | None]] = {}
    for key, amounts in flows:
        if key.category == PRODUCE and key.topic is not None and key.topic in partitions:
            written.setdefault(key.topic, Counter())[key.partition] += amounts[RECORD_BYTES]
    return {
        topic: round(max(sizes.values()) * partitions[topic] / sizes.total(), 3)
        for topic, sizes in sorted(written.items())
        if sizes.total()
    }
