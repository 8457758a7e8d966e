"""Selection of the replica that serves a reader, and of the replica that should lead.

Brokers make two choices by rack:

- KIP-392: the leader names a replica near the consumer (``select_replica``, ``ReplicaSelector``).
- Leader preferences: a topic's leaders stay in chosen racks, ``racks:a,b`` or ``ordered_racks:a,b``
  (``LeaderPreference``). For diskless topics any broker can lead: kafka_rack.diskless chooses there.

Source: KIP-392; LeaderSelector and RackAwareReplicaSelector, Apache Kafka 4.1.0; Redpanda's topic property
redpanda.leaders.preference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from kafka_rack.errors import SelectionError

SELECTOR_SETTING = "replica.selector.class"
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""Kafka's own class, with which consumers read from a replica in their rack (KIP-392)."""


class ReplicaView(NamedTuple):
    """The leader's view of one in-sync replica; ``caught_up_lag_ms`` is the time since it had all records."""

    id: int
    rack: str | None
    log_end_offset: int
    caught_up_lag_ms: int


class ReplicaSelector(Protocol):
    """Chooses the replica for a reader. Only leaders call it; the leader's own id means: read from the leader."""

    def select(self, client_rack: str | None, leader: int, replicas: Sequence[ReplicaView]) -> int: ...


class LeaderSelector:
    """``leader``: every reader reads from the leader."""

    def select(self, client_rack: str | None, leader: int, replicas: Sequence[ReplicaView]) -> int:
        return leader


class RackAwareSelector:
    """``rack-aware``: a replica in the reader's rack; the leader if it is there itself or no replica is.

    Of several, the one with the highest log end offset, then with the smallest lag, then with the highest id.
    """

    def select(self, client_rack: str | None, leader: int, replicas: Sequence[ReplicaView]) -> int:
        if not client_rack:
            return leader
        near = [replica for replica in replicas if replica.rack == client_rack]
        if not near or any(replica.id == leader for replica in near):
            return leader
        return max(near, key=lambda replica: (replica.log_end_offset, -replica.caught_up_lag_ms, replica.id)).id


SELECTORS: dict[str, type[ReplicaSelector]] = {"leader": LeaderSelector, "rack-aware": RackAwareSelector}
JAVA_NAMES = {
    "org.apache.kafka.common.replica.LeaderSelector": "leader",
    RACK_AWARE_SELECTOR: "rack-aware",
}


def find_selector(name: str | None) -> ReplicaSelector:
    """The selector that ``replica.selector.class`` names: built in, by its Java name, or as ``module:Class``.

    Without a name, the leader's, as in Kafka.

    Raises: SelectionError: unknown selector.

    >>> type(find_selector("org.apache.kafka.common.replica.RackAwareReplicaSelector")).__name__
    'RackAwareSelector'
    """
    wanted = (name or "").strip() or "leader"
    built_in = SELECTORS.get(JAVA_NAMES.get(wanted, wanted))
    if built_in is not None:
        return built_in()
    module_name, colon, class_name = wanted.partition(":")
    if not colon:
        raise SelectionError(f"{SELECTOR_SETTING}: expected module:Class or one of {known_names()}, got {wanted!r}")
    try:
        made: ReplicaSelector = getattr(import_module(module_name), class_name)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise SelectionError(f"{SELECTOR_SETTING}={wanted}: {error}") from error
    if not callable(getattr(made, "select", None)):
        raise SelectionError(f"{SELECTOR_SETTING}={wanted}: has no method select, so it is no ReplicaSelector")
    return made


def known_names() -> str:
    """The names of the built-in selectors, for a message."""
    return ", ".join(sorted([*SELECTORS, *JAVA_NAMES]))


def select_replica(selector: str, client_rack: str | None, partition: Mapping[str, Any]) -> int | None:
    """Choose the replica for a reader of one partition.

    Args:
        selector: a name for ``find_selector``.
        client_rack: the reader's; None and "" mean no rack.
        partition: ``{"leader": id or None, "replicas": [{"id", "rack", "log_end_offset", "caught_up_lag_ms"}]}``,
            with the replicas that may be read, the leader among them.

    Returns: a broker id; None without a leader, since only leaders select.

    >>> replicas = [
    ...     {"id": 0, "rack": "a", "log_end_offset": 9, "caught_up_lag_ms": 0},
    ...     {"id": 1, "rack": "b", "log_end_offset": 8, "caught_up_lag_ms": 40},
    ... ]
    >>> select_replica("rack-aware", "b", {"leader": 0, "replicas": replicas})
    1
    """
    leader = partition["leader"]
    if leader is None or leader < 0:
        return None
    views = [
        ReplicaView(
            replica["id"], replica.get("rack"), replica.get("log_end_offset", 0), replica.get("caught_up_lag_ms", 0)
        )
        for replica in partition["replicas"]
    ]
    return find_selector(selector).select(client_rack, leader, views)


