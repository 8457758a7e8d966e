"""The metadata of one broker, and the mode by which brokers get it: interfaces for KRaft and ZooKeeper mode.

A ``MetadataView`` is a broker's metadata from the controller, which in KRaft mode is current unless the broker is cut
off. ``MetadataSupport`` is the mode: it has the controller, the versions that a broker serves, and the updates to
brokers. Source: MetadataCache and MetadataSupport, Apache Kafka 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from mockbroker.state.brokers.broker import Broker
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.metadata.kraft import DeposedPartition
    from mockbroker.state.topics.topic import Partition, Topic


class Endpoint(Protocol):
    """An address of a broker."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


class KnownBroker(Protocol):
    """A live broker in a view."""

    @property
    def id(self) -> int: ...
    @property
    def rack(self) -> str | None: ...
    def listener(self, name: str) -> Endpoint:
        """The listener with this name, or the first one."""


class KnownPartition(Protocol):
    """A partition's leader and replicas in a view."""

    @property
    def index(self) -> int: ...
    @property
    def leader(self) -> int: ...
    @property
    def leader_epoch(self) -> int: ...
    @property
    def replicas(self) -> tuple[int, ...]: ...
    @property
    def isr(self) -> tuple[int, ...]: ...
    @property
    def elr(self) -> tuple[int, ...]:
        """Eligible leaders outside the ISR (KIP-966)."""

    @property
    def last_known_elr(self) -> tuple[int, ...]: ...


class KnownTopic(Protocol):
    """A topic in a view; the id has 16 bytes, zeros if unknown."""

    @property
    def name(self) -> str: ...
    @property
    def id(self) -> bytes: ...
    @property
    def diskless(self) -> bool: ...
    @property
    def is_internal(self) -> bool: ...
    @property
    def partitions(self) -> Sequence[KnownPartition]: ...


class MetadataView(Protocol):
    """The metadata of one broker.

    ``is_shared``: all connected brokers have this view, and it is current, so responses made from it may be shared.
    ``shows_isr_without_leader``: True if a partition without a leader is shown with its ISR.
    """

    def __hash__(self) -> int:
        """Views are keys of waiting calls."""

    @property
    def is_shared(self) -> bool: ...
    @property
    def shows_isr_without_leader(self) -> bool: ...

    @property
    def controller_id(self) -> int:
        """The controller for clients, -1 for none."""

    def live_brokers(self) -> Sequence[KnownBroker]:
        """The live brokers, by id."""

    def is_alive(self, broker_id: int) -> bool:
        """True if this broker is alive."""

    def topic_names(self) -> list[str]:
        """The topics, sorted."""

    def topic(self, name: str) -> KnownTopic | None:
        """The topic with this name, None if unknown."""

    def topic_of_id(self, topic_id: bytes) -> KnownTopic | None:
        """The topic with this id, None if unknown."""

    def offline_replicas(self, partition: KnownPartition) -> list[int]:
        """The replicas of a partition on brokers that are not alive."""


class ControllerUpdate(Protocol):
    """A controller's update for one broker, in one version of the request."""

    @property
    def broker_id(self) -> int: ...
    @property
    def controller_id(self) -> int: ...
    @property
    def version(self) -> int: ...
    def request(self) -> Any:
        """The request message."""


class MetadataSupport(Protocol):
    """A cluster's mode: its controller, and the way brokers get their metadata.

    ``forwards``: any broker accepts changes and forwards them to the controller (KIP-590). ``is_kraft``: diskless
    topics and pluggable placers are supported. ``session_timeout`` is the name of the session timeout's setting.
    """

    name: ClassVar[str]
    forwards: ClassVar[bool]
    is_kraft: ClassVar[bool]
    session_timeout: ClassVar[str]

    @property
    def controller_id(self) -> int:
        """The controller's broker id, -1 for none."""

    def served_versions(self, broker_id: int) -> Mapping[int, tuple[int, int]] | None:
        """API key -> lowest and highest version that a broker's release serves; None: all versions."""

    def view(self, broker_id: int) -> MetadataView:
        """The metadata of a broker."""

    def leadership(self, broker_id: int, partition: Partition) -> KnownPartition:
        """The leader and ISR of a partition, as a broker with a replica sees them."""

    def deposed(self, broker_id: int, partition: Partition) -> DeposedPartition | None:
        """A partition whose leader was replaced while it was cut off, if this broker is that leader."""

    def racks(self, requesting_broker_id: int | None = None) -> Mapping[int, str | None] | None:
        """Rack by broker for the placement of replicas; None: the brokers' own."""

    def missing_racks(self, broker_id: int) -> bool:
        """True if this broker may not add partitions, because only some brokers have a rack."""

    def take_updates(self, topics: Mapping[str, Topic], version: int) -> Sequence[ControllerUpdate]:
        """The controller's updates since the last call, at this version of the cluster."""

    def check(self, cluster: Cluster) -> None:
        """Raises ValueError if the security settings of listeners are not supported in this mode."""

    def restarted(self) -> MetadataSupport:
        """The same mode without registered brokers."""

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
