"""The layout of a cluster: brokers with their racks, and the replicas of each partition.

It comes from a live cluster or from a JSON file, whose content this module reads:
  {"brokers": [{"id": 0, "rack": "a"}, [1, "b"]],
   "topics": {"orders": [[0, 1], [1, 0]],
              "events": {"partitions": [{"partition": 0, "replicas": [0, 1], "leader": 0, "isr": [0]}],
                         "min_insync_replicas": 2}}}
or the JSON of Kafka's own reassignment tool, which names no brokers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from kafka_rack.errors import InputError
from kafka_rack.placement import UsableBroker

SHOWN_KEYS = 6
"""The most keys of an unexpected object in a message."""


@dataclass(frozen=True, slots=True)
class LayoutPartition:
    """The brokers of one partition, preferred leader first; leader and in-sync replicas if known."""

    replicas: tuple[int, ...]
    leader: int | None = None
    isr: tuple[int, ...] | None = None

    @property
    def leading(self) -> int:
        """The leader if known, else the preferred leader; -1 for a diskless topic, which has no replicas."""
        if self.leader is not None:
            return self.leader
        return self.replicas[0] if self.replicas else -1


@dataclass(frozen=True, slots=True)
class LayoutTopic:
    """A topic's partitions, from 0 up; min.insync.replicas if known.

    A diskless topic has no replicas: those in Metadata are the brokers that serve the requesting client.
    """

    partitions: tuple[LayoutPartition, ...]
    min_insync_replicas: int | None = None
    internal: bool = False
    diskless: bool = False

    @property
    def replication_factor(self) -> int:
        """The number of replicas of the partition with the most."""
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """Brokers sorted by id, and topics sorted by name. A fenced broker is known but not up."""

    brokers: tuple[UsableBroker, ...]
    topics: Mapping[str, LayoutTopic] = field(default_factory=dict)

    @property
    def rack_of(self) -> dict[int, str | None]:
        return {broker.id: broker.rack for broker in self.brokers}

    @property
    def racks(self) -> list[str]:
        """The racks by name."""
        return sorted({broker.rack for broker in self.brokers if broker.rack is not None})

    def replicas_by_topic(self) -> dict[str, list[list[int]]]:
        """Topic -> the replicas of partition 0, 1, ..."""
        return {
            name: [list(partition.replicas) for partition in topic.partitions] for name, topic in self.topics.items()
        }

    def each_partition(self) -> Iterator[tuple[str, int, LayoutPartition]]:
        """Every partition with its topic and number, in order."""
        for name, topic in self.topics.items():
            for number, partition in enumerate(topic.partitions):
                yield name, number, partition

    def without_diskless(self) -> ClusterLayout:
        """The layout without diskless topics, whose partitions have no replicas to judge or to move."""
        return ClusterLayout(self.brokers, {name: topic for name, topic in self.topics.items() if not topic.diskless})

    def unknown_brokers(self) -> dict[int, list[tuple[str, int]]]:
        """Brokers that hold replicas but are not in the cluster: id -> the partitions."""
        known = self.rack_of
        found: dict[int, list[tuple[str, int]]] = {}
        for name, number, partition in self.each_partition():
            for broker in partition.replicas:
                if broker not in known:
                    found.setdefault(broker, []).append((name, number))
        return dict(sorted(found.items()))

    def only(self, wanted: Iterable[str]) -> ClusterLayout:
        """The layout with only these topics.

        Raises: InputError: an unknown topic.
        """
        names = sorted(set(wanted))
        missing = [name for name in names if name not in self.topics]
        if missing:
            raise InputError(f"topic {missing[0]}: there is no such topic")
        return ClusterLayout(self.brokers, {name: self.topics[name] for name in names})


def after_plan(layout: ClusterLayout, entries: Iterable[tuple[str, int, tuple[int, ...]]]) -> ClusterLayout:
    """The layout after a plan, with every replica in sync and preferred leaders leading.

    Args:
        entries: (topic, partition, replicas), of existing partitions.

    >>> said = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0]]}}
    >>> after_plan(layout_of_json(said), [("orders", 0, (1,))]).replicas_by_topic()
    {'orders': [[1]]}
    """
    changed: dict[str, dict[int, LayoutPartition]] = {}
    for name, number, replicas in entries:
        changed.setdefault(name, {})[number] = LayoutPartition(replicas)
    topics = {
        name: replace(
            topic,
            partitions=tuple(changed.get(name, {}).get(number, one) for number, one in enumerate(topic.partitions)),
        )
        for name, topic in layout.topics.items()
    }
    return ClusterLayout(layout.brokers, topics)


def make_layout(brokers: Iterable[UsableBroker], topics: Mapping[str, LayoutTopic]) -> ClusterLayout:
    """A layout in order, its brokers checked.

    Raises: InputError: a repeated broker.
    """
    ordered = sorted(brokers, key=lambda broker: broker.id)
    for one, other in pairwise(ordered):
        if one.id == other.id:
            racks = (
                "" if one.rack == other.rack else f", in rack {one.rack or 'none'} and in rack {other.rack or 'none'}"
            )
            raise InputError(f"broker {one.id} is given twice{racks if one.rack != other.rack else ''}")
    return ClusterLayout(tuple(ordered), {name: topics[name] for name in sorted(topics)})


def layout_of_json(said: Any, brokers: Iterable[UsableBroker] | None = None) -> ClusterLayout:
    """The layout in a file's content.

    Args:
        brokers: the brokers, if the file names none.

    Raises: InputError: an invalid file; the message names the topic, partition or broker.

    >>> layout_of_json({"brokers": [[0, "a"]], "topics": {"orders": [[0]]}}).topics["orders"].partitions
    (LayoutPartition(replicas=(0,), leader=None, isr=None),)
    """
    if not isinstance(said, dict):
        raise InputError(f"expected an object with brokers and topics, got {kind_of(said)}")
    forms = [key for key in ("topics", "current", "partitions") if key in said]
    if len(forms) > 1:
        raise InputError(f"{' and '.join(forms)} are both there: give the topics once")
    by_name = said.get("topics", said.get("current"))
    if isinstance(said.get("partitions"), list):
        topics = topics_of_reassignment(said)
    elif isinstance(by_name, dict):
        topics = {name: topic_of_json(name, topic) for name, topic in by_name.items()}
    else:
        raise InputError("expected topics, as an object of them or as a list of partitions, got neither")
    listed = said.get("brokers") or []
    if not isinstance(listed, list):
        raise InputError(f"brokers: expected a list, got {json.dumps(listed)}")
    inside = [broker_of_json(at, entry) for at, entry in enumerate(listed)]
    if inside and brokers is not None:
        raise InputError("it names brokers, and they are given beside it as well: give them once")
    given = inside if brokers is None else list(brokers)
    if not given:
        raise InputError("it names no brokers: add them, or give them beside it")
    layout = make_layout(given, topics)
    unknown = layout.unknown_brokers()
    for broker, partitions in unknown.items():
        name, number = partitions[0]
        raise InputError(f"{name}-{number} is on broker {broker}, which is not among the brokers")
    return layout


def kind_of(said: Any) -> str:
    """A JSON value's kind in JSON's terms; for an object with its keys, which are the usual error.

    >>> kind_of([1]), kind_of({"a": 1, "b": 2}), kind_of("text")
    ('a list', 'an object with a, b', '"text"')
    """
    if isinstance(said, dict):
        keys = ", ".join(map(str, list(said)[:SHOWN_KEYS]))
        return f"an object with {keys}" if keys else "an empty object"
    return "a list" if isinstance(said, list) else json.dumps(said)


def broker_of_json(at: int, entry: Any) -> UsableBroker:
    """A broker from {"id", "rack", "fenced"}, [id, rack] or [id, rack, fenced]."""
    if isinstance(entry, dict):
        entry = [entry.get("id"), entry.get("rack"), entry.get("fenced", False)]
    if not isinstance(entry, list) or not 1 <= len(entry) <= 3:
        raise InputError(f"broker at place {at}: expected an object with id and rack, got {json.dumps(entry)}")
    number, rack, fenced = [*entry, None, False][:3] if len(entry) == 1 else [*entry, False][:3]
    if not is_number(number) or number < 0:
        raise InputError(f"broker at place {at}: id: expected a number from 0, got {json.dumps(number)}")
    if rack is not None and not isinstance(rack, str):
        raise InputError(f"broker {number}: rack: expected a text or null, got {json.dumps(rack)}")
    if not isinstance(fenced, bool):
        raise InputError(f"broker {number}: fenced: expected true or false, got {json.dumps(fenced)}")
    return UsableBroker(number, rack or None, fenced)


def topic_of_json(name: str, said: Any) -> LayoutTopic:
    """A topic as a list of partitions, or as an object that holds it."""
    least: Any = None
    internal = diskless = False
    if isinstance(said, dict):
        least = said.get("min_insync_replicas")
        internal, diskless = bool(said.get("internal")), bool(said.get("diskless"))
        if least is not None and (not is_number(least) or least < 1):
            raise InputError(f"{name}: min_insync_replicas: expected a number from 1, got {json.dumps(least)}")
        said = said.get("partitions")
    if not isinstance(said, list) or not said:
        raise InputError(f"{name}: partitions: expected a list of at least one, got {json.dumps(said)}")
    found: dict[int, LayoutPartition] = {}
    for at, entry in enumerate(said):
        number = entry.get("partition", at) if isinstance(entry, dict) else at
        add_partition(found, name, number, partition_of_json(f"{name}-{number}", entry, diskless=diskless))
    return LayoutTopic(in_order(name, found), least, internal, diskless)


def topics_of_reassignment(said: Mapping[str, Any]) -> dict[str, LayoutTopic]:
    """The topics of a plan in the form of Kafka's reassignment tool, all partitions of each."""
    found: dict[str, dict[int, LayoutPartition]] = {}
    for name, number, replicas in reassignment_entries(said):
        add_partition(found.setdefault(name, {}), name, number, LayoutPartition(replicas))
    return {name: LayoutTopic(in_order(name, partitions)) for name, partitions in found.items()}


