"""A member of a group whose coordinator assigns, in one epoch. It is immutable; a change makes a new object.

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
NOBODY = -1  # the holder's epoch of a partition without a holder

Partitions = Mapping[bytes, frozenset[int]]
"""Partitions by topic id."""


class MemberState(IntEnum):
    """The progress of a member towards its target; the numbers are those in records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(slots=True, frozen=True, kw_only=True)
class ModernMember:
    """A member's metadata, and the epoch that it has reached.

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
        """True if the member has exactly the partitions of its target of this epoch."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def with_metadata(self, value: Any) -> Self:
        """The member with the metadata in the record. Each kind overrides this."""
        raise NotImplementedError

    def with_assignment(self, value: Any) -> Self:
        """The member with the assignment in the record. Each kind overrides this."""
        raise NotImplementedError

    def without_assignment(self) -> Self:
        """The member before its first assignment. Each kind overrides this."""
        raise NotImplementedError
