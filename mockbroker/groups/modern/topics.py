"""Topics as groups see them: names, ids, partitions, the racks of their replicas, and a hash that detects changes.

Source: KIP-1101; CoordinatorMetadataImage and Utils.computeTopicHash, Apache Kafka 4.4, whose hash is different.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

from mockbroker.groups.modern.members import grouped

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

HASH_BYTES = 8


class GroupTopics:
    """The cluster's topics, as group coordinators see them: ``by_name`` and ``by_id``."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.by_name, self.by_id = cluster.topics, cluster.topic_by_id

    def version(self) -> int:
        """A number that increases whenever topics may have changed."""
        return self.cluster.version

    def racks(self) -> dict[int, str | None]:
        """Brokers' racks by id."""
        return {broker.id: broker.rack for broker in self.cluster.brokers.values()}

    def id_of(self, name: str) -> bytes | None:
        """A topic's id, None for an unknown name."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.id

    def name_of(self, topic_id: bytes) -> str | None:
        """A topic's name, None for an unknown id."""
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.name

    def numbers_by_name(self, partitions: Iterable[tuple[bytes, int]]) -> dict[str, list[int]]:
        """The numbers of partitions by the name of their topic, both sorted, without unknown topics."""
        by_id = grouped(partitions).items()
        return dict(sorted((self.by_id[one].name, sorted(numbers)) for one, numbers in by_id if one in self.by_id))

    def ids_of(self, names: Iterable[str]) -> set[bytes]:
        """The ids of the existing topics among these."""
        return {self.by_name[name].id for name in names if name in self.by_name}

    def hash_of(self, names: Iterable[str]) -> int:
        """A signed 64-bit number that changes when any of these topics does; 0 if none exists."""
        racks = self.racks()
        found = [
            (topic.id, name, [sorted(racks.get(replica) or "" for replica in one.replicas) for one in topic.partitions])
            for name, topic in sorted((name, self.by_name[name]) for name in names if name in self.by_name)
        ]
        digest = blake2b(repr(found).encode(), digest_size=HASH_BYTES).digest()
        return int.from_bytes(digest, "big", signed=True) if found else 0