def reassignment_entries(said: Any) -> list[tuple[str, int, tuple[int, ...]]]:
    """(topic, partition, replicas) of a plan in the form of Kafka's reassignment tool, in its order.

    Raises: InputError: another form, or a partition that comes twice.
    """
    if not isinstance(said, dict) or not isinstance(said.get("partitions"), list):
        raise InputError(f"expected a reassignment, an object with version and partitions, got {kind_of(said)}")
    if said.get("version", 1) != 1:
        raise InputError(f"version: expected 1, got {json.dumps(said['version'])}")
    entries = []
    seen = set()
    for at, entry in enumerate(said["partitions"]):
        name: Any = entry.get("topic") if isinstance(entry, dict) else None
        number: Any = entry.get("partition") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name or not is_number(number) or number < 0:
            raise InputError(
                f"partition at place {at}: expected topic, partition and replicas, got {json.dumps(entry)}"
            )
        if (name, number) in seen:
            raise InputError(f"{name}-{number} is given twice")
        seen.add((name, number))
        entries.append((name, number, partition_of_json(f"{name}-{number}", entry).replicas))
    return entries


def partition_of_json(where: str, entry: Any, *, diskless: bool = False) -> LayoutPartition:
    """A partition as a list of replicas, or as {"replicas", "leader", "isr"}."""
    leader, isr = None, None
    if isinstance(entry, dict):
        leader, isr = entry.get("leader"), entry.get("isr")
        entry = entry.get("replicas")
    replicas = brokers_of_json(where, "replicas", entry)
    if not replicas and not diskless:
        raise InputError(f"{where}: replicas: expected one or more, got none")
    if leader is not None and not is_number(leader):
        raise InputError(f"{where}: leader: expected a broker id or null, got {json.dumps(leader)}")
    if leader is not None and leader not in (*replicas, -1):
        raise InputError(f"{where}: leader is {leader}, which is not among its replicas {list(replicas)}")
    in_sync = None if isr is None else brokers_of_json(where, "isr", isr)
    if in_sync is not None and not set(in_sync) <= set(replicas):
        stranger = min(set(in_sync) - set(replicas))
        raise InputError(f"{where}: {stranger} is in its isr, but not among its replicas {list(replicas)}")
    return LayoutPartition(replicas, leader, in_sync)


