"""The metadata of one broker, and the mode by which brokers get it: interfaces for KRaft and ZooKeeper mode.

A ``MetadataView`` is a broker's metadata from the controller, which in KRaft mode is current unless the broker is cut
off. ``MetadataSupport`` is the mode: it has the controller, the versions that a broker serves, and the updates to
brokers. Source: MetadataCache and MetadataSupport, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.metadata.cache import CachedBroker, CachedTopic, MetadataCache, PartitionState
from mockbroker.state.topics.topic import Partition, Topic

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.metadata.kraft import CurrentView

KnownBroker = Broker | CachedBroker
KnownPartition = Partition | PartitionState
KnownTopic = Topic | CachedTopic
MetadataView: TypeAlias = "CurrentView | MetadataCache"


class MetadataSupport:
    """A cluster's mode: its controller, and the way brokers get their metadata.

    ``forwards``: any broker accepts changes and forwards them to the controller (KIP-590). ``is_kraft``: diskless
    topics and pluggable placers are supported. ``session_timeout`` is the name of the session timeout's setting.
    """

    __slots__ = ()
    name: ClassVar[str]
    forwards: ClassVar[bool]
    is_kraft: ClassVar[bool]
    session_timeout: ClassVar[str]

    @property
    def controller_id(self) -> int:
        """The controller's broker id, -1 for none."""
        raise NotImplementedError

    def served_versions(self, broker_id: int) -> Mapping[int, tuple[int, int]] | None:
        """API key -> lowest and highest version that a broker's release serves; None: all versions."""
        raise NotImplementedError

    def view(self, broker_id: int) -> CurrentView | MetadataCache:
        """The metadata of a broker."""
        raise NotImplementedError

    def leadership(self, broker_id: int, partition: Partition) -> KnownPartition:
        """The leader and ISR of a partition, as a broker with a replica sees them."""
        return partition

    def own_copy(self, broker_id: int, partition: Partition) -> Partition:
        """A partition as its leader has it: a copy, if this broker was replaced as leader while it was cut off."""
        return partition

    def racks(self, requesting_broker_id: int | None = None) -> Mapping[int, str | None] | None:
        """Rack by broker for the placement of replicas; None: the brokers' own."""
        return None

    def missing_racks(self, broker_id: int) -> bool:
        """True if this broker may not add partitions, because only some brokers have a rack."""
        return False

    def take_updates(self, topics: Mapping[str, Topic], version: int) -> Sequence[Any]:
        """The controller's updates to brokers since the last call, at this version of the cluster."""
        return ()

    def check(self, cluster: Cluster) -> None:
        """Raises ValueError if the security settings of listeners are not supported in this mode."""

    def restarted(self) -> MetadataSupport:
        """The same mode without registered brokers."""
        return self

    def broker_started(self, broker: Broker, now_ms: int) -> None:
        """Handle the start of a broker."""

    def broker_stopped(self, broker: Broker, now_ms: int) -> None:
        """Handle the stop of a broker."""

    def brokers_changed(self, topics: Mapping[str, Topic]) -> None:
        """Update metadata after brokers started or stopped and leaders were elected."""

    def lost_controller(self, broker_id: int) -> None:
        """Handle the loss of a broker's connection to the controller."""

    def leader_changes(self, partition: Partition) -> None:
        """Handle a leader change that is about to happen."""

    def session_expired(self, broker_id: int, now_ms: int) -> None:
        """Handle the end of a broker's session while the broker is up."""

    def found_controller(self, broker: Broker, now_ms: int) -> None:
        """Handle a broker's new connection to the controller: update its metadata."""
