"""The operations of a history: plain values, one for each operation of a client.

Times are in ms on one clock. Operations are approximately in the order of their ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, NamedTuple

TopicPartition = tuple[str, int]
ALL_IN_SYNC = -1

Outcome = Literal["acknowledged", "failed", "unknown"]
"""``failed`` is certain: no attempt can have reached the log. A time-out or a lost connection is ``unknown``."""

Ending = Literal["committed", "aborted", "unknown"]


class Send(NamedTuple):
    """A producer's record, or its batch of ``num_offsets`` records at consecutive offsets.

    ``value`` is unique in its partition; None: unknown. ``form`` is its stored form: values are compared only if their
    forms are equal (a recompressed batch has another checksum).
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
    acks: int = ALL_IN_SYNC
    is_idempotent: bool = True
    num_offsets: int = 1
    form: Hashable = None


class Read(NamedTuple):
    """A record that a poll returned, or a batch of ``num_offsets`` offsets. ``is_control``: a transaction's marker.

    Without a value, only its offsets count as read. ``is_idempotent``: its producer was, by the batch's header.
    ``lacks_records``: compaction removed some of the batch.
    """

    topic: str
    partition: int
    offset: int
    value: Hashable = None
    num_offsets: int = 1
    form: Hashable = None
    is_control: bool = False
    is_idempotent: bool = False
    lacks_records: bool = False

    @property
    def end(self) -> int:
        return self.offset + self.num_offsets


class Poll(NamedTuple):
    """A consumer's poll and what it returned, in that order.

    ``spans``: the first and the end offset (exclusive) that it read, by partition. Without one, a poll spans from its
    first record of a partition to its last.
    """

    client: str
    reads: Sequence[Read]
    begun_at: float
    ended_at: float
    spans: Mapping[TopicPartition, tuple[int, int]] | None = None
    is_committed: bool = False


class Transaction(NamedTuple):
    """A transaction's end, as its producer requested it: from the request to the answer."""

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


Operation = Send | Poll | Transaction | LogStart
