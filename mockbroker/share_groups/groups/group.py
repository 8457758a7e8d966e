"""A share group at its coordinator: its members, their assignment, and its share partitions.

Source: ShareGroup, ShareGroupMember, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mockbroker.groups.modern.group import ModernGroup, RecordTypes
from mockbroker.groups.modern.members import MemberState, ModernMember, Partitions, grouped, messages_of, parts_of
from mockbroker.share_groups.share_states import NO_OFFSET, SharePartitionKey, share_coordinator
from mockbroker.state.errors import ApiError
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


@dataclass(slots=True, eq=False)
class ShareGroup(ModernGroup[ShareMember]):
    """A group of KIP-932. ``initialized`` are its share partitions, None without a record of them.

    Initializing and deleting share partitions takes no time here, so neither is a state of its own.
    """

    kind: ClassVar[str] = "share"
    member_class: ClassVar[type[ShareMember]] = ShareMember
    types: ClassVar[RecordTypes] = RecordTypes(share_group_log, "ShareGroup")
    group_records: ClassVar[tuple[str, ...]] = ("TargetAssignmentMetadata", "StatePartitionMetadata", "Metadata")
    expires_without_offsets: ClassVar[bool] = False
    commits_offsets: ClassVar[bool] = False
    initialized: Partitions | None = None

    def apply_other(self, name: str, key: Any, value: Any | None) -> None:
        if name == "StatePartitionMetadata":
            self.initialized = None if value is None else parts_of(value.initialized_topics)

    def write_initialized(self, initialized: Partitions) -> None:
        """Write the record of the group's share partitions."""
        kind, name_of = ShareGroupStatePartitionMetadataValue, self.groups.topics.name_of
        topics = [
            kind.TopicPartitionsInfo(topic_id=topic_id, topic_name=name_of(topic_id) or "", partitions=sorted(numbers))
            for topic_id, numbers in sorted(grouped(initialized).items())
        ]
        self.write([self.record("StatePartitionMetadata", kind(initialized_topics=topics))])

    def begin_subscribed(self) -> None:
        """Initialize the share partitions of all subscribed topics that are not initialized yet.

        Partitions added to a known topic start at offset 0, others where the group's configs say.
        Source: GroupMetadataManager.maybeCreateInitializeShareGroupStateRequest, Apache Kafka 4.4.
        """
        topics, known = self.groups.topics.by_name, grouped(self.initialized or ())
        offsets = {
            (topic.id, index): 0 if topic.id in known else NO_OFFSET
            for name in self.topics_read_by(self.members.values())
            if (topic := topics.get(name)) is not None
            for index in range(len(topic.partitions))
            if index not in known.get(topic.id, ())
        }
        if offsets:
            self.begin(offsets)

    def begin(self, offsets: Mapping[tuple[bytes, int], int]) -> dict[tuple[bytes, int], ApiError]:
        """Let the share coordinator initialize partitions, by topic id and number, at these start offsets.

        Returns: the errors by partition, which leave none initialized.
        """
        errors: dict[tuple[bytes, int], ApiError] = {}
        for one, offset in sorted(offsets.items()):
            try:
                share_coordinator(self.groups.cluster).initialize(SharePartitionKey(self.id, *one), self.epoch, offset)
            except ApiError as error:
                errors[one] = error
        self.write_initialized((self.initialized or frozenset()).union(offsets if not errors else ()))
        return errors

    def forget_topics(self, topic_ids: Collection[bytes]) -> None:
        """Remove topics from the group."""
        self.write_initialized(frozenset(one for one in self.initialized or () if one[0] not in topic_ids))

    @property
    def assignor_name(self) -> str:
        """The only assignor of share groups."""
        return "simple"

    @property
    def state_name(self) -> str:
        """Empty or Stable."""
        return "Stable" if self.members else "Empty"

    def begun_offsets(self, cluster: Cluster) -> list[tuple[str, int, int, int | None]]:
        """Topic, index, start offset and lag of the group in each partition that its members have read.

        The lag counts to the high watermark, without complete deliveries.
        """
        shown: list[tuple[str, int, int, int | None]] = []
        for topic_id, index in self.initialized or ():
            state = share_coordinator(cluster).states.get(SharePartitionKey(self.id, topic_id, index))
            if state is not None and state.value.start_offset != NO_OFFSET:
                done = state.value.start_offset + max(0, state.value.delivery_complete_count)
                topic = cluster.topic_by_id[topic_id]
                lag = max(0, topic.partitions[index].high_watermark - done)
                shown.append((topic.name, index, state.value.start_offset, lag))
        return sorted(shown, key=lambda one: one[:2])
