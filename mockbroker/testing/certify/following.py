"""A consumer's next reads: what each Fetch response requires, compared with the next Fetch of that partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mockbroker.testing.certify.facts import ClientFacts, ExpectedFetch, PartitionReader, TopicPartition, WireFacts
from protocol.error_codes import ErrorCode

NO_REPLICA = -1
REFRESHING_ERRORS = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REPLICA_NOT_AVAILABLE,
)
FOLLOWS, STAYS, AT_LEADER = "preferred_replica", "stays", "leader_on_minus_one"
OUT_OF_RANGE, GONE = "out_of_range", "follower_gone"
AWAY = (OUT_OF_RANGE, GONE)
"""The checks that require another broker, whatever else has happened."""


class PartitionSnapshot(NamedTuple):
    """A partition as the cluster has it when a call ends: leader, replicas in sync that are up, all replicas."""

    leader: int
    in_sync: frozenset[int]
    replicas: tuple[int, ...]


class Following:
    """Compares every client's fetches with the answers before."""

    def __init__(self, facts: WireFacts, layout_of: Callable[[TopicPartition], PartitionSnapshot | None]) -> None:
        self._facts, self._layout_of = facts, layout_of

    def asked(
        self, client: ClientFacts, place: TopicPartition, broker: int, offset: int, arrived: int
    ) -> PartitionReader:
        """A client has asked a broker for a partition."""
        reader = client.readers.setdefault(place, PartitionReader(broker, offset))
        expected = reader.expected
        if expected is not None and arrived > expected.since:
            reader.expected = None
            begun_anew = client.last_rebalance > expected.since  # and so rightly at the leader
            if begun_anew and broker != reader.follower:
                reader.follower = None
            if not begun_anew or expected.check in AWAY:
                self._judge(client, place, reader, expected, broker, expected.offset if begun_anew else offset)
        reader.broker, reader.offset = broker, offset
        return reader

    def answered(self, place: TopicPartition, reader: PartitionReader, error: int, preferred: int, now: int) -> None:
        """It was answered; ``preferred`` is the replica that the answer names, -1 for none."""
        layout = self._layout_of(place)
        if layout is None:
            return
        at, offset = reader.broker, reader.offset
        if error == ErrorCode.OFFSET_OUT_OF_RANGE and at != layout.leader:
            reader.follower = reader.visited = None
            reader.expected = ExpectedFetch(OUT_OF_RANGE, at, offset, now)
        elif error in REFRESHING_ERRORS and reader.follower == at and at not in layout.replicas:
            reader.expected = ExpectedFetch(GONE, at, offset, now)
        elif error:
            reader.expected = None
        elif preferred != NO_REPLICA:
            reader.follower = preferred
            reader.expected = ExpectedFetch(FOLLOWS, preferred, offset, now)
        elif at == layout.leader:
            was_elsewhere, reader.follower = reader.follower is not None, None
            reader.expected = ExpectedFetch(AT_LEADER, at, offset, now) if was_elsewhere else None
        elif at == reader.follower:
            reader.visited = at
            reader.expected = ExpectedFetch(STAYS, at, offset, now)

    def brokers_gone(self, broker_ids: list[int], now: int) -> None:
        """Brokers were stopped: readers of a follower there must read elsewhere."""
        for reader in (reader for client in self._facts.clients.values() for reader in client.readers.values()):
            if reader.visited in broker_ids:
                reader.visited = None
            if reader.broker in broker_ids:
                was_following, reader.follower = reader.follower == reader.broker, None
                reader.expected = ExpectedFetch(GONE, reader.broker, reader.offset, now) if was_following else None

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
        check, target = expected.check, expected.broker
        if check in (FOLLOWS, STAYS) and broker != target and target not in layout.in_sync:
            return  # it has gone meanwhile
        if check == AT_LEADER and target not in (broker, layout.leader):
            return
        if check in AWAY:
            is_right = broker != target and (check == GONE or offset == expected.offset)
        else:
            is_right = broker == target
        if check == FOLLOWS:
            refused, reader.refused = reader.refused, None if is_right else target
            self._facts.ignored_redirects += not is_right
            if reader.refused is not None and refused == target:
                return  # it was sent there again and again did not go: one refusal
        why = {
            FOLLOWS: f"sent to broker {target}",
            STAYS: f"served by follower {target}",
            AT_LEADER: f"leader {target} named no other replica",
            OUT_OF_RANGE: f"offset {expected.offset} out of range at follower {target}",
            GONE: f"broker {target} has it no more",
        }[check]
        at = f", offset {offset}" if check == OUT_OF_RANGE else ""
        self._facts.tallies[check].note(
            is_right, f"{place[0]}-{place[1]}, client in rack {client.rack}: {why}, next fetch at broker {broker}{at}"
        )
