"""A live cluster as the tools see it: its brokers and racks, its topics, and the few things they change there.

What a broker is too old to be asked is left out, with a note that says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.live.command_config import client_settings_in
from kafka_rack.cli.live.wire_client import DEFAULT_TIMEOUT_S, NO_SETTINGS, BrokerConnection, Unreachable, refusal
from kafka_rack.cluster_layout import ClusterLayout, LayoutPartition, LayoutTopic, make_layout
from kafka_rack.errors import InputError
from kafka_rack.placement import UsableBroker
from kafka_rack.reassignment.throttles import MoveUnderWay
from mockbroker.adapters.client_properties.bootstrap import servers_in
from mockbroker.adapters.client_properties.settings import MAX_TIMEOUT_S, ClientSettings
from protocol.apis.cluster import DescribeClusterRequest
from protocol.apis.configs import DescribeConfigsRequest, IncrementalAlterConfigsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest
from protocol.apis.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from protocol.error_codes import ErrorCode, error_name

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
RESOURCE_NAMES = {TOPIC_RESOURCE: "topic", BROKER_RESOURCE: "broker"}
SET, DELETE = 0, 1
"""Operations of IncrementalAlterConfigs."""
MIN_INSYNC_REPLICAS, DISKLESS = "min.insync.replicas", "diskless.enable"
FENCED_VERSION = 2
"""DescribeCluster from here on lists brokers that are down (KIP-1073, Kafka 4.0)."""
RACKS_VERSION = 1
"""Metadata from here on tells racks and the controller (KIP-36, Kafka 0.10)."""
NO_AUTO_CREATION_VERSION = 4
"""Metadata from here on can be told not to create what it is asked for; before, all topics are asked for."""
DELETED_TOPICS_VERSION = 6
"""DeleteTopics from here on names topics one by one, by name or id; before, in a list of names."""
BY_HAND = -1
"""Partitions and replication factor of a topic whose replicas are given."""


@dataclass(frozen=True, slots=True)
class LiveBroker:
    """A broker as the cluster tells of it; one that is down has no address that answers."""

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
    """A connection to a cluster by any of its addresses; more brokers are connected to as needed."""

    def __init__(
        self,
        bootstrap_servers: str,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        settings: ClientSettings = NO_SETTINGS,
    ) -> None:
        self.addresses = addresses_of(bootstrap_servers)
        self.timeout_s, self.settings = timeout_s, settings
        self._stack = ExitStack()
        self._connections: dict[tuple[str, int], BrokerConnection] = {}

    def __enter__(self) -> Self:
        """Connect to the first address that answers.

        Raises: CommandError: none does; the text gives the reason of each.
        """
        reasons = []
        for address in self.addresses:
            try:
                self.first = self.connection(address)
            except Unreachable as error:
                reasons.append(str(error))
            else:
                return self
        raise CommandError("; ".join(reasons))

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def connection(self, address: tuple[str, int]) -> BrokerConnection:
        """The connection to an address, opened when it is first asked for."""
        if address not in self._connections:
            self._connections[address] = self._stack.enter_context(
                BrokerConnection(address, self.timeout_s, self.settings)
            )
        return self._connections[address]

    def connection_to(self, broker: LiveBroker) -> BrokerConnection:
        """The connection to a broker where it says it is. Raises: Unreachable: the text names the broker."""
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

        Raises: CommandError: a wanted topic is not there, or may not be seen.
        """
        names = None if wanted is None else sorted(set(wanted))
        answer = self._metadata(names)
        found = Snapshot(answer.cluster_id, None, {}, {})
        if self.first.version_for(MetadataRequest, least=RACKS_VERSION) is None:
            found.notes.append("the cluster is older than 0.10: it tells neither racks nor the controller")
        elif answer.controller_id >= 0:
            found.controller_id = answer.controller_id
        found.brokers = {one.node_id: live_broker(one.node_id, one) for one in answer.brokers}
        self._add_fenced(found)
        for topic in sorted(answer.topics, key=lambda topic: topic.name or ""):
            if names is not None and topic.name not in names:
                continue
            if topic.error_code != ErrorCode.NONE:
                if names is not None:
                    raise CommandError(f"topic {topic.name}: {error_name(topic.error_code)}")
                found.notes.append(f"topic {topic.name} left out: {error_name(topic.error_code)}")
                continue
            found.topics[topic.name] = topic_of(topic)
        missing = sorted(set(names or ()) - set(found.topics))
        if missing:
            raise CommandError(f"topic {missing[0]}: there is no such topic")
        if with_settings and found.topics:
            self._add_settings(found)
        return found

    def broker_settings(self, broker: LiveBroker, names: Sequence[str]) -> dict[str, str | None]:
        """Some settings of one broker, as it tells them itself; what it does not tell is not in the answer."""
        connection = self.connection_to(broker)
        answers = self._configs(connection, BROKER_RESOURCE, [str(broker.id)], names)
        return answers.get(str(broker.id), {})

    def create_topic(
        self, name: str, rows: Sequence[Sequence[int]], configs: Mapping[str, str], *, validate_only: bool = False
    ) -> None:
        """Create a topic with its replicas given by hand, as KIP-36's TopicCommand does.

        Raises: CommandError: the cluster refuses, in its own words, or is too old.
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
        answer = self._ask_controller(
            request, "Kafka 0.10.2" if validate_only else "Kafka 0.10.1", least=int(validate_only)
        )
        for one in answer.topics:
            if one.error_code != ErrorCode.NONE:
                raise CommandError(refusal(f"topic {one.name}", one))

    def grow_topic(
        self, name: str, count: int, rows: Sequence[Sequence[int]] | None, *, validate_only: bool = False
    ) -> None:
        """Give a topic more partitions.

        Args:
            count: how many it is to have, old ones and new ones.
            rows: the replicas of the new ones; None: the cluster places them.

        Raises: CommandError: the cluster refuses, in its own words, or is too old.
        """
        assignment = CreatePartitionsRequest.Topic.Assignment
        assignments = None if rows is None else [assignment(broker_ids=list(row)) for row in rows]
        topic = CreatePartitionsRequest.Topic(name=name, count=count, assignments=assignments)
        request = CreatePartitionsRequest(topics=[topic], timeout_ms=self._timeout_ms(), validate_only=validate_only)
        for one in self._ask_controller(request, "Kafka 1.0").results:
            if one.error_code != ErrorCode.NONE:
                raise CommandError(refusal(f"topic {one.name}", one))

    def delete_topics(self, names: Sequence[str]) -> dict[str, str]:
        """Delete topics; gives why, by name, of those that were refused. Raises: CommandError: it is too old."""
        connection, version = self._controller_for(DeleteTopicsRequest, "Kafka 0.10.1")
        request = DeleteTopicsRequest(timeout_ms=self._timeout_ms())
        if version >= DELETED_TOPICS_VERSION:
            request.topics = [DeleteTopicsRequest.Topic(name=name) for name in names]
        else:
            request.topic_names = list(names)
        answer = connection.ask(request, version)
        return {
            one.name: refusal(f"topic {one.name}", one) for one in answer.responses if one.error_code != ErrorCode.NONE
        }

    def reassign(self, entries: Iterable[tuple[str, int, Sequence[int] | None]]) -> list[str]:
        """Begin to move replicas, or with None call a move off; gives a line for each partition that was refused.

        Raises: CommandError: it refuses altogether, or is older than 2.4.
        """
        request = AlterPartitionReassignmentsRequest(timeout_ms=self._timeout_ms())
        by_topic: dict[str, list[Any]] = {}
        for name, number, replicas in entries:
            entry = AlterPartitionReassignmentsRequest.Topic.Partition(
                partition_index=number, replicas=None if replicas is None else list(replicas)
            )
            by_topic.setdefault(name, []).append(entry)
        request.topics = [
            AlterPartitionReassignmentsRequest.Topic(name=name, partitions=by_topic[name]) for name in sorted(by_topic)
        ]
        answer = self._ask_controller(request, "Kafka 2.4")
        if answer.error_code != ErrorCode.NONE:
            raise CommandError(refusal("reassignment", answer))
        return [
            refusal(f"{topic.name}-{one.partition_index}", one)
            for topic in answer.responses
            for one in topic.partitions
            if one.error_code != ErrorCode.NONE
        ]

    def moves_under_way(self) -> list[MoveUnderWay]:
        """Each move that has not ended."""
        answer = self._ask_controller(ListPartitionReassignmentsRequest(timeout_ms=self._timeout_ms()), "Kafka 2.4")
        if answer.error_code != ErrorCode.NONE:
            raise CommandError(refusal("reassignments", answer))
        return sorted(
            MoveUnderWay(topic.name, one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
            for topic in answer.topics
            for one in topic.partitions
        )

    def alter_configs(
        self, connection: BrokerConnection, changes: Mapping[tuple[int, str], Mapping[str, str | None]]
    ) -> list[str]:
        """Set settings of topics or of the broker itself, or with None take them back; gives what was refused.

        Args:
            changes: type and name of a resource -> setting -> value.
        """
        version = connection.version_for(IncrementalAlterConfigsRequest)
        if version is None:
            raise CommandError(f"{connection.name}: does not serve IncrementalAlterConfigs (Kafka 2.3)")
        resource, setting = IncrementalAlterConfigsRequest.Resource, IncrementalAlterConfigsRequest.Resource.Config
        resources = [
            resource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    setting(name=key, config_operation=DELETE if value is None else SET, value=value)
                    for key, value in settings.items()
                ],
            )
            for (kind, name), settings in changes.items()
        ]
        answer = connection.ask(IncrementalAlterConfigsRequest(resources=resources), version)
        return [
            refusal(f"{RESOURCE_NAMES[one.resource_type]} {one.resource_name}", one)
            for one in answer.responses
            if one.error_code != ErrorCode.NONE
        ]

    # how it is asked

    def _metadata(self, names: Sequence[str] | None) -> Any:
        version = self.first.version_for(MetadataRequest)
        if version is None:
            raise CommandError(f"{self.first.name}: no version of Metadata that we both speak")
        if version < NO_AUTO_CREATION_VERSION:
            names = None  # asking for a topic would create it
        topics: list[Any] | None
        if names is None:
            topics = [] if version == 0 else None
        else:
            topics = [MetadataRequest.Topic(name=name) for name in names]
        request = MetadataRequest(topics=topics)
        if version >= NO_AUTO_CREATION_VERSION:
            request.allow_auto_topic_creation = False
        answer = self.first.ask(request, version)
        if answer.error_code != ErrorCode.NONE:
            raise CommandError(f"{self.first.name}: Metadata failed: {error_name(answer.error_code)}")
        return answer

    def _add_fenced(self, found: Snapshot) -> None:
        """The brokers that are down, with their racks, where the cluster tells them."""
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
            settings = self._configs(self.first, TOPIC_RESOURCE, sorted(found.topics), [MIN_INSYNC_REPLICAS, DISKLESS])
        except CommandError as error:
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

    def _configs(
        self, connection: BrokerConnection, kind: int, resources: Sequence[str], names: Sequence[str]
    ) -> dict[str, dict[str, str | None]]:
        """Resource -> setting -> value, of those that the broker tells."""
        version = connection.version_for(DescribeConfigsRequest)
        if version is None:
            raise CommandError(f"{connection.name}: does not serve DescribeConfigs (Kafka 0.11)")
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsRequest.Resource(resource_type=kind, resource_name=one, configuration_keys=list(names))
                for one in resources
            ]
        )
        answer = connection.ask(request, version)
        return {
            result.resource_name: {config.name: config.value for config in result.configs}
            for result in answer.results
            if result.error_code == ErrorCode.NONE
        }

    def _ask_controller(self, request: Any, since: str, least: int = 0) -> Any:
        """Ask the controller. Raises: CommandError: it is too old."""
        connection, version = self._controller_for(type(request), since, least)
        return connection.ask(request, version)

    def _controller_for(self, request: Any, since: str, least: int = 0) -> tuple[BrokerConnection, int]:
        """The broker that the cluster names as controller, and the version of a request's class to ask it in.

        Before KIP-590 no other broker could do what it does. Raises: CommandError: it is too old.
        """
        answer = self._metadata([])
        controller = next((one for one in answer.brokers if one.node_id == answer.controller_id), None)
        connection = self.first
        if controller is not None:
            connection = self.connection_to(live_broker(controller.node_id, controller))
        version = connection.version_for(request, least=least)
        if version is None:
            name = request.name.removesuffix("Request")
            raise CommandError(f"{connection.name}: does not serve {name} in a version we speak ({since} and newer do)")
        return connection, version

    def _timeout_ms(self) -> int:
        return int(self.timeout_s * 1000)


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

    Raises: UsageError: names the one that is none.

    >>> addresses_of("localhost:9092, [::1]:9093")
    [('localhost', 9092), ('::1', 9093)]
    """
    try:
        return servers_in(text)
    except ValueError as error:
        raise UsageError(f"--bootstrap-server {error}") from None


