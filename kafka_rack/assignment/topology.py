"""The racks of a cluster's partitions, the input of every assignor.

A partition's replica racks are one int, a bit mask: racks are numbered in order of appearance, and bit ``n`` is rack
number ``n``. A replica on a broker that the metadata do not list, or on one without a rack, sets no bit; an offline or
out-of-sync replica on a listed broker does (KIP-881).

Source: AbstractPartitionAssignor.assign, RangeAssignor.TopicAssignmentState, AbstractStickyAssignor.RackInfo of
Apache Kafka 4.1.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from hashlib import md5
from typing import Any

from kafka_rack.errors import InputError

IN_JSON: Mapping[type, str] = {dict: "an object", list: "a list"}
"""The name of a Python type in users' files."""


class Topology:
    """The racks with a replica of each partition.

    Attributes:
        replicas: topic -> its partitions' replica lists, unchanged.
        rack_bits: rack name -> its bit. A broker's empty rack name counts as a rack, as in Kafka's client.
        topic_ids: topic -> 16 bytes, for the group coordinator's assignors.
        broker_racks: broker id -> rack, unchanged.
    """

    __slots__ = ("_broker_bits", "_masks", "broker_racks", "rack_bits", "replicas", "topic_ids")

    def __init__(
        self,
        racks: Mapping[int, str | None],
        topics: Mapping[str, Sequence[Sequence[int]]],
        topic_ids: Mapping[str, bytes] | None = None,
    ) -> None:
        self.replicas = topics
        self.broker_racks = dict(racks)
        self.topic_ids = dict(topic_ids or {})
        self.rack_bits: dict[str, int] = {}
        self._broker_bits: dict[int, int] = {}
        self._masks: dict[str, list[int]] = {}
        for broker, rack in racks.items():
            if rack is not None:
                bit = self.rack_bits.setdefault(rack, 1 << len(self.rack_bits))
                self._broker_bits[broker] = bit

    @classmethod
    def from_plain(cls, cluster: Any) -> Topology:
        """Parse the plain form: ``nodes`` [[id, rack or None]], ``topics``, optionally ``topic_ids`` and ``offline``.

        Raises: InputError, naming the place.
        """
        if not isinstance(cluster, Mapping):
            raise InputError(f"cluster: expected an object with nodes and topics, got {cluster!r}")
        racks: dict[int, str | None] = {}
        for index, node in enumerate(_field(cluster, "nodes", list, "cluster")):
            if not isinstance(node, list | tuple) or len(node) != 2 or not _is_broker_id(node[0]):
                raise InputError(f"cluster.nodes[{index}]: expected [broker id, rack], got {node!r}")
            broker, rack = node
            if rack is not None and not isinstance(rack, str):
                raise InputError(f"cluster.nodes[{index}]: rack {rack!r} is no string")
            if broker in racks:
                raise InputError(f"cluster.nodes[{index}]: broker {broker} is listed twice")
            racks[broker] = rack
        topics = _field(cluster, "topics", dict, "cluster")
        for topic, partitions in topics.items():
            _check_partitions(topic, partitions)
        topic_ids = {
            topic: _uuid_from_text(text, f"cluster.topic_ids.{topic}")
            for topic, text in (cluster.get("topic_ids") or {}).items()
        }
        return cls(racks, topics, topic_ids)

    def partition_count(self, topic: str) -> int:
        """The number of a topic's partitions; 0 for an unknown topic."""
        return len(self.replicas.get(topic, ()))

    def racks_of(self, topic: str) -> list[int]:
        """The rack mask of each partition of a topic, by partition number."""
        masks = self._masks.get(topic)
        if masks is None:
            masks = self._masks[topic] = _rack_masks(self.replicas.get(topic, ()), self._broker_bits)
        return masks

    def topic_id(self, topic: str) -> bytes:
        """A topic's id; where none was given, 16 bytes that its name decides (no id that a cluster would give it)."""
        topic_id = self.topic_ids.get(topic)
        if topic_id is None:
            topic_id = self.topic_ids[topic] = md5(topic.encode(), usedforsecurity=False).digest()
        return topic_id

    def bit(self, rack: str | None) -> int:
        """A member's rack as a bit. 0: it has none. A rack that no broker has gets a bit that no mask holds."""
        if not rack:
            return 0
        return self.rack_bits.setdefault(rack, 1 << len(self.rack_bits))


def racks_matter(member_racks: int, partition_masks: Iterable[int]) -> bool:
    """True if rack awareness can change anything.

    False where no member has a rack, where no replica is in a member's rack, and where every partition has a replica
    in every rack that has any.

    Args:
        member_racks: the racks of all members, or-ed together.
        partition_masks: the replica racks of each partition.
    """
    if not member_racks:
        return False
    distinct = set(partition_masks)
    if len(distinct) < 2:
        # All partitions have the same racks, or there are none.
        return False
    everywhere = 0
    for mask in distinct:
        everywhere |= mask
    return bool(member_racks & everywhere)


def _rack_masks(partitions: Sequence[Sequence[int]], bits: Mapping[int, int]) -> list[int]:
    bit_of = bits.get
    widths = {len(replicas) for replicas in partitions}
    if widths == {2}:
        return [bit_of(first, 0) | bit_of(second, 0) for first, second in partitions]
    if widths == {3}:
        return [bit_of(first, 0) | bit_of(second, 0) | bit_of(third, 0) for first, second, third in partitions]
    masks = []
    for replicas in partitions:
        mask = 0
        for broker in replicas:
            mask |= bit_of(broker, 0)
        masks.append(mask)
    return masks


def _field(source: Mapping[str, Any], name: str, kind: type, where: str) -> Any:
    value = source.get(name)
    if not isinstance(value, Mapping if kind is dict else kind):
        raise InputError(f"{where}.{name}: expected {IN_JSON[kind]}, got {value!r}")
    return value


def _is_broker_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_partitions(topic: object, partitions: object) -> None:
    if not isinstance(topic, str) or not topic:
        raise InputError(f"cluster.topics: {topic!r} is no topic name")
    if not isinstance(partitions, list | tuple):
        raise InputError(f"cluster.topics.{topic}: expected a list of replica lists, got {partitions!r}")
    if set(map(type, partitions)) <= {list, tuple}:
        return
    for index, replicas in enumerate(partitions):
        if not isinstance(replicas, list | tuple):
            raise InputError(f"cluster.topics.{topic}[{index}]: {replicas!r} is no list of broker ids")


def _uuid_from_text(text: object, where: str) -> bytes:
    try:
        value = base64.urlsafe_b64decode(f"{text}==") if isinstance(text, str) and len(text) == 22 else b""
    except (binascii.Error, ValueError):
        value = b""
    if len(value) != 16:
        raise InputError(f"{where}: expected a topic id of 22 base64 characters, got {text!r}")
    return value
