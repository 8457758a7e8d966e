"""What a history tells of one partition's records: which offset has which, who sent it, who read it first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from kafka_rack.consistency.history import Outcome, Poll, Read, Send

RANK: dict[Outcome, int] = {"failed": 0, "unknown": 1, "acknowledged": 2}

MAX_ELSEWHERE = 3

Identity = tuple[Hashable, Hashable]
"""A form and the value in it."""


class FirstRead(NamedTuple):
    """Who read a record first, and when its poll ended."""

    client: str
    ended_at: float


class HistoryRecord:
    """A record or batch at one offset, or one that was sent and whose offset is not known.

    ``origin`` is the record of the same value at the first offset that was seen. That one counts all its ``places``,
    has the first few others in ``elsewhere``, and has the value's ``send``, the attempt that tells most, and
    ``attempts``, the number of those that may have been stored. ``rivals`` are other records that claim this offset.
    """

    __slots__ = (
        "attempts",
        "committed_read",
        "num_offsets",
        "elsewhere",
        "identities",
        "is_idempotent",
        "is_read_elsewhere",
        "offset",
        "origin",
        "places",
        "rivals",
        "send",
        "uncommitted_read",
    )

    def __init__(self, offset: int | None, num_offsets: int) -> None:
        self.offset, self.num_offsets = offset, num_offsets
        self.identities: tuple[Identity, ...] = ()
        self.send: Send | None = None
        self.attempts = 0
        self.committed_read: FirstRead | None = None
        self.uncommitted_read: FirstRead | None = None
        self.is_idempotent: bool | None = None
        self.is_read_elsewhere = False
        self.origin: HistoryRecord | None = None
        self.elsewhere: list[HistoryRecord] = []
        self.places = 1
        self.rivals: list[HistoryRecord] = []

    @property
    def first_read(self) -> FirstRead | None:
        return self.committed_read or self.uncommitted_read

    @property
    def root(self) -> HistoryRecord:
        """The same value's record that counts for all its offsets."""
        record = self
        while record.origin is not None:
            record = record.origin
        return record

    @property
    def was_value_read(self) -> bool:
        """Whether it was read, here or at another offset."""
        root = self.root
        return self.first_read is not None or root.first_read is not None or root.is_read_elsewhere

    @property
    def known_send(self) -> Send | None:
        """How the value was sent, whatever its offset."""
        return self.root.send

    @property
    def start(self) -> int:
        assert self.offset is not None
        return self.offset

    @property
    def end(self) -> int:
        return self.start + self.num_offsets

    @property
    def value(self) -> Hashable:
        return self.identities[0][1] if self.identities else None

    def sent(self, send: Send) -> None:
        """Another attempt."""
        root = self.root
        if send.outcome != "failed":
            root.attempts += 1
        if root.send is None or RANK[send.outcome] > RANK[root.send.outcome]:
            root.send = send
        if send.is_idempotent is not None:
            self.is_idempotent = send.is_idempotent

    def was_read(self, poll: Poll, isolation_level: str) -> None:
        """A poll gave it; the one that ended first counts."""
        committed = isolation_level == "read_committed"
        earlier = self.committed_read if committed else self.uncommitted_read
        if earlier is None or poll.ended_at < earlier.ended_at:
            read = FirstRead(poll.client, poll.ended_at)
            if committed:
                self.committed_read = read
            else:
                self.uncommitted_read = read
        root = self.root
        if root is not self:
            root.is_read_elsewhere = True


class RecordIndex:
    """A partition's records by offset and by value, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._by_offset: dict[int, HistoryRecord] = {}
        self._by_value: dict[Identity, HistoryRecord] = {}
        self._all: list[HistoryRecord] = []

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[HistoryRecord]:
        return iter(self._all)

    def of_value(self, form: Hashable, value: Hashable) -> HistoryRecord | None:
        """The record of a value at the first offset that was seen, None where the value is new or not known."""
        return self._by_value.get((form, value)) if value is not None else None

    def at(self, offset: int) -> HistoryRecord | None:
        """The first record that was seen at an offset; its rivals are the others."""
        return self._by_offset.get(offset)

    def unplaced(self, form: Hashable, value: Hashable) -> HistoryRecord:
        """A new record of this value, its offset not known."""
        return self._named(self._new(None, 1), form, value)

    def placed(self, source: Send | Read, offset: int) -> HistoryRecord:
        """The record that this send or read has at an offset; new where it is another than those known there."""
        form, value = source.form, source.value
        known = self.of_value(form, value)
        there = self._by_offset.get(offset)
        if known is not None and known.offset == offset:
            return known
        if value is None and there is not None:
            return there
        if there is None:
            if known is not None and known.offset is None:
                known.offset, known.num_offsets = offset, source.num_offsets
                self._by_offset[offset] = known
                return known
            there = self._by_offset[offset] = self._new(offset, source.num_offsets)
            return self._repeated(there, known, form, value)
        for record in (there, *there.rivals):
            if (form, value) in record.identities:
                return record
        if any(identity[0] == form for identity in there.identities):
            rival = self._new(offset, source.num_offsets)
            there.rivals.append(rival)
            return self._repeated(rival, known, form, value)
        return self._repeated(there, known, form, value)  # the same record, stored in another form

    def _repeated(
        self, record: HistoryRecord, known: HistoryRecord | None, form: Hashable, value: Hashable
    ) -> HistoryRecord:
        """The record with one more value, which ``known`` has too: as what was sent, or at another offset."""
        if known is not None and known.offset is None:
            if known.send is not None:
                record.sent(known.send)
            self._by_value[form, value] = record
        elif known is not None and known is not record:
            root = known.root
            if record.origin is None and root is not record:
                record.origin = root
                root.places += 1
                if len(root.elsewhere) < MAX_ELSEWHERE:
                    root.elsewhere.append(record)
                if record.send is not None:
                    root.sent(record.send)
        return self._named(record, form, value)

    def _named(self, record: HistoryRecord, form: Hashable, value: Hashable) -> HistoryRecord:
        if value is not None:
            record.identities += ((form, value),)
            self._by_value.setdefault((form, value), record)
        return record

    def _new(self, offset: int | None, num_offsets: int) -> HistoryRecord:
        record = HistoryRecord(offset, num_offsets)
        self._all.append(record)
        return record

    def oldest(self, number: int) -> list[HistoryRecord]:
        return self._all[:number]

    def forget(self, number: int) -> None:
        """Drop the oldest."""
        gone, self._all = self._all[:number], self._all[number:]
        for record in gone:
            for identity in record.identities:
                if self._by_value.get(identity) is record:
                    del self._by_value[identity]
            if record.offset is not None and self._by_offset.get(record.offset) is record:
                del self._by_offset[record.offset]
