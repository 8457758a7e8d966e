"""Replicas of a topic that are placed here and sent to a live cluster as they are, and how they are shown."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from typing import Any

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.whole_numbers import MAX_ID, number_in
from kafka_rack.cli.output.tables import table
from kafka_rack.cluster_layout import ClusterLayout
from kafka_rack.errors import KafkaRackError, MissingRackError
from kafka_rack.placement import (
    CLASS_SETTING,
    DISABLED,
    ENFORCED,
    SEED_SETTING,
    SHIFT_SETTING,
    START_INDEX_SETTING,
    close_placer,
    load_placer,
    place_checked,
)
from kafka_rack.placement.rack_aware import start_index_of_growth
from kafka_rack.rack_spread import spread_of, usable_racks


def placed(
    arguments: argparse.Namespace,
    layout: ClusterLayout,
    partitions: int,
    replication_factor: int,
    existing: Sequence[Sequence[int]] = (),
) -> list[list[int]]:
    """The replicas of new partitions over the brokers that are up.

    Start index and shift are those that are given; else those of a new topic are drawn, as Kafka draws them, and a
    topic that grows goes on from the preferred leader of its first partition, as KIP-36's TopicCommand has it.

    Args:
        partitions: how many are to be placed.
        existing: the replicas of the partitions that the topic has, from 0 up.

    Raises: CommandError: there is no such placer, or it refuses.
    """
    settings = {CLASS_SETTING: arguments.placer or "rack-aware"}
    up = [broker for broker in layout.brokers if not broker.fenced]
    if arguments.start_index is not None or arguments.next_replica_shift is not None:
        settings[START_INDEX_SETTING] = str(arguments.start_index or 0)
        if arguments.next_replica_shift is not None:
            settings[SHIFT_SETTING] = str(arguments.next_replica_shift)
    elif existing and arguments.seed is None:
        settings[START_INDEX_SETTING] = str(start_index_of_growth(up, existing[0][0])) if up else "0"
    else:
        settings[SEED_SETTING] = str(random.randrange(1 << 48) if arguments.seed is None else arguments.seed)
    mode = DISABLED if arguments.ignore_racks else ENFORCED
    try:
        placer = load_placer(settings)
        try:
            return place_checked(placer, len(existing), partitions, replication_factor, up, rack_mode=mode)
        finally:
            close_placer(placer)
    except MissingRackError as error:
        raise CommandError(f"{error} with --ignore-racks") from error
    except KafkaRackError as error:
        raise CommandError(str(error)) from error


def warn_of_shared_racks(
    arguments: argparse.Namespace, layout: ClusterLayout, rows: Sequence[Sequence[int]], first: int = 0
) -> None:
    """Replicas by hand are sent as they are; that they share racks without need is said."""
    racks, rack_of = usable_racks(layout), layout.rack_of
    shared = [number for number, row in enumerate(rows) if spread_of(row, rack_of, racks).misplaced]
    if shared:
        sys.stderr.write(
            f"{arguments.program}: note: {len(shared)} of {len(rows)} partitions have two replicas in a rack while "
            f"another rack has none, first partition {first + shared[0]}\n"
        )


def rows_json(rows: Sequence[Sequence[int]], layout: ClusterLayout, first: int = 0) -> dict[str, Any]:
    """The replicas of partitions from ``first`` on, for programs."""
    racks = layout.rack_of
    return {
        "partitions": [
            {"partition": number, "replicas": list(row), "racks": [racks.get(broker) for broker in row]}
            for number, row in enumerate(rows, first)
        ]
    }


def rows_table(name: str, rows: Sequence[Sequence[int]], layout: ClusterLayout, first: int = 0) -> str:
    """The replicas of partitions from ``first`` on, for people."""
    racks = layout.rack_of
    return table(
        ["partition", "replicas", "racks"],
        [[f"{name}-{number}", ids(row), racks_of(row, racks)] for number, row in enumerate(rows, first)],
    )


def assignment_in(text: str) -> list[list[int]]:
    """Replicas by hand, in the form of Kafka's own tool.

    >>> assignment_in("0:1:2,1:2:0")
    [[0, 1, 2], [1, 2, 0]]
    """
    rows: list[list[int]] = []
    for number, word in enumerate(text.split(",")):
        words = word.strip().split(":")
        if not all(one.isdecimal() for one in words):
            raise UsageError(f"--replica-assignment, partition {number}: expected ids as 0:1, got {word.strip()!r}")
        row = [number_in(f"--replica-assignment: partition {number}", one, MAX_ID) for one in words]
        if len(set(row)) < len(row):
            raise UsageError(f"--replica-assignment: partition {number} has a broker twice in {word.strip()}")
        if rows and len(row) != len(rows[0]):
            raise UsageError(
                f"--replica-assignment: partition {number} has {len(row)} replicas, but partition 0 has {len(rows[0])}"
            )
        rows.append(row)
    return rows


def ids(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def racks_of(brokers: Sequence[int], racks: dict[int, str | None]) -> str:
    """The racks of brokers between commas: a dash for none, a question mark for a broker that is not listed."""
    return ",".join((racks[broker] or "-") if broker in racks else "?" for broker in brokers)
