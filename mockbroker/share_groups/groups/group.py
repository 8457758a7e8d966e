"""A share group at its coordinator: its members, their assignment, and its share partitions.

Source: ShareGroup, ShareGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from mockbroker.groups.modern.group import ModernGroup, RecordTypes
from mockbroker.groups.modern.members import MemberState, ModernMember, Partitions, messages_of, parts_of
from mockbroker.share_groups.share_states import share_of
from protocol.embedded import share_group_log
from protocol.embedded.share_group_log import ShareGroupStatePartitionMetadataValue

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster


@dataclass(slots=True, frozen=True, kw_only=True)
class ShareMember(ModernMember):
    """A member in one of its epochs. ``assigned`` are the partitions that it reads."""

    assigned: Partitions = frozenset()

    def assignment(self, kind: type[Any]) -> Any:
        return self.message(kind, assigned_partitions=messages_of(kind.TopicPartitions, self.assigned))

    def with_assignment(self, value: Any) -> Self:
        return self.updated(value, state=MemberState(value.state), assigned=parts_of(value.assigned_partitions))


class TopicState(NamedTuple):
    """The initialized share partitions of a topic."""

    name: str
    partitions: frozenset[int]


@dataclass(slots=True, eq=False)
class ShareGroup(ModernGroup[ShareMember]):
    """A group of KIP-932. ``initialized`` are its share partitions by topic id, None without a record of them.

    Initializing and deleting share partitions takes no time here, so neither is a state of its own.
    """

    kind: ClassVar[str] = "share"
    member_class: ClassVar[type[ShareMember]] = ShareMember
    types: ClassVar[RecordTypes] = RecordTypes(share_group_log, "ShareGroup")
    group_records: ClassVar[tuple[str, ...]] = ("TargetAssignmentMetadata", "StatePartitionMetadata", "Metadata")
    expires_without_offsets: ClassVar[bool] = False
    commits_offsets: ClassVar[bool] = False
    initialized: Mapping[bytes, TopicState] | None = None

    def apply_other(self, name: str, key: Any, value: Any | None) -> None:
        if name == "StatePartitionMetadata":
            self.initialized = None
            if value is not None:
                self.initialized = {
                    one.topic_id: TopicState(one.topic_name, frozenset(one.partitions))
                    for one in value.initialized_topics
                }

    def write_initialized(self, initialized: Mapping[bytes, TopicState]) -> None:
        """Write the record of the group's share partitions."""
        kind = ShareGroupStatePartitionMetadataValue
        topics = [
            kind.TopicPartitionsInfo(topic_id=topic_id, topic_name=one.name, partitions=sorted(one.partitions))
            for topic_id, one in sorted(initialized.items())
        ]
        self.write([self.record("StatePartitionMetadata", kind(initialized_topics=topics))])

    @property
    def assignor_name(self) -> str:
        """The only assignor of share groups."""
        return "simple"

    @property
    def state_name(self) -> str:
        """Empty or Stable."""
        return "Stable" if self.members else "Empty"

    def begun_offsets(self, cluster: Cluster) -> list[tuple[str, int, int, int | None]]:
        """The start offset and lag of the group in each partition that its members have read."""
        return share_of(cluster).offsets_of(self)
