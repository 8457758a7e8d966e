"""Topics as groups see them: names, ids, partitions, the racks of their replicas, and a hash that detects changes.

Source: KIP-1101; CoordinatorMetadataImage and Utils.computeTopicHash, Apache Kafka 4.4, whose hash is different.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.state.topics.topic import Topic

HASH_BYTES = 8


@dataclass(slots=True, eq=False)
class GroupTopics:
    """The cluster's topics, as group coordinators see them.

    ``version`` increases whenever topics may have changed; ``racks`` are brokers' racks by id.
    """

    by_name: Mapping[str, Topic]
    by_id: Mapping[bytes, Topic]
    racks: Callable[[], Mapping[int, str | None]]
    version: Callable[[], int]
    _hashes: dict[str, bytes] = field(default_factory=dict)  # of topics, in one version
    _hashed_version: int | None = None
    _seen: tuple[int, frozenset[bytes]] | None = None  # the version at the last ``last_creation``, and the ids
    _last_creation: int = 0

    def id_of(self, name: str) -> bytes | None:
        """A topic's id, None for an unknown name."""
        topic = self.by_name.get(name)
        return None if topic is None else topic.id

    def name_of(self, topic_id: bytes) -> str | None:
        """A topic's name, None for an unknown id."""
        topic = self.by_id.get(topic_id)
        return None if topic is None else topic.name

    def ids_of(self, names: Iterable[str]) -> set[bytes]:
        """The ids of the existing topics among these."""
        return {topic.id for name in names if (topic := self.by_name.get(name)) is not None}

    def last_creation(self) -> int:
        """The version at which a new topic was last seen."""
        version = self.version()
        if self._seen is None or self._seen[0] != version:
            if self._seen is None or not self._seen[1].issuperset(self.by_id):
                self._last_creation = version
            self._seen = (version, frozenset(self.by_id))
        return self._last_creation

    def hash_of(self, names: Iterable[str]) -> int:
        """A signed 64-bit number that changes when any of these topics does; 0 if none exists."""
        existing = sorted(name for name in names if name in self.by_name)
        if not existing:
            return 0
        if self._hashed_version != self.version():
            self._hashed_version = self.version()
            self._hashes.clear()
        digest = blake2b(digest_size=HASH_BYTES)
        for name in existing:
            if name not in self._hashes:
                self._hashes[name] = self._topic_hash(self.by_name[name])
            digest.update(self._hashes[name])
        return int.from_bytes(digest.digest(), "big", signed=True)

    def _topic_hash(self, topic: Topic) -> bytes:
        racks = self.racks()
        digest = blake2b(topic.id, digest_size=HASH_BYTES)
        digest.update(topic.name.encode())
        for partition in topic.partitions:
            rack_names = sorted(racks.get(replica) or "" for replica in partition.replicas)
            digest.update(repr(rack_names).encode())
        return digest.digest()
