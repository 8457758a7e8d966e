"""What the clients of a simulation saw, as operations for ``kafka_rack.consistency``, and what groups were told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_rack.consistency import Operation
from kafka_rack.consistency.sharing import LostShareFetch, ShareAcknowledgement, ShareDelivery


class CommittedOffset(NamedTuple):
    """An offset that a coordinator took for a group: from whom, in which generation, and when it was asked."""

    client: str
    group: str
    generation: int
    topic: str
    partition: int
    offset: int
    asked_at: int
    answered_at: int


class GenerationStarted(NamedTuple):
    """A member has been told that its group is in this generation."""

    group: str
    generation: int
    at: int


@dataclass(slots=True, eq=False)
class SharingHistory:
    """What members of share groups were given and said; ``lost`` has the fetches without an answer so far."""

    deliveries: list[ShareDelivery] = field(default_factory=list)
    acknowledgements: list[ShareAcknowledgement] = field(default_factory=list)
    lost: dict[LostShareFetch, None] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ClientHistory:
    """``operations`` in the order of their ends; ``unexpected`` has answers that no client should get, by topic."""

    operations: list[Operation] = field(default_factory=list)
    commits: list[CommittedOffset] = field(default_factory=list)
    generations: list[GenerationStarted] = field(default_factory=list)
    unexpected: list[tuple[str, str]] = field(default_factory=list)
    sharing: SharingHistory = field(default_factory=SharingHistory)

    def add(self, operation: Operation) -> None:
        self.operations.append(operation)