def brokers_of_json(where: str, what: str, said: Any) -> tuple[int, ...]:
    """Broker ids, each once."""
    if not isinstance(said, list) or not all(is_number(broker) for broker in said):
        raise InputError(f"{where}: {what}: expected a list of broker ids, got {json.dumps(said)}")
    twice = [broker for at, broker in enumerate(said) if broker in said[:at]]
    if twice:
        raise InputError(f"{where}: broker {twice[0]} is given twice in {what} {said}")
    return tuple(said)


def add_partition(found: dict[int, LayoutPartition], name: str, number: Any, partition: LayoutPartition) -> None:
    """File a partition under its number; one that comes twice contradicts itself."""
    if not is_number(number) or number < 0:
        raise InputError(f"{name}: partition: expected a number from 0, got {json.dumps(number)}")
    if number in found:
        raise InputError(f"{name}-{number} is given twice")
    found[number] = partition


def in_order(name: str, found: Mapping[int, LayoutPartition]) -> tuple[LayoutPartition, ...]:
    """Partitions from 0 up. Raises InputError: a gap, which would shift the later ones."""
    missing = [number for number in range(len(found)) if number not in found]
    if missing:
        raise InputError(f"{name}: partition {missing[0]} is missing, while partition {max(found)} is there")
    return tuple(found[number] for number in range(len(found)))


def is_number(value: object) -> bool:
    """True if a JSON value is a whole number; true and false are none."""
    return type(value) is int
