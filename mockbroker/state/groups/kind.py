"""What every kind of group has in common, as the coordinator and admin tools see it.

Classic groups are one kind; those of the consumer, share and streams protocols are others. What members of one kind
send goes to its own class; everything below goes to any. A new kind of group:

- is a class with ``kind`` and ``replaces_empty_classic``, most simply a ``modern.group.ModernGroup``, in a package of
  its own (``consumer/`` is an example), and has its line in ``GROUP_CLASSES``, or in an optional part's;
- is found or made by ``Groups.find_or_make(SomeGroup, group_id, create=...)``, which raises what Kafka raises for an id
  that is free or belongs to another kind. A group that was made is known to nobody until ``Groups.register``, so a
  request that fails leaves nothing behind;
- changes by Kafka's own records alone: ``group.write(records)`` appends them to the coordinator's log and applies each
  to the group that runs. A new coordinator gives them to ``apply`` again, so what ``apply`` makes of them is all that
  survives; a fork keeps those of the group itself, and deletes those of members and expressions;
- has its deadlines in ``groups.timers`` under (group id, what for, member id), and gets them by ``on_timer``.

Source: Group and GroupMetadataManager.getOrMaybeCreateConsumerGroup and its like, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Protocol

from mockbroker.parts import merged
from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.image.image import TopicPartition

TopicsOf = Callable[[bytes], Collection[str] | None]
"""The topics in a member's subscription (the metadata of its protocol), None if it cannot be read."""
CommitCheck = Callable[[TopicPartition], None]
"""Lets the commit of one partition pass, or raises ApiError, which ends the whole commit."""

GROUP_CLASSES: dict[str, str] = {
    "ConsumerGroup": "mockbroker.state.groups.consumer.group",
} | merged("group_classes")
"""The module of each kind that keeps records of its own, by the name of the class, with which its keys' names begin."""


class CoordinatedGroup(Protocol):
    """A group of any kind.

    ``kind`` is its GroupType, in the case in which Kafka writes it. ``replaces_empty_classic``: a member may turn a
    classic group without members into one of this kind. ``expires_without_offsets``: one without members and offsets is
    kept no longer than until Kafka looks.
    """

    kind: ClassVar[str]
    replaces_empty_classic: ClassVar[bool]
    expires_without_offsets: ClassVar[bool]
    id: str

    @property
    def protocol_type(self) -> str | None:
        """What members call what they do together, None of a group that never had any."""

    @property
    def state_name(self) -> str:
        """The state as admin tools are told it."""

    @property
    def member_count(self) -> int:
        """How many members it has."""

    def on_timer(self, timer: Any, member_id: str, now_ms: int) -> None:
        """One of the group's deadlines was reached; the kind knows what about."""

    def restart_sessions(self, now_ms: int) -> None:
        """Give every member a whole session from now, as a coordinator does when it takes the group over."""

    def coordinator_moved(self) -> None:
        """Another broker coordinates the group: answer the calls that wait at the old one."""

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """When the retention of an offset that was committed then began, by the wall clock; None: it has not."""

    def accept_commit(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int, *, version: int
    ) -> CommitCheck | None:
        """Let a commit of offsets pass, but for partitions that a check is given for. Raises ApiError."""

    def accept_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> CommitCheck | None:
        """Let a transaction's offsets pass, but for partitions that a check is given for. Raises ApiError."""

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Let a member read offsets. Raises ApiError."""

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str] | None:
        """The topics that members read, None where that cannot be known.

        Raises ApiError: NON_EMPTY_GROUP, for members that are no consumers.
        """

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""

    def tombstones(self) -> Sequence[CoordinatorRecord]:
        """The records that delete all that is kept of the group but its offsets."""

    def cancel_timers(self) -> None:
        """The group ends or becomes one of another kind: none of its deadlines counts any more."""
