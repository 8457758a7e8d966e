"""What one broker knows of the cluster and tells clients; and who keeps brokers informed.

Both modes have the same two parts. A ``MetadataView`` is a broker's knowledge: what the controller told it last, which
in KRaft mode is the cluster as it is unless the broker is cut off. ``MetadataSupport`` is the mode: who the controller
is, which versions a broker serves, who is told what. Source: MetadataCache and MetadataSupport, Apache Kafka 3.9.
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
    """Where a broker can be reached."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...


class KnownBroker(Protocol):
    """A live broker as another one knows it."""

    @property
    def id(self) -> int: ...
    @property
    def rack(self) -> str | None: ...
    def listener(self, name: str) -> Endpoint:
        """That of this name, the first where there is none."""


class KnownPartition(Protocol):
    """Who leads a partition, and with whom, as a broker knows it."""

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
        """Eligible leaders outside of the ISR (KIP-966)."""

    @property
    def last_known_elr(self) -> tuple[int, ...]: ...


class KnownTopic(Protocol):
    """A topic as a broker knows it; the id has 16 bytes, zeros where it was not told."""

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
    """What one broker knows.

    ``is_shared``: all brokers that are not cut off have this view, and it is up to date; so answers made from it may be
    shared. ``shows_isr_without_leader``: whether a partition without a leader is shown with its ISR.
    """

    def __hash__(self) -> int:
        """Who waits for a view to change waits for it as a key."""

    @property
    def is_shared(self) -> bool: ...
    @property
    def shows_isr_without_leader(self) -> bool: ...

    @property
    def controller_id(self) -> int:
        """The broker that clients are told is the controller, -1 for none."""

    def live_brokers(self) -> Sequence[KnownBroker]:
        """The live brokers, by id."""

    def is_alive(self, broker_id: int) -> bool:
        """Whether this broker is among them."""

    def topic_names(self) -> list[str]:
        """The topics, sorted."""

    def topic(self, name: str) -> KnownTopic | None:
        """The topic of this name, None if none is known."""

    def topic_of_id(self, topic_id: bytes) -> KnownTopic | None:
        """The topic of this id, None if none is known."""

    def offline_replicas(self, partition: KnownPartition) -> list[int]:
        """The replicas of a partition that are on brokers which are not alive."""


class ControllerUpdate(Protocol):
    """What a controller sends one broker, in one version of the request that carries it."""

    @property
    def broker_id(self) -> int: ...
    @property
    def controller_id(self) -> int: ...
    @property
    def version(self) -> int: ...
    def request(self) -> Any:
        """The request's message."""


class MetadataSupport(Protocol):
    """A cluster's mode: who the controller is, and how brokers come to know what they tell clients.

    ``forwards``: any broker takes changes, since it forwards them to the controller (KIP-590). ``is_kraft``: diskless
    topics and pluggable placers are there. ``session_timeout`` names the setting after which a broker counts as gone.
    """

    name: ClassVar[str]
    forwards: ClassVar[bool]
    is_kraft: ClassVar[bool]
    session_timeout: ClassVar[str]

    @property
    def controller_id(self) -> int:
        """The broker that is the controller, -1 for none."""

    def served_versions(self, broker_id: int) -> Mapping[int, tuple[int, int]] | None:
        """API key -> lowest and highest version of what a broker's release serves; None: all that there is."""

    def view(self, broker_id: int) -> MetadataView:
        """What a broker knows."""

    def leadership(self, broker_id: int, partition: Partition) -> KnownPartition:
        """Who leads a partition, as a broker with a replica of it knows."""

    def deposed(self, broker_id: int, partition: Partition) -> DeposedPartition | None:
        """A partition that a broker leads in its own eyes alone, since it was deposed while it was cut off."""

    def racks(self, requesting_broker_id: int | None = None) -> Mapping[int, str | None] | None:
        """Rack by broker as whoever places replicas knows them; None: as the brokers' own."""

    def missing_racks(self, broker_id: int) -> bool:
        """Whether this broker may not widen topics, since only some brokers have a rack."""

    def take_updates(self, topics: Mapping[str, Topic], version: int) -> Sequence[ControllerUpdate]:
        """What the controller has to send which broker since this was last called, at this version of the cluster."""

    def check(self, cluster: Cluster) -> None:
        """Raises ValueError: what is set for the security of listeners does not go with the mode."""

    def restarted(self) -> MetadataSupport:
        """The same mode with nobody registered yet."""

    def broker_started(self, broker: Broker, now_ms: int) -> None:
        """A broker comes up."""

    def broker_stopped(self, broker: Broker, now_ms: int) -> None:
        """A broker goes down."""

    def brokers_changed(self, topics: Mapping[str, Topic]) -> None:
        """Brokers have come or gone, and leaders were elected."""

    def lost_controller(self, broker_id: int) -> None:
        """A broker no longer hears of what changes, and is not heard of."""

    def leader_changes(self, partition: Partition) -> None:
        """A partition is about to have another leader, or none."""

    def session_expired(self, broker_id: int, now_ms: int) -> None:
        """A broker was not heard of for so long that it counts as gone, though it is up."""

    def found_controller(self, broker: Broker, now_ms: int) -> None:
        """A broker hears of all that has changed, and is heard of again."""