@dataclass(frozen=True, slots=True)
class LeaderPreference:
    """The racks in which a topic's leaders should be. ``ordered``: the first rack that can lead, not any of them."""

    racks: tuple[str, ...] = ()
    ordered: bool = False

    @classmethod
    def parse(cls, text: str | None) -> LeaderPreference:
        """Parse ``none``, ``racks:a,b`` or ``ordered_racks:a,b``; blanks around names are ignored.

        Raises: SelectionError: anything else, an empty rack name, or a repeated rack.

        >>> LeaderPreference.parse("ordered_racks: a, b")
        LeaderPreference(racks=('a', 'b'), ordered=True)
        """
        said = (text or "none").strip()
        if said == "none":
            return cls()
        kind, colon, names = said.partition(":")
        if not colon or kind.strip() not in ("racks", "ordered_racks"):
            raise SelectionError(f"leader preference: expected none, racks:a,b or ordered_racks:a,b, got {said!r}")
        racks = tuple(name.strip() for name in names.split(","))
        if "" in racks:
            raise SelectionError(f"leader preference {said!r} has an empty rack name")
        if len(set(racks)) != len(racks):
            raise SelectionError(f"leader preference {said!r} names a rack twice")
        return cls(racks, kind.strip() == "ordered_racks")

    def __str__(self) -> str:
        if not self.racks:
            return "none"
        return f"{'ordered_racks' if self.ordered else 'racks'}:{','.join(self.racks)}"

    def candidates(self, replicas: Iterable[int], rack_of: Mapping[int, str | None]) -> list[int]:
        """The replicas that should lead, of those that can, in their order; all if no preferred rack has one.

        >>> LeaderPreference.parse("racks:a,b").candidates([3, 1, 2], {1: "a", 2: "b", 3: "c"})
        [1, 2]
        """
        able = list(replicas)
        tiers: Sequence[Collection[str]] = [(rack,) for rack in self.racks] if self.ordered else [self.racks]
        for tier in tiers:
            near = [replica for replica in able if rack_of.get(replica) in tier]
            if near:
                return near
        return able

    def lead(self, rows: Iterable[Sequence[int]], rack_of: Mapping[int, str | None], up: Collection[int]) -> list[int]:
        """A leader for each partition, spread evenly over the brokers that may lead by preference.

        Args:
            rows: the replicas of each partition that can lead, preferred first.
            up: the brokers that are alive.

        Returns: a broker id for each row, -1 if no replica is up.

        >>> LeaderPreference.parse("racks:a").lead([[1, 2, 3]] * 2, {1: "a", 2: "a", 3: "b"}, up={1, 2, 3})
        [1, 2]
        """
        choices = [self.candidates((replica for replica in row if replica in up), rack_of) for row in rows]
        return even_choice(choices)


def even_choice(choices: Sequence[Sequence[int]]) -> list[int]:
    """One of each row's choices, such that the busiest broker has as few rows as possible; -1 for a row without any.

    Rows take the least busy choice first; then rows move along chains while that shifts load from a broker to one with
    at least two fewer, which ends at the optimum.
    """
    load = {broker: 0 for row in choices for broker in row}
    chosen: list[int] = []
    for row in choices:
        best = min(row, key=lambda broker: (load[broker], row.index(broker)), default=-1)
        chosen.append(best)
        if best >= 0:
            load[best] += 1
    led: dict[int, list[int]] = {broker: [] for broker in load}
    for number, broker in enumerate(chosen):
        if broker >= 0:
            led[broker].append(number)
    while any(relieved(broker, choices, chosen, led) for broker in sorted(led, key=lambda broker: -len(led[broker]))):
        pass
    return chosen


def relieved(busy: int, choices: Sequence[Sequence[int]], chosen: list[int], led: dict[int, list[int]]) -> bool:
    """Move one row from ``busy``, through others, to a broker with at least two fewer rows, if any."""
    came_by: dict[int, int] = {}
    queue = [busy]
    seen = {busy}
    for broker in queue:
        if len(led[broker]) <= len(led[busy]) - 2:
            taker = broker
            while taker != busy:
                row = came_by[taker]
                giver = chosen[row]
                led[giver].remove(row)
                led[taker].append(row)
                chosen[row] = taker
                taker = giver
            return True
        for row in led[broker]:
            for other in choices[row]:
                if other not in seen:
                    seen.add(other)
                    came_by[other] = row
                    queue.append(other)
    return False
