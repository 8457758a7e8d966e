"""A real cluster as the tools see it: its brokers and racks, its topics, and the few things that they change.

Notes name what a broker is too old to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition, LayoutTopic, make_layout
from kafka_rack.errors import InputError
from kafka_rack.placement import UsableBroker
from mockbroker.adapters.client_properties.bootstrap import servers_in
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.connection import (
    NO_SETTINGS,
    BrokerConnection,
    HungUp,
    RealClusterError,
    Unreachable,
    check,
)
from protocol.apis.cluster import DescribeClusterRequest
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.topics import CreatePartitionsRequest, CreateTopicsRequest
from protocol.error_codes import ErrorCode, error_name

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
MIN_INSYNC_REPLICAS, DISKLESS = "min.insync.replicas", "diskless.enable"
FENCED_VERSION = 2
"""DescribeCluster from here on lists brokers that are down (KIP-1073, Kafka 4.0)."""
RACKS_VERSION = 1
"""Metadata from here on has racks and the controller (KIP-36, Kafka 0.10)."""
NO_AUTO_CREATION_VERSION = 4
"""Metadata from here on can leave out the creation of topics; before, it gets requests for all topics."""
BY_HAND = -1
"""Partitions and replication factor of a topic with manual replicas."""


@dataclass(frozen=True, slots=True)
class LiveBroker:
    """A broker by the cluster's metadata; one that is down has no address that answers."""

    id: int
    rack: str | None
    host: str
    port: int
    fenced: bool = False


@dataclass(slots=True)
class Snapshot:
    """The cluster at one moment."""

    cluster_id: str | None
    controller_id: int | None
    brokers: dict[int, LiveBroker]
    topics: dict[str, LayoutTopic]
    notes: list[str] = field(default_factory=list)

    def layout(self) -> ClusterLayout:
        usable = [UsableBroker(broker.id, broker.rack, broker.fenced) for broker in self.brokers.values()]
        return make_layout(usable, self.topics)


