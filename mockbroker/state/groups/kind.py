"""The interface of every kind of group, for the coordinator and admin tools.

Classic groups are one kind; those of the consumer, share and streams protocols are others. Requests of one kind's
members go to its own class; everything below applies to any kind. A new kind of group:

- is a class with ``kind`` and ``replaces_empty_classic``, most simply a ``modern.group.ModernGroup``, in a package of
  its own (``consumer/`` is an example), and has its line in ``GROUP_CLASSES``, or in an optional part's;
- is found or made by ``Groups.find_or_make(SomeGroup, group_id, create=...)``, which raises what Kafka raises for an id
  that is free or belongs to another kind. A new group is not visible until ``Groups.register``, so a
  request that fails has no effect;
- is changed only by Kafka's own records: ``group.write(records)`` appends them to the coordinator's log and applies
  each to the live group. A new coordinator passes them to ``apply`` again, so only the effects of ``apply``
  survive; a fork retains the records of the group itself, and deletes those of members and expressions;
- has its deadlines in ``groups.timers`` under (group id, kind of deadline, member id); ``on_timer`` receives them.

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
"""Accepts the commit of one partition, or raises ApiError, which ends the whole commit."""

GROUP_CLASSES: dict[str, str] = {
    "ConsumerGroup": "mockbroker.state.groups.consumer.group",
} | merged("group_classes")
"""The module of each kind with its own records, by class name, which is the prefix of its keys' names."""


class CoordinatedGroup(Protocol):
    """A group of any kind.

    ``kind`` is its GroupType, spelled as Kafka does. ``replaces_empty_classic``: a member may turn a
    classic group without members into one of this kind. ``expires_without_offsets``: a group without members and
    offsets is removed at the next check for expired offsets.
    """

    kind: ClassVar[str]
    replaces_empty_classic: ClassVar[bool]
    expires_without_offsets: ClassVar[bool]
    id: str

    @property
    def protocol_type(self) -> str | None:
        """The protocol type of its members, None for a group that has never had any."""

    @property
    def state_name(self) -> str:
        """The state, as admin tools show it."""

    @property
    def member_count(self) -> int:
        """The number of members."""

    def on_timer(self, timer: Any, member_id: str, now_ms: int) -> None:
        """Handle one of the group's deadlines; its meaning depends on the kind."""

    def restart_sessions(self, now_ms: int) -> None:
        """Start a full session for every member, as a coordinator does when it loads the group."""

    def coordinator_moved(self) -> None:
        """Answer the calls that wait at the old coordinator after another broker has become it."""

    def retention_begun_ms(self, committed_ms: int) -> int | None:
        """The wall clock time at which the retention of an offset with this commit time began; None: it has not."""

    def accept_commit(
        self, member_id: str, instance_id: str | None, generation: int, now_ms: int, *, version: int
    ) -> CommitCheck | None:
        """Accept a commit of offsets; a check, if returned, decides for each partition. Raises ApiError."""

    def accept_transactional_commit(
        self, member_id: str, instance_id: str | None, generation: int
    ) -> CommitCheck | None:
        """Accept a transaction's offsets; a check, if returned, decides for each partition. Raises ApiError."""

    def accept_fetch(self, member_id: str | None, generation: int) -> None:
        """Let a member read offsets. Raises ApiError."""

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str] | None:
        """The topics that members read, None if unknown.

        Raises ApiError: NON_EMPTY_GROUP, if members are not consumers.
        """

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""

    def tombstones(self) -> Sequence[CoordinatorRecord]:
        """The records that delete the group's state except its offsets."""

    def cancel_timers(self) -> None:
        """Cancel all deadlines of a group that ends or becomes one of another kind."""
