"""Facts about a program from the wire: plain values, collected by ``observer`` and judged by ``checks``."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from kafka_rack.locality.traffic import TrafficKey

FIRST_FETCH_RACK, FIRST_FETCH_HINT, FIRST_PRODUCE_HINT = 11, 16, 10
"""The first versions in which a reader names its rack (KIP-392), and errors the current leader (KIP-951)."""
TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""


@dataclass(slots=True)
class CallTally:
    """How often something went right and wrong, and the first call that was wrong in words.

    >>> tally = CallTally()
    >>> tally.note(True, "orders-0: broker 1, as told"), tally.note(False, "orders-1: broker 0 again")
    (None, None)
    >>> tally.right, tally.wrong, tally.first_wrong
    (1, 1, 'orders-1: broker 0 again')
    """

    right: int = 0
    wrong: int = 0
    first_wrong: str = ""

    @property
    def seen(self) -> int:
        return self.right + self.wrong

    def note(self, is_right: bool, example: str) -> None:
        """Count one more."""
        if is_right:
            self.right += 1
        else:
            self.wrong += 1
            self.first_wrong = self.first_wrong or example


class MemberSubscription(NamedTuple):
    """The subscription of a member on joining: its version, -1 for KIP-848, and its rack."""

    version: int
    rack: str | None


class ExpectedFetch(NamedTuple):
    """The next fetch expected of a partition; ``check`` is the check that it counts for.

    ``broker`` is where it is to go; for ``out_of_range`` and ``follower_gone`` where it is not to go any more. Only
    fetches that arrived after ``since`` are a reaction.
    """

    check: str
    broker: int
    offset: int
    since: int


@dataclass(slots=True)
class PartitionReader:
    """A client reading a partition: where it fetched last, and the follower that it was sent to.

    ``refused`` is a follower that it was sent to and did not go to, as long as it is sent there and goes elsewhere;
    ``visited`` the last that it did go to.
    """

    broker: int
    offset: int
    follower: int | None = None
    expected: ExpectedFetch | None = None
    refused: int | None = None
    visited: int | None = None


@dataclass(slots=True)
class ClientFacts:
    """One client of the program, by the rack of its process and its client id.

    ``subscription`` and ``assignment`` are the last of each, the latter as (topic, partition). ``last_metadata`` and
    ``last_rebalance`` are the moments when it was last answered that; ``metadata_at`` is when it asked which broker.
    ``leader_racks`` has the racks of topics' leaders by then, ``chosen`` the last partition of each topic for records
    without keys, and ``choices`` counts those chosen in the client's rack, while leaders were there.
    """

    rack: str
    client_id: str | None
    software: str | None = None
    has_partitioner: bool | None = None
    calls: Counter[str] = field(default_factory=Counter)
    fetch_versions: Counter[int] = field(default_factory=Counter)
    produce_versions: Counter[int] = field(default_factory=Counter)
    fetch_racks: Counter[str] = field(default_factory=Counter)
    group: str | None = None
    subscription: MemberSubscription | None = None
    assignment: frozenset[TopicPartition] = frozenset()
    readers: dict[TopicPartition, PartitionReader] = field(default_factory=dict)
    last_metadata: int = 0
    metadata_at: dict[int, int] = field(default_factory=dict)
    last_rebalance: int = 0
    leader_racks: dict[str, list[str | None]] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)
    choices: CallTally = field(default_factory=CallTally)


@dataclass(slots=True)
class OffsetRanges:
    """Offsets as ranges, first and after the last; adjacent ranges are merged.

    >>> ranges = OffsetRanges()
    >>> ranges.add(0, 5), ranges.add(8, 9), ranges.add(3, 6)
    (0, 0, 2)
    >>> ranges.spans, ranges.gaps, ranges.end
    ([(0, 6), (8, 9)], [(6, 8)], 9)
    """

    spans: list[tuple[int, int]] = field(default_factory=list)

    def add(self, first: int, end: int) -> int:
        """Add a range; returns how many of its offsets were known."""
        again = sum(max(0, min(end, stop) - max(first, start)) for start, stop in self.spans)
        merged: list[tuple[int, int]] = []
        for start, stop in sorted([*self.spans, (first, end)]):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
            else:
                merged.append((start, stop))
        self.spans = merged
        return again

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The offsets missing between the first and the last, as start and end."""
        return [(end, start) for (_, end), (start, _) in pairwise(self.spans)]

    @property
    def end(self) -> int:
        """The offset after the last."""
        return self.spans[-1][1]


class AcknowledgedBatch(NamedTuple):
    """A batch that was acknowledged: its checksum, which the log keeps, and how many records it has."""

    checksum: int
    records: int


@dataclass(slots=True)
class WireFacts:
    """All that a certificate is made of.

    ``delivered`` has what each reader of a partition got, a reader being a group or, without one, a rack's process; and
    ``delivered_again`` how many offsets more than once. ``lost`` names what was passed over, ``unread`` what had not
    come by the end.
    """

    racks: list[str]
    clients: dict[tuple[str, str | None], ClientFacts] = field(default_factory=dict)
    tallies: defaultdict[str, CallTally] = field(default_factory=lambda: defaultdict(CallTally))
    """The right and the wrong ones of each check."""
    ignored_redirects: int = 0
    """Every single one; in the tally a reader that is sent to one replica again and again counts once."""
    traffic: Counter[TrafficKey] = field(default_factory=Counter)
    """Bytes by what they share, as in the ledger: record batches, and the rest of every frame as other."""
    delivered: dict[TopicPartition, dict[str, OffsetRanges]] = field(default_factory=dict)
    delivered_again: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    fed: int = 0
    acknowledged: dict[TopicPartition, dict[int, AcknowledgedBatch]] = field(default_factory=dict)
    """By base offset; and those that logs lack, or have twice, in words."""
    acknowledged_records: int = 0
    missing: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    consumed_topics: set[str] = field(default_factory=set)
    produced_topics: set[str] = field(default_factory=set)
    coordinators: set[int] = field(default_factory=set)
    """The brokers that coordinate groups and transactions of the program, as it was told."""
    outage_rack: str | None = None
    failures: list[str] = field(default_factory=list)
    """Processes that ended by themselves and not well, in words."""
    unfinished: dict[str, str] = field(default_factory=dict)
    """The steps that were waited for in vain: step -> words."""
    cut_short: str | None = None
    """The step in which time was over, or every process had ended."""

    @property
    def consumers(self) -> list[ClientFacts]:
        return [client for client in self.clients.values() if client.fetch_versions]

    @property
    def producers(self) -> list[ClientFacts]:
        return [client for client in self.clients.values() if client.produce_versions]

    def readers_of(self, place: TopicPartition) -> list[PartitionReader]:
        """The readers of a partition, one for each client."""
        return [client.readers[place] for client in self.clients.values() if place in client.readers]

    def at_followers(self) -> Counter[int]:
        """Broker -> how many partitions are read there that it only follows."""
        readers = (reader for client in self.clients.values() for reader in client.readers.values())
        return Counter(one.visited for one in readers if one.visited is not None and one.visited == one.follower)
