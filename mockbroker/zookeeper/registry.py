"""The part of ZooKeeper that brokers use: the registrations of brokers and of the controller.

Source: KIP-36; ZkData, Apache Kafka 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass, field

BROKER_IDS = "/brokers/ids"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
NOT_REGISTERED = -1


@dataclass(slots=True, eq=False)
class Registry:
    """The nodes of brokers: path -> bytes. ``zxid`` counts the writes, as in ZooKeeper.

    >>> registry = Registry()
    >>> registry.register(1, b'{"version":3}')
    >>> registry.broker_ids(), registry.broker_epoch(1), registry.broker_epoch(2)
    ([1], 1, -1)
    """

    nodes: dict[str, bytes] = field(default_factory=dict)
    created: dict[str, int] = field(default_factory=dict)
    zxid: int = 0

    def write(self, path: str, data: bytes) -> None:
        """Create or change a node."""
        self.zxid += 1
        self.nodes[path] = data
        self.created.setdefault(path, self.zxid)

    def delete(self, path: str) -> None:
        """Delete a node if it exists."""
        if self.nodes.pop(path, None) is not None:
            del self.created[path]
            self.zxid += 1

    def broker_ids(self) -> list[int]:
        """The registered brokers, sorted."""
        start = BROKER_IDS + "/"
        return sorted(int(path.removeprefix(start)) for path in self.nodes if path.startswith(start))

    def registrations(self) -> dict[str, bytes]:
        """The JSON of each registered broker by its path, ordered by broker id."""
        return {f"{BROKER_IDS}/{broker_id}": self.registration(broker_id) for broker_id in self.broker_ids()}

    def registration(self, broker_id: int) -> bytes:
        """The JSON of a broker. Raises KeyError unless it is registered."""
        return self.nodes[f"{BROKER_IDS}/{broker_id}"]

    def register(self, broker_id: int, registration: bytes) -> None:
        """Write a broker's JSON in a new node."""
        self.unregister(broker_id)
        self.write(f"{BROKER_IDS}/{broker_id}", registration)

    def unregister(self, broker_id: int) -> None:
        """Delete a broker's registration at the end of its session."""
        self.delete(f"{BROKER_IDS}/{broker_id}")

    def broker_epoch(self, broker_id: int) -> int:
        """The zxid of a broker's registration, -1 if it is not registered."""
        return self.created.get(f"{BROKER_IDS}/{broker_id}", NOT_REGISTERED)
