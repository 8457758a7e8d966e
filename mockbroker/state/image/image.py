"""What a restart finds again: everything durable about a cluster but the records in its logs.

The image is changed by applying records, and by nothing else: Kafka's own, as ``protocol.embedded`` declares them,
those of coordinators' topics as ``CoordinatorRecord``. Replaying the records of a run into an empty image gives an
equal one. What a restart forgets (fetch sessions, timers, who waits in a group, how far followers are behind) stands
elsewhere, and logs behind ``mockbroker.state.logs.store``.

Where a record replaces another whole, the image keeps the record; where records change parts of a thing, the thing has
a class of its own here.

Source: MetadataImage and MetadataDelta, GroupMetadataManager.replay, OffsetMetadataManager.replay, Apache Kafka 4.4.

>>> from protocol.embedded.metadata_settings import FeatureLevelRecord
>>> image = Image()
>>> image.apply(FeatureLevelRecord(name="metadata.version", feature_level=29))
>>> image.features
{'metadata.version': 29}
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mockbroker.parts import merged
from mockbroker.state.image.acl_entries import AclEntries

if TYPE_CHECKING:
    from mockbroker.state.image.brokers import BrokerRegistration
    from mockbroker.state.image.coordinator_records import CoordinatorRecord
    from mockbroker.state.image.topics import TopicImage
    from protocol.embedded.group_log import GroupMetadataValue, OffsetCommitValue
    from protocol.embedded.metadata_security import UserScramCredentialRecord
    from protocol.embedded.transaction_log import TransactionLogValue

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4  # ConfigResource.Type
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
FIRST_PRODUCER_ID = 1000  # Kafka begins with 0, which some clients send for none

TopicPartition = tuple[str, int]
GroupRecords = dict[tuple[type, str], "CoordinatorRecord"]  # by the key's class, and its member or expression or empty
QuotaEntity = tuple[tuple[str, str | None], ...]  # (type, name) each; None: the default entity
Apply = Callable[["Image", Any], None]


@dataclass(slots=True)
class CommitNumbers:
    """In which order offsets were committed while any were pending: of a partition's commits the latest counts.

    ``pending`` has the number of what an open transaction is to commit, by producer id, group and partition;
    ``committed`` that of what was committed meanwhile, by group and partition.
    """

    last: int = 0
    pending: dict[tuple[int, str, TopicPartition], int] = field(default_factory=dict)
    committed: dict[tuple[str, TopicPartition], int] = field(default_factory=dict)

    def copy(self) -> CommitNumbers:
        return CommitNumbers(self.last, dict(self.pending), dict(self.committed))

    def clear(self) -> None:
        """Nothing is pending any more."""
        self.last = 0
        self.pending.clear()
        self.committed.clear()


@dataclass(slots=True, repr=False)
class Image:
    """What survives a restart, by subject. Read it as you like; only ``apply`` writes."""

    # the cluster
    features: dict[str, int] = field(default_factory=dict)  # level by name
    brokers: dict[int, BrokerRegistration] = field(default_factory=dict)
    topics: dict[bytes, TopicImage] = field(default_factory=dict)  # by topic id
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)  # by resource type and name

    # groups
    groups: dict[str, GroupMetadataValue] = field(default_factory=dict)  # classic groups: the last stable generation
    modern_groups: dict[str, GroupRecords] = field(default_factory=dict)  # groups of the other kinds
    offsets: dict[str, dict[TopicPartition, OffsetCommitValue]] = field(default_factory=dict)  # by group
    pending_offsets: dict[int, dict[str, dict[TopicPartition, OffsetCommitValue]]] = field(default_factory=dict)
    """What open transactions are to commit, by producer id and group."""
    commit_numbers: CommitNumbers = field(default_factory=CommitNumbers)
    extensions: dict[str, dict[Any, Any]] = field(default_factory=dict)  # what optional parts keep, by their extension

    # producers
    next_producer_id: int = FIRST_PRODUCER_ID  # behind the last block that was given out
    transactions: dict[str, TransactionLogValue] = field(default_factory=dict)  # by transactional id

    # security
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord] = field(default_factory=dict)  # user, mechanism
    acls: AclEntries = field(default_factory=AclEntries)
    client_quotas: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)  # limit by key

    def copy(self) -> Image:
        """An equal image, which changes by itself. The records in it are shared: they stay as they are."""
        return Image(
            dict(self.features),
            {broker_id: broker.copy() for broker_id, broker in self.brokers.items()},
            {topic_id: topic.copy() for topic_id, topic in self.topics.items()},
            {resource: dict(values) for resource, values in self.configs.items()},
            dict(self.groups),
            {group: dict(records) for group, records in self.modern_groups.items()},
            {group: dict(offsets) for group, offsets in self.offsets.items()},
            {
                producer_id: {group: dict(offsets) for group, offsets in by_group.items()}
                for producer_id, by_group in self.pending_offsets.items()
            },
            self.commit_numbers.copy(),
            {part: dict(states) for part, states in self.extensions.items()},
            self.next_producer_id,
            dict(self.transactions),
            dict(self.scram_credentials),
            AclEntries(self.acls),
            {entity: dict(limits) for entity, limits in self.client_quotas.items()},
        )

    def apply(self, record: object) -> None:
        """Take a record in. The record is kept or left alone, never changed, and has to stay as it is.

        Raises TypeError: no subject here has records of this class.
        """
        self.apply_as(type(record), record)

    def apply_as(self, kind: type, record: object) -> None:
        """Take a record in as one of this class, which of a coordinator's record is that of its key."""
        apply = APPLY.get(kind)
        if apply is None:
            apply = APPLY[kind] = find_apply(kind)
        apply(self, record)


# The module here that applies the records which a module of protocol.embedded declares; each is loaded with the first
# record of its kind.
SUBJECTS = {
    "mockbroker.state.image.coordinator_records": "coordinator_records",
    "protocol.embedded.consumer_group_log": "modern_groups",
    "protocol.embedded.control_records": "transaction_markers",
    "protocol.embedded.group_log": "groups",
    "protocol.embedded.metadata_brokers": "brokers",
    "protocol.embedded.metadata_security": "security",
    "protocol.embedded.metadata_settings": "settings",
    "protocol.embedded.metadata_topics": "topics",
    "protocol.embedded.share_group_log": "modern_groups",
    "protocol.embedded.streams_group_log": "modern_groups",
    "protocol.embedded.transaction_log": "transactions",
}
APPLY: dict[type, Apply] = {}  # what was looked up so far


def find_apply(kind: type) -> Apply:
    """What applies records of a class, for coordinator records the class of the key. Raises TypeError."""
    subject = SUBJECTS.get(kind.__module__)
    module = f"mockbroker.state.image.{subject}" if subject else merged("records").get(kind.__module__)
    table: dict[type, Apply] = import_module(module).APPLY if module else {}
    if kind not in table:
        raise TypeError(f"expected a record that the image has a subject for, got {kind.__name__}")
    return table[kind]
