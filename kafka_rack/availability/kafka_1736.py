"""KAFKA-1736's table: the chance that two failed brokers leave any of 54 partitions unwritable, computed exactly.

The issue simulated it. Its figures for broker-replica placement vary randomly around the exact ones. It does not define
the placement of its "random" column; the table has the exact values of two interpretations beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from kafka_rack.availability.question import Question
from kafka_rack.availability.survey import Row, availability_row

PARTITIONS, REPLICATION_FACTOR, MIN_INSYNC_REPLICAS, FAILURES = 54, 3, 2, 2
ISSUE_FIGURES = {6: (0.999, 0.424), 9: (0.986, 0.228), 12: (0.894, 0.168)}
"""Brokers -> the issue's figures for random and for broker-replica placement."""
COMPARED_PLACERS = ("random", "unaware", "broker-replica")
NOTE = (
    "Left out by the table: outages become rarer but larger. The expected share of partitions that two failed brokers "
    "leave unwritable is the same for every placement of a cluster size (share_unwritable); broker-replica placement "
    "gathers it in fewer outages, each of which takes a whole group's partitions at once. The issue's random column "
    "(0.999, 0.986, 0.894) is met by neither reading of it: uniform sets come to 0.99999, 0.991 and 0.919, and Kafka's "
    "placement without racks to 1, 1 and 0.841. The issue's proposal for nine brokers has the same groups as "
    "broker-replica here, but its leaders rotate in another order, which changes no chance."
)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The chance that any partition is unwritable, by placement; ``issue_noise`` is the issue's figure minus ours."""

    brokers: int
    broker_replica: float
    issue_broker_replica: float
    issue_noise: float
    random_uniform: float
    unaware: float
    issue_random: float
    share_unwritable: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def kafka_1736_table() -> list[ComparisonRow]:
    """The issue's three clusters, of 6, 9 and 12 brokers with 54 partitions, RF 3, min.insync.replicas 2.

    >>> [round(row.broker_replica, 3) for row in kafka_1736_table()]
    [0.4, 0.25, 0.182]
    """
    return compared(
        availability_row(
            Question(
                brokers,
                PARTITIONS,
                REPLICATION_FACTOR,
                FAILURES,
                placer,
                min_insync_replicas=MIN_INSYNC_REPLICAS,
            )
        )
        for brokers in ISSUE_FIGURES
        for placer in COMPARED_PLACERS
    )


def compared(rows: Iterable[Row]) -> list[ComparisonRow]:
    """The issue's table from rows of any clusters; omits clusters without a row of each placer."""
    cells = {(row.brokers, row.placer): row for row in rows if is_cell(row)}
    table = []
    for brokers, (issue_random, issue_broker_replica) in ISSUE_FIGURES.items():
        if not all((brokers, placer) in cells for placer in COMPARED_PLACERS):
            continue
        uniform, unaware, replica = (cells[brokers, placer] for placer in COMPARED_PLACERS)
        table.append(
            ComparisonRow(
                brokers=brokers,
                broker_replica=replica.p_any_unwritable,
                issue_broker_replica=issue_broker_replica,
                issue_noise=issue_broker_replica - replica.p_any_unwritable,
                random_uniform=uniform.p_any_unwritable,
                unaware=unaware.p_any_unwritable,
                issue_random=issue_random,
                share_unwritable=replica.share_unwritable,
            )
        )
    return table


def is_cell(row: Row) -> bool:
    """True if a row answers the issue's question, for any cluster without racks."""
    asked = (row.partitions, row.replication_factor, row.min_insync_replicas, row.failures)
    wanted = (PARTITIONS, REPLICATION_FACTOR, MIN_INSYNC_REPLICAS, FAILURES)
    return asked == wanted and row.racks is None and row.rack_failures == 0