class LiveCluster:
    """A connection to a cluster by any of its addresses; more brokers are connected to as needed.

    Args:
        servers: ``host:port,...``, or the addresses.
        known: returns more addresses, which are tried first.
    """

    def __init__(
        self,
        servers: str | Iterable[tuple[str, int]],
        settings: ClientSettings = NO_SETTINGS,
        known: Callable[[], Iterable[tuple[str, int]]] = lambda: (),
    ) -> None:
        self.addresses = addresses_of(servers) if isinstance(servers, str) else list(servers)
        self.settings, self._known = settings, known
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._first: BrokerConnection | None = None

    def __enter__(self) -> Self:
        """Connect to the first address that answers. Raises RealClusterError, as ``first`` does."""
        _ = self.first
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections, from any thread; the next request opens one again."""
        connections, self._connections, self._first = self._connections, {}, None
        for connection in connections.values():
            connection.close()

    @property
    def is_open(self) -> bool:
        """True if a broker is connected."""
        return self._first is not None

    @property
    def first(self) -> BrokerConnection:
        """The connection to the first address that answers.

        Raises: RealClusterError: none does; the text has the error of each. Unreachable if all errors are.
        """
        if self._first is None:
            errors: dict[str, RealClusterError] = {}
            for address in dict.fromkeys([*self._known(), *self.addresses]):
                try:
                    self._first = self.connection(address)
                except RealClusterError as error:
                    errors[str(error)] = error
                else:
                    return self._first
            kinds = {type(error) for error in errors.values()}
            kind = next(kind for kind in (RealClusterError, HungUp, Unreachable) if kind in kinds)
            raise kind("; ".join(errors))
        return self._first

    def connection(self, address: tuple[str, int]) -> BrokerConnection:
        """The connection to an address, opened when it is first used. Raises: RealClusterError."""
        found = self._connections.get(address)
        if found is None:
            found = self._connections[address] = BrokerConnection(address, self.settings)
            try:
                found.open()
            except RealClusterError:
                self._connections.pop(address, None)
                raise
        return found

    def connection_to(self, broker: LiveBroker) -> BrokerConnection:
        """The connection to a broker at its advertised address. Raises: Unreachable: the text names the broker."""
        try:
            return self.connection((broker.host, broker.port))
        except Unreachable as error:
            raise Unreachable(f"broker {broker.id} at {error}") from error

    # what a tool asks

    def snapshot(self, wanted: Iterable[str] | None = None, *, with_settings: bool = True) -> Snapshot:
        """Brokers and topics.

        Args:
            wanted: the topics to describe; None: all.
            with_settings: ask for each topic's min.insync.replicas too.

        Raises: RealClusterError: a wanted topic is not there, or may not be seen.
        """
        names = None if wanted is None else sorted(set(wanted))
        answer = self.metadata(names)
        found = Snapshot(answer.cluster_id, None, {}, {})
        if self.first.version_for(MetadataRequest, least=RACKS_VERSION) is None:
            found.notes.append("the cluster is older than 0.10: it reports neither racks nor the controller")
        elif answer.controller_id >= 0:
            found.controller_id = answer.controller_id
        found.brokers = {one.node_id: live_broker(one.node_id, one) for one in answer.brokers}
        self._add_fenced(found)
        for topic in sorted(answer.topics, key=lambda topic: topic.name or ""):
            if names is not None and topic.name not in names:
                continue
            if topic.error_code != ErrorCode.NONE:
                if names is not None:
                    raise RealClusterError(f"topic {topic.name}: {error_name(topic.error_code)}")
                found.notes.append(f"topic {topic.name} left out: {error_name(topic.error_code)}")
                continue
            found.topics[topic.name] = topic_of(topic)
        missing = sorted(set(names or ()) - set(found.topics))
        if missing:
            raise RealClusterError(f"topic {missing[0]}: there is no such topic")
        if with_settings and found.topics:
            self._add_settings(found)
        return found

    def broker_settings(self, broker: LiveBroker, names: Sequence[str]) -> dict[str, str | None]:
        """Some settings of one broker, by its own DescribeConfigs; those that it does not report are left out."""
        connection = self.connection_to(broker)
        answers = self.configs(connection, BROKER_RESOURCE, [str(broker.id)], names)
        return answers.get(str(broker.id), {})

    def create_topic(
        self, name: str, rows: Sequence[Sequence[int]], configs: Mapping[str, str], *, validate_only: bool = False
    ) -> None:
        """Create a topic with manual replicas, as KIP-36's TopicCommand does.

        Raises: RealClusterError: the cluster refuses, in its own words, or is too old.
        """
        topic = CreateTopicsRequest.Topic(
            name=name,
            num_partitions=BY_HAND,
            replication_factor=BY_HAND,
            assignments=[
                CreateTopicsRequest.Topic.Assignment(partition_index=number, broker_ids=list(row))
                for number, row in enumerate(rows)
            ],
            configs=[CreateTopicsRequest.Topic.Config(name=key, value=configs[key]) for key in sorted(configs)],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=self._timeout_ms(), validate_only=validate_only)
        since = "Kafka 0.10.2" if validate_only else "Kafka 0.10.1"
        for one in self.ask_controller(request, since, least=int(validate_only)).topics:
            check(f"topic {one.name}", one)

    def grow_topic(
        self, name: str, count: int, rows: Sequence[Sequence[int]] | None, *, validate_only: bool = False
    ) -> None:
        """Give a topic more partitions.

        Args:
            count: how many it is to have, old ones and new ones.
            rows: the replicas of the new ones; None: the cluster places them.

        Raises: RealClusterError: the cluster refuses, in its own words, or is too old.
        """
        assignment = CreatePartitionsRequest.Topic.Assignment
        assignments = None if rows is None else [assignment(broker_ids=list(row)) for row in rows]
        topic = CreatePartitionsRequest.Topic(name=name, count=count, assignments=assignments)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=self._timeout_ms(), validate_only=validate_only)
        for one in self.ask_controller(request, "Kafka 1.0").results:
            check(f"topic {one.name}", one)

    # how it is asked

    def metadata(self, names: Sequence[str] | None = None) -> Any:
        """An answer with all brokers and these topics; None: all topics."""
        version = self.first.version_of(MetadataRequest)
        if version < NO_AUTO_CREATION_VERSION:
            names = None  # a request for a topic would create it
        topics: list[Any] | None
        if names is None:
            topics = [] if version == 0 else None
        else:
            topics = [MetadataRequest.Topic(name=name) for name in names]
        request = MetadataRequest(topics=topics)
        if version >= NO_AUTO_CREATION_VERSION:
            request.allow_auto_topic_creation = False
        answer = self.first.ask(request, version)
        check(f"{self.first.name}: Metadata failed", answer)
        return answer

    def _add_fenced(self, found: Snapshot) -> None:
        """The brokers that are down, with their racks, if the cluster reports them."""
        version = self.first.version_for(DescribeClusterRequest, least=FENCED_VERSION)
        if version is None:
            return
        answer = self.first.ask(DescribeClusterRequest(include_fenced_brokers=True), version)
        if answer.error_code != ErrorCode.NONE:
            found.notes.append(f"brokers that are down are not listed: {error_name(answer.error_code)}")
            return
        for one in answer.brokers:
            if one.is_fenced and one.broker_id not in found.brokers:
                found.brokers[one.broker_id] = live_broker(one.broker_id, one, fenced=True)
        found.brokers = dict(sorted(found.brokers.items()))

    def _add_settings(self, found: Snapshot) -> None:
        try:
            settings = self.configs(self.first, TOPIC_RESOURCE, sorted(found.topics), [MIN_INSYNC_REPLICAS, DISKLESS])
        except RealClusterError as error:
            found.notes.append(f"{MIN_INSYNC_REPLICAS} of topics is not known: {error}")
            return
        unknown = []
        for name, topic in found.topics.items():
            value = settings.get(name, {}).get(MIN_INSYNC_REPLICAS)
            if value is None:
                unknown.append(name)
            else:
                diskless = settings[name].get(DISKLESS) == "true"
                found.topics[name] = LayoutTopic(topic.partitions, int(value), topic.internal, diskless)
        if unknown:
            more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
            found.notes.append(f"{MIN_INSYNC_REPLICAS} of topic {unknown[0]}{more} is not known")

    def configs(
        self, connection: BrokerConnection, kind: int, resources: Sequence[str], names: Sequence[str]
    ) -> dict[str, dict[str, str | None]]:
        """Resource -> setting -> value, of those that the broker reports."""
        described = [
            DescribeConfigsRequest.Resource(resource_type=kind, resource_name=one, configuration_keys=list(names))
            for one in resources
        ]
        answer = connection.ask(DescribeConfigsRequest(resources=described), since="Kafka 0.11")
        return {
            result.resource_name: {config.name: config.value for config in result.configs}
            for result in answer.results
            if result.error_code == ErrorCode.NONE
        }

    def ask_controller(self, request: Any, since: str, least: int = 0) -> Any:
        """The answer of the broker that the cluster names as controller; before KIP-590 no other could give it.

        Raises: RealClusterError: it is too old; ``since`` is the first release that is not.
        """
        answer = self.metadata([])
        controller = next((one for one in answer.brokers if one.node_id == answer.controller_id), None)
        connection = self.first
        if controller is not None:
            connection = self.connection_to(live_broker(controller.node_id, controller))
        return connection.ask(request, least=least, since=since)

    def _timeout_ms(self) -> int:
        return int(self.settings.timeout_s * 1000)


def live_broker(id: int, said: Any, fenced: bool = False) -> LiveBroker:
    return LiveBroker(id, said.rack or None, said.host, said.port, fenced)


def topic_of(said: Any) -> LayoutTopic:
    """A topic of a Metadata answer."""
    ordered = sorted(said.partitions, key=lambda one: one.partition_index)
    partitions = tuple(
        LayoutPartition(tuple(one.replica_nodes), one.leader_id, tuple(one.isr_nodes)) for one in ordered
    )
    return LayoutTopic(partitions, internal=said.is_internal)


def addresses_of(text: str) -> list[tuple[str, int]]:
    """Addresses as host:port,[ipv6]:port,...

    Raises: InputError: names the one that is none.

    >>> addresses_of("localhost:9092, [::1]:9093")
    [('localhost', 9092), ('::1', 9093)]
    """
    try:
        return servers_in(text)
    except ValueError as error:
        raise InputError(f"--bootstrap-server: {error}") from None
