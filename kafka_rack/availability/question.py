"""The question behind a row: a cluster of some size, a topic, a placer and an outage."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_rack.availability.chances import Outage
from kafka_rack.errors import InputError, InvalidReplicationFactorError
from kafka_rack.placement import UsableBroker

RANDOM = "random"
PLACERS = ("broker-replica", "copyset", RANDOM, "rack-aware", "striped", "unaware")


@dataclass(frozen=True, slots=True)
class Question:
    """A cluster, a topic and an outage."""

    brokers: int
    partitions: int
    replication_factor: int
    failures: int
    placer: str
    racks: int | None = None
    min_insync_replicas: int = 1
    rack_failures: int = 0

    @property
    def outage(self) -> Outage:
        return Outage(self.failures, self.rack_failures)

    def usable_brokers(self) -> list[UsableBroker]:
        """Brokers from 0 on, assigned to the racks in turn."""
        return [
            UsableBroker(number, f"rack-{number % self.racks}" if self.racks else None)
            for number in range(self.brokers)
        ]


def check_question(question: Question) -> None:
    """Raises InputError, InvalidReplicationFactorError, with messages for users: an invalid question."""
    if question.placer not in PLACERS:
        raise InputError(f"placer: expected one of {', '.join(PLACERS)}, got {question.placer!r}")
    if question.partitions < 1:
        raise InputError(f"partitions: expected 1 or more, got {question.partitions}")
    if not 1 <= question.replication_factor <= question.brokers:
        raise InvalidReplicationFactorError(
            f"replication factor: expected 1 to the {question.brokers} brokers, got {question.replication_factor}"
        )
    if not 1 <= question.min_insync_replicas <= question.replication_factor:
        raise InputError(
            f"min.insync.replicas: expected 1 to replication factor {question.replication_factor}, "
            f"got {question.min_insync_replicas}"
        )
    if question.racks is not None and not 1 <= question.racks <= question.brokers:
        raise InputError(f"racks: expected 1 to the {question.brokers} brokers, got {question.racks}")
