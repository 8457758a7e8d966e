"""A consumer's next reads: what each Fetch response requires, compared with the next Fetch of that partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mockbroker.testing.certify.facts import ClientFacts, WireFacts
from protocol.error_codes import ErrorCode

NO_REPLICA = -1
REFRESHING_ERRORS = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REPLICA_NOT_AVAILABLE,
)

AWAY = ("out_of_range", "gone")
"""Outcomes that require another broker, whatever else has happened."""

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""


class PartitionSnapshot(NamedTuple):
    """A partition as the cluster has it when a call ends: leader, replicas in sync that are up, all replicas."""

    leader: int
    in_sync: frozenset[int]
    replicas: tuple[int, ...]


class ExpectedFetch(NamedTuple):
    """The next fetch expected of a partition: ``follow``, ``stay``, ``minus_one``, ``out_of_range`` or ``gone``.

    ``broker`` is where it is to go, or for the last two where it is not to go any more. Only fetches that arrived
    after ``since`` are a reaction.
    """

    kind: str
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
    arrived: int
    follower: int | None = None
    expected: ExpectedFetch | None = None
    refused: int | None = None
    visited: int | None = None


class Following:
    """Compares every client's fetches with the answers before."""

    def __init__(self, facts: WireFacts, layout_of: Callable[[TopicPartition], PartitionSnapshot | None]) -> None:
        self._facts, self._layout_of = facts, layout_of
        self.readers: dict[tuple[str, str | None], dict[TopicPartition, PartitionReader]] = {}
        self._tallies = {
            "follow": facts.followed,
            "stay": facts.stayed,
            "minus_one": facts.minus_one,
            "out_of_range": facts.out_of_range,
            "gone": facts.follower_gone,
        }

    def asked(
        self, client: ClientFacts, place: TopicPartition, broker: int, offset: int, arrived: int
    ) -> PartitionReader:
        """A client has asked a broker for a partition."""
        readers = self.readers.setdefault((client.rack, client.client_id), {})
        reader = readers.get(place)
        if reader is None:
            reader = readers[place] = PartitionReader(broker, offset, arrived)
            return reader
        expected = reader.expected
        if expected is not None and arrived > expected.since:
            reader.expected = None
            begun_anew = client.last_rebalance > expected.since  # and so rightly at the leader
            if begun_anew and broker != reader.follower:
                reader.follower = None
            if not begun_anew or expected.kind in AWAY:
                self._judge(client, place, reader, expected, broker, expected.offset if begun_anew else offset)
        reader.broker, reader.offset, reader.arrived = broker, offset, arrived
        return reader

    def answered(self, place: TopicPartition, reader: PartitionReader, error: int, preferred: int, now: int) -> None:
        """It was answered; ``preferred`` is the replica that the answer names, -1 for none."""
        layout = self._layout_of(place)
        if layout is None:
            return
        at, offset = reader.broker, reader.offset
        if error == ErrorCode.OFFSET_OUT_OF_RANGE and at != layout.leader:
            reader.follower = reader.visited = None
            reader.expected = ExpectedFetch("out_of_range", at, offset, now)
        elif error in REFRESHING_ERRORS and reader.follower == at and at not in layout.replicas:
            reader.expected = ExpectedFetch("gone", at, offset, now)
        elif error:
            reader.expected = None
        elif preferred != NO_REPLICA:
            reader.follower = preferred
            reader.expected = ExpectedFetch("follow", preferred, offset, now)
        elif at == layout.leader:
            was_elsewhere, reader.follower = reader.follower is not None, None
            reader.expected = ExpectedFetch("minus_one", at, offset, now) if was_elsewhere else None
        elif at == reader.follower:
            reader.visited = at
            reader.expected = ExpectedFetch("stay", at, offset, now)

    def brokers_gone(self, broker_ids: list[int], now: int) -> None:
        """Brokers were stopped: readers of a follower there must read elsewhere."""
        for readers in self.readers.values():
            for reader in readers.values():
                if reader.visited in broker_ids:
                    reader.visited = None
                if reader.broker in broker_ids:
                    was_following = reader.follower == reader.broker
                    reader.follower = None
                    reader.expected = (
                        ExpectedFetch("gone", reader.broker, reader.offset, now) if was_following else None
                    )

    def readers_of(self, place: TopicPartition) -> list[PartitionReader]:
        """The readers of a partition, one for each client."""
        return [readers[place] for readers in self.readers.values() if place in readers]

    def at_followers(self) -> Mapping[int, int]:
        """Broker -> how many partitions are read there that it only follows."""
        return Counter(
            reader.visited
            for readers in self.readers.values()
            for reader in readers.values()
            if reader.visited is not None and reader.visited == reader.follower
        )

    def _judge(
        self,
        client: ClientFacts,
        place: TopicPartition,
        reader: PartitionReader,
        expected: ExpectedFetch,
        broker: int,
        offset: int,
    ) -> None:
        layout = self._layout_of(place)
        if layout is None:
            return
        kind, target = expected.kind, expected.broker
        if kind in ("follow", "stay") and broker != target and target not in layout.in_sync:
            return  # it has gone meanwhile
        if kind == "minus_one" and target not in (broker, layout.leader):
            return
        if kind in AWAY:
            is_right = broker != target and (kind == "gone" or offset == expected.offset)
        else:
            is_right = broker == target
        if kind == "follow":
            refused, reader.refused = reader.refused, None if is_right else target
            self._facts.ignored_redirects += not is_right
            if reader.refused is not None and refused == target:
                return  # it was sent there again and again did not go: one refusal
        why = {
            "follow": f"sent to broker {target}",
            "stay": f"served by follower {target}",
            "minus_one": f"leader {target} named no other replica",
            "out_of_range": f"offset {expected.offset} out of range at follower {target}",
            "gone": f"broker {target} has it no more",
        }[kind]
        at = f", offset {offset}" if kind == "out_of_range" else ""
        self._tallies[kind].note(
            is_right, f"{place[0]}-{place[1]}, client in rack {client.rack}: {why}, next fetch at broker {broker}{at}"
        )
