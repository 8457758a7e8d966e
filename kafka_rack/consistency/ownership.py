"""Which member of a group owns a partition in which generation."""

from __future__ import annotations

from collections.abc import Callable

from kafka_rack.consistency.findings import Findings, shown_name, shown_time
from kafka_rack.consistency.history import Assignment, TopicPartition
from kafka_rack.consistency.permission import DOUBLE_OWNERSHIP

MAX_GENERATIONS = 3
"""Of a group; an assignment of an older one is no longer compared."""


class Ownership:
    """Assignments of the last generations of each group, at most about ``max_owners`` partitions of them."""

    def __init__(self, max_owners: int | None) -> None:
        self._max_owners = max_owners
        self._groups: dict[str, dict[int, dict[TopicPartition, str]]] = {}
        self._num_owners = 0

    def assigned(self, assignment: Assignment, findings: Findings) -> None:
        """A member has these partitions in place of those that it had in this generation."""
        generations = self._groups.pop(assignment.group, None) or {}
        self._groups[assignment.group] = generations
        member, number = assignment.client, assignment.generation
        owners = generations.setdefault(number, {})
        if len(generations) > MAX_GENERATIONS:
            self._num_owners -= len(generations.pop(min(generations)))
        before = len(owners)
        for place in [place for place, owner in owners.items() if owner == member]:
            del owners[place]
        for place in assignment.partitions:
            owner = owners.setdefault(place, member)
            if owner != member:
                findings.add(
                    "double-ownership", DOUBLE_OWNERSHIP, place, (), (owner, member), evidence_of(assignment, owner)
                )
        if number in generations:
            self._num_owners += len(owners) - before
        while self._max_owners is not None and self._num_owners + len(self._groups) > self._max_owners:
            gone = self._groups.pop(next(iter(self._groups)))
            self._num_owners -= sum(map(len, gone.values()))


def evidence_of(assignment: Assignment, owner: str) -> Callable[[], str]:
    return lambda: (
        f"generation {assignment.generation} of group {shown_name(assignment.group)} gave it to {shown_name(owner)}, "
        f"and at {shown_time(assignment.at)} to {shown_name(assignment.client)}"
    )
