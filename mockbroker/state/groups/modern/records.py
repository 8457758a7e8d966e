"""The records in ``__consumer_offsets`` of every kind of group whose coordinator assigns.

Source: GroupCoordinatorRecordHelpers and StreamsCoordinatorRecordHelpers, Apache Kafka 4.4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from mockbroker.state.coordinator_shard import CoordinatorRecord
from mockbroker.state.groups.modern.members import Partitions

Message = type[Any]


class GroupRecordTypes(NamedTuple):
    """The types of one kind of group's records, keys and values.

    A member has records of its metadata, its current assignment, and its target.
    """

    group_key: Message
    group_value: Message
    member_key: Message
    assignment_key: Message
    target_key: Message
    target_value: Message
    target_epoch_key: Message
    target_epoch_value: Message

    def group_epoch(self, group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
        """The record of a group's epoch."""
        return CoordinatorRecord(
            self.group_key(group_id=group_id), self.group_value(epoch=epoch, metadata_hash=metadata_hash)
        )

    def target(self, group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
        """The record of a member's target."""
        value = self.target_value(
            topic_partitions=[
                self.target_value.TopicPartition(topic_id=topic_id, partitions=sorted(numbers))
                for topic_id, numbers in sorted(partitions.items())
            ]
        )
        return CoordinatorRecord(self.target_key(group_id=group_id, member_id=member_id), value)

    def target_epoch(self, group_id: str, epoch: int, wall_ms: int) -> CoordinatorRecord:
        """The record of the group epoch for which the targets were computed, with the wall clock time."""
        value = self.target_epoch_value(assignment_epoch=epoch, assignment_timestamp=wall_ms)
        return CoordinatorRecord(self.target_epoch_key(group_id=group_id), value)

    def no_member(self, group_id: str, member_id: str) -> list[CoordinatorRecord]:
        """The records that delete a member."""
        return [
            CoordinatorRecord(key(group_id=group_id, member_id=member_id), None)
            for key in (self.assignment_key, self.target_key, self.member_key)
        ]