def add_cluster_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """``--bootstrap-server``, ``--command-config`` and ``--timeout``."""
    parser.set_defaults(program=parser.prog)
    parser.add_argument("--bootstrap-server", required=required, metavar="HOST:PORT,...", help="a live cluster")
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="Kafka's client properties, where a cluster asks who you are: security.protocol, sasl.*; docs/security.md",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help="seconds to wait for each answer; request.timeout.ms of --command-config, else 10; at most a day",
    )


def cluster_of(arguments: argparse.Namespace) -> LiveCluster:
    """The cluster that the arguments name, and how it is reached; notes on the settings go to stderr."""
    settings = client_settings_in(arguments.command_config) if arguments.command_config else NO_SETTINGS
    for note in settings.notes:
        sys.stderr.write(f"{arguments.program}: note: {arguments.command_config}: {note}\n")
    timeout_s = arguments.timeout
    if timeout_s is None:
        timeout_s = DEFAULT_TIMEOUT_S if settings.timeout_s is None else settings.timeout_s
    if not timeout_s > 0:
        raise UsageError(f"--timeout {timeout_s:g}, but it must be above 0")
    if timeout_s > MAX_TIMEOUT_S:
        raise UsageError(f"--timeout {timeout_s:g}, but it must be at most {MAX_TIMEOUT_S}, which is a day")
    return LiveCluster(arguments.bootstrap_server, timeout_s, settings)


def layout_of(snapshot: Snapshot) -> ClusterLayout:
    """The layout of a snapshot, its contradictions as errors of the command."""
    try:
        return snapshot.layout()
    except InputError as error:
        raise CommandError(str(error)) from error
