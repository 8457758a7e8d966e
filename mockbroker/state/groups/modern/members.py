"""A member of a group whose coordinator assigns, as it is in one epoch. It never changes: a new one takes its place.

Source: ModernGroupMember, MemberState, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
NOBODY = -1  # the epoch at which a partition is held that no member holds

Partitions = Mapping[bytes, frozenset[int]]
"""Partitions by topic id."""


class MemberState(IntEnum):
    """How far a member is on its way to its target; the numbers are those of records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(slots=True, frozen=True, kw_only=True)
class ModernMember:
    """What a member has said of itself, and the epoch that it has reached.

    ``topics`` are the names that it subscribes to. ``instance_id`` names a static member.
    """

    id: str
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: frozenset[str] = frozenset()

    def is_reconciled(self, assignment_epoch: int) -> bool:
        """Whether the member has all that its target of this epoch gives it, and nothing else."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def with_metadata(self, value: Any) -> Self:
        """The member, having said what the record says. Each kind has its own."""
        raise NotImplementedError

    def with_assignment(self, value: Any) -> Self:
        """The member, having reached what the record says. Each kind has its own."""
        raise NotImplementedError

    def without_assignment(self) -> Self:
        """The member before it reached anything. Each kind has its own."""
        raise NotImplementedError
