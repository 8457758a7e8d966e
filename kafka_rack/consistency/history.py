"""What a history is made of: plain values, one an operation of a client.

Times are numbers of ms on one clock. Operations come in about the order of their ends; what counts is that those of
one client that begin at the same time stand in the order in which it made them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Literal, NamedTuple

TopicPartition = tuple[str, int]

Outcome = Literal["acknowledged", "failed", "unknown"]
"""``failed`` is certain: no attempt can have reached the log. A time-out or a lost connection is ``unknown``."""

Ending = Literal["committed", "aborted", "unknown", "open"]
"""How a transaction ended; ``open`` says that it was begun, and holds until another operation says more."""


class Send(NamedTuple):
    """A producer's record, or its batch of ``num_offsets`` records at consecutive offsets.

    ``value`` is what tells it from all others of its partition, None where that is not known. ``form`` is how it is
    stored: values are compared where their forms are equal (one batch has another checksum once it is recompressed).
    ``acks`` is -1 for all; it and ``is_idempotent`` are those of the settings where they are None.
    """

    client: str
    topic: str
    partition: int
    value: Hashable
    begun_at: float
    ended_at: float | None = None
    outcome: Outcome = "acknowledged"
    offset: int | None = None
    transaction: Hashable = None
    acks: int | None = None
    is_idempotent: bool | None = None
    num_offsets: int = 1
    form: Hashable = None


class Read(NamedTuple):
    """A record that a poll gave, or a batch of ``num_offsets`` offsets. ``is_control``: a transaction's marker.

    ``is_idempotent``: whether its producer was, where the record itself says so. Several offsets without a value are
    read, whatever records are there. ``lacks_records``: compaction has been at work in the batch.
    """

    topic: str
    partition: int
    offset: int
    value: Hashable = None
    num_offsets: int = 1
    form: Hashable = None
    is_control: bool = False
    is_idempotent: bool | None = None
    lacks_records: bool = False


class Poll(NamedTuple):
    """A consumer's poll and what it gave, in that order.

    ``spans`` has the offsets of partitions that it read from, and up to which (that one excluded), where they are
    known; a span that begins elsewhere than the last poll ended is a seek. Without one a poll goes on where the
    client's last poll of that partition ended.
    """

    client: str
    reads: Sequence[Read]
    begun_at: float
    ended_at: float
    spans: Mapping[TopicPartition, tuple[int, int]] | None = None
    isolation_level: str | None = None


class Assignment(NamedTuple):
    """A group gave a member these partitions in a generation (or member epoch); all its positions may change."""

    client: str
    group: str
    generation: int
    partitions: Collection[TopicPartition]
    at: float


class Seek(NamedTuple):
    """A consumer chose another position, by itself or by auto.offset.reset."""

    client: str
    topic: str
    partition: int
    at: float
    offset: int | None = None


class Transaction(NamedTuple):
    """A transaction's end as its producer asked for it: from when it asked until it had the answer."""

    client: str
    id: Hashable
    ending: Ending
    begun_at: float
    ended_at: float | None = None


class LogStart(NamedTuple):
    """Offsets before this one were removed by retention or DeleteRecords."""

    topic: str
    partition: int
    offset: int
    at: float


Operation = Send | Poll | Assignment | Seek | Transaction | LogStart
