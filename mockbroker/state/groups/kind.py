"""What every kind of group has in common, as the coordinator and admin tools see it.

Classic groups are one kind; those of the consumer, share and streams protocols are others. What members of one kind
send goes to its own class; everything below goes to any. Source: Group, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, ClassVar, Protocol

TopicsOf = Callable[[bytes], Collection[str] | None]
"""The topics in a member's subscription (the metadata of its protocol), None if it cannot be read."""


class CoordinatedGroup(Protocol):
    """A group of any kind. ``kind`` is its GroupType, in the case in which Kafka writes it."""

    kind: ClassVar[str]
    id: str
    protocol_type: str | None

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

    def accept_commit(self, member_id: str, instance_id: str | None, generation: int, now_ms: int) -> None:
        """Let a commit of offsets pass. Raises ApiError."""

    def accept_transactional_commit(self, member_id: str, instance_id: str | None, generation: int) -> None:
        """Let a transaction's offsets pass. Raises ApiError."""

    def subscribed_topics(self, topics_of: TopicsOf) -> Collection[str] | None:
        """The topics that members read, None where that cannot be known.

        Raises ApiError: NON_EMPTY_GROUP, for members that are no consumers.
        """

    def delete(self) -> None:
        """End the group. Raises ApiError: NON_EMPTY_GROUP."""
