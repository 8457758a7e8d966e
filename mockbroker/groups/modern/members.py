"""A member of a group whose coordinator assigns, in one epoch. It is immutable; a change makes a new object.

Source: ModernGroupMember, MemberState, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Self, TypeVar

from mockbroker.groups.kind import GroupMember, Sender

JOIN_EPOCH = 0
LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
NO_TIMEOUT = -1

Part = tuple[Any, int]
"""A partition, by its topic's id and its number, or a task, by its subtopology's id and its number."""
Partitions = frozenset[tuple[bytes, int]]


class MemberState(IntEnum):
    """The progress of a member towards its target; the numbers are those in records."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2


@dataclass(slots=True, frozen=True, kw_only=True)
class ModernMember(GroupMember):
    """A member's metadata, and the epoch that it has reached.

    ``topics`` are the names that it subscribes to. ``instance_id`` names a static member. ``assigned`` is what the
    member holds, ``pending_revocation`` what it has to revoke first.
    """

    id: str
    epoch: int = JOIN_EPOCH
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topics: frozenset[str] = frozenset()
    assigned: Any = frozenset()
    pending_revocation: Any = frozenset()

    @property
    def is_classic(self) -> bool:
        """True if the member uses the classic protocol."""
        return False

    def is_reconciled(self, assignment_epoch: int) -> bool:
        """True if the member has exactly the partitions of its target of this epoch."""
        return self.state is MemberState.STABLE and self.epoch == assignment_epoch

    def updated(self, value: Any, **others: Any) -> Self:
        """The member with the values of all fields that a record has too, and others."""
        known = {own: getattr(value, name) for name, own in self.common_with(type(value))}
        return replace(self, **known | others)

    def after_request(self, request: Any, sender: Sender, **others: Any) -> Self:
        """The member with what it sends, and others; a field that is None, and a time-out of -1, are unchanged."""
        sent = {own: getattr(request, name) for name, own in self.common_with(type(request))}
        topics = getattr(request, "subscribed_topic_names", None)
        sent |= {"id": None, "epoch": None, "topics": None if topics is None else frozenset(topics)} | others
        if sent.get("rebalance_timeout_ms") == NO_TIMEOUT:
            del sent["rebalance_timeout_ms"]
        changes = {name: value for name, value in sent.items() if value is not None}
        return replace(self, **changes, client_id=sender.client_id, client_host=sender.client_host)

    def metadata(self, kind: type[Any]) -> Any:
        """The record of the member's metadata."""
        return self.message(kind, subscribed_topic_names=sorted(self.topics))

    def with_metadata(self, value: Any) -> Self:
        """The member with the metadata in the record."""
        return self.updated(value, topics=frozenset(value.subscribed_topic_names))

    def assignment(self, kind: type[Any]) -> Any:
        """The record of the member's current assignment. Each kind overrides this."""
        raise NotImplementedError

    def with_assignment(self, value: Any) -> Self:
        """The member with the assignment in the record. Each kind overrides this."""
        raise NotImplementedError

    def absent(self) -> Self:
        """A static member that has left for a while. Kinds with static members override this."""
        raise NotImplementedError


SomeMember = TypeVar("SomeMember", bound=ModernMember)


def grouped(parts: Iterable[Part]) -> dict[Any, frozenset[int]]:
    """The numbers of partitions or tasks by topic or subtopology.

    >>> grouped([("b", 1), ("a", 0), ("b", 0)])
    {'b': frozenset({0, 1}), 'a': frozenset({0})}
    """
    found: dict[Any, set[int]] = {}
    for key, number in parts:
        found.setdefault(key, set()).add(number)
    return {key: frozenset(numbers) for key, numbers in found.items()}


def parts_of(messages: Iterable[Any]) -> frozenset[Part]:
    """The partitions or tasks in messages, which have a topic or subtopology, then its partitions."""
    return frozenset((key_of(one), number) for one in messages for number in one.partitions)


def with_epochs(recorded: Iterable[Any], epoch: int) -> dict[Part, int]:
    """The same with the epochs of their assignment in a record; ``epoch``, if the record does not have them."""
    found: dict[Part, int] = {}
    for one in recorded:
        epochs = one.assignment_epochs
        if epochs is None or len(epochs) != len(one.partitions):
            epochs = [max(epoch, 0)] * len(one.partitions)
        found.update(((key_of(one), number), since) for number, since in zip(one.partitions, epochs, strict=True))
    return found


def key_of(message: Any) -> Any:
    """The topic or subtopology of a message."""
    return getattr(message, message.__struct_fields__[0])


def messages_of(
    kind: type[Any], parts: Iterable[Part], order: Callable[[Iterable[Any]], Iterable[Any]] = sorted
) -> list[Any]:
    """Partitions or tasks as messages of this class, by topic or subtopology; with epochs, if they have them."""
    by_key = grouped(parts)
    found = [kind(key, sorted(by_key[key])) for key in order(by_key)]
    if isinstance(parts, Mapping):
        for one in found:
            one.assignment_epochs = [parts[key_of(one), number] for number in one.partitions]
    return found
