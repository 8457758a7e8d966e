"""A coordinator is a shard over the log of one partition of its topic: it appends records, and replays them.

A shard holds the log decoded, as compaction leaves it: the last record of each key. Groups and transactional ids are
built from these records when a coordinator is elected or started.

Source: CoordinatorRecord, GroupCoordinatorShard.replay, OffsetMetadataManager.replay and replayEndTransactionMarker,
TransactionStateManager.loadTransactionMetadata, Apache Kafka 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import structs

NO_PRODUCER_ID = -1
NEVER = -1  # the expiry of an offset under the broker's retention


class CoordinatorRecord(NamedTuple):
    """A record of ``__consumer_offsets``, ``__transaction_state`` or ``__share_group_state``; a value of None deletes.

    ``producer_id`` and ``producer_epoch`` are set on a record that belongs to a producer's transaction.
    """

    key: Any
    value: Any | None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = -1


KeyFields = tuple[Any, ...]  # the class of a record's key, then its fields: first a group or a transactional id


class Replayed(NamedTuple):
    """The value of a record, and its position among those that the shard has replayed."""

    position: int
    value: Any


RecordsByKey = dict[str, dict[KeyFields, Replayed]]  # by group or transactional id


@dataclass(slots=True)
class CoordinatorShard:
    """The last record of each key, by group or transactional id.

    Attributes:
        pending: the records of each producer whose transaction is open; its marker makes them count or drops them.
        producer_epochs: the last epoch of each producer that has written in a transaction, or ended one, until its
            transactional id expires.
        end: the position of the next record.

    >>> from protocol.embedded.group_log import OffsetCommitKey, OffsetCommitValue
    >>> shard = CoordinatorShard()
    >>> key = OffsetCommitKey(group="readers", topic="orders", partition=0)
    >>> shard.replay([CoordinatorRecord(key, OffsetCommitValue(offset=7), producer_id=1000, producer_epoch=0)])
    >>> shard.value(OffsetCommitKey, "readers", "orders", 0)
    >>> shard.end_transaction(1000, 0, committed=True)
    >>> shard.value(OffsetCommitKey, "readers", "orders", 0).offset
    7
    """

    records: RecordsByKey = field(default_factory=dict)
    pending: dict[int, RecordsByKey] = field(default_factory=dict)
    producer_epochs: dict[int, int] = field(default_factory=dict)
    end: int = 0

    def replay(self, records: Iterable[CoordinatorRecord]) -> None:
        """Apply records in the order of the log. One without a value deletes what is pending for its key too."""
        for record in records:
            fields = (type(record.key), *structs.astuple(record.key)[:-1])  # without unknown tagged fields
            key = fields[1]
            if record.producer_id != NO_PRODUCER_ID:
                self.producer_epochs[record.producer_id] = record.producer_epoch
                by_key = self.pending.setdefault(record.producer_id, {})
                by_key.setdefault(key, {})[fields] = Replayed(self.end, record.value)
            elif record.value is not None:
                self.records.setdefault(key, {})[fields] = Replayed(self.end, record.value)
            else:
                for by_key in (self.records, *self.pending.values()):
                    if key in by_key:
                        by_key[key].pop(fields, None)
                        if not by_key[key]:
                            del by_key[key]
            self.end += 1

    def end_transaction(self, producer_id: int, producer_epoch: int, *, committed: bool) -> None:
        """Apply a marker: of the records of each key the one with the highest position counts."""
        self.producer_epochs[producer_id] = producer_epoch
        for key, records in self.pending.pop(producer_id, {}).items() if committed else ():
            existing = self.records.setdefault(key, {})
            for fields, replayed in records.items():
                if fields not in existing or existing[fields].position < replayed.position:
                    existing[fields] = replayed
        self.pending.pop(producer_id, None)

    def keys(self) -> set[str]:
        """The groups or transactional ids that have records, pending ones included."""
        return set(self.records).union(*self.pending.values())

    def value(self, kind: type, key: str, *others: Any) -> Any | None:
        """The value of a key of this class and these fields, None without one."""
        replayed = self.records.get(key, {}).get((kind, key, *others))
        return None if replayed is None else replayed.value

    def records_of(self, key: str) -> list[CoordinatorRecord]:
        """The records of a group or transactional id that count."""
        return [to_record(fields, replayed.value) for fields, replayed in self.records.get(key, {}).items()]

    def in_order(self) -> list[CoordinatorRecord]:
        """All records, pending ones included, in the order of the log."""
        found = [
            (position, to_record(fields, value, producer_id, self.producer_epochs.get(producer_id, -1)))
            for producer_id, by_key in ((NO_PRODUCER_ID, self.records), *self.pending.items())
            for records in by_key.values()
            for fields, (position, value) in records.items()
        ]
        return [record for _, record in sorted(found, key=lambda one: one[0])]

    def copy(self) -> CoordinatorShard:
        """An equal shard that changes by itself."""

        def copied(by_key: RecordsByKey) -> RecordsByKey:
            return {key: dict(records) for key, records in by_key.items()}

        pending = {producer_id: copied(by_key) for producer_id, by_key in self.pending.items()}
        return CoordinatorShard(copied(self.records), pending, dict(self.producer_epochs), self.end)


def to_record(fields: KeyFields, value: Any, producer_id: int = NO_PRODUCER_ID, epoch: int = -1) -> CoordinatorRecord:
    kind, *values = fields
    return CoordinatorRecord(kind(*values), value, producer_id, epoch)
