"""A client that asks any broker of a cluster under test, under any name, in any version that both sides speak."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.cluster import NO_AUTO_CREATION_VERSION, LiveBroker, LiveCluster, live_broker
from mockbroker.adapters.real_cluster.connection import BrokerConnection, RealClusterError, Unreachable
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.error_codes import ErrorCode, error_name
from protocol.records import Record, build_batch
from protocol.registry import APIS

ALL_IN_SYNC = -1
TIMEOUT_MS = 10_000
PART_BYTES = 1 << 20
NO_BROKER = -1


class ServerAsker(NamedTuple):
    """A client as a server sees it.

    ``rack_id`` is what its Metadata or, if it ``describes``, its DescribeTopicPartitions names; "" for nothing.
    """

    client_id: str
    rack_id: str = ""
    describes: bool = False


class TopicAnswer(NamedTuple):
    """An answer about one topic; ``request`` says which request it answers, and ``brokers`` are those of Metadata.

    ``asker`` has asked. ``partitions`` are those of the answer, of Metadata or DescribeTopicPartitions, by index.
    """

    topic: str
    asker: ServerAsker
    request: str
    brokers: Mapping[int, LiveBroker]
    topic_id: bytes
    partitions: Mapping[int, Any]

    def rack_of(self, broker: int) -> str | None:
        return self.brokers[broker].rack if broker in self.brokers else None

    def leads(self, index: int) -> str:
        """The leader of a partition in words."""
        return (
            f"{self.request} names {self.broker_text(self.partitions[index].leader_id)} as leader of partition {index}"
        )

    def broker_text(self, broker: int) -> str:
        """A broker and its rack in words."""
        if broker == NO_BROKER:
            return "no broker"
        there = broker in self.brokers
        return f"broker {broker} (rack {self.brokers[broker].rack})" if there else f"unknown broker {broker}"


class PartitionReply(NamedTuple):
    """An answer of Produce or Fetch about one partition; ``text`` has the request and the answer."""

    text: str
    error: int
    answer: Any
    endpoints: Mapping[int, Any]


class ServerClient:
    """The clients of one cluster, each with its own connections. ``brokers`` are asked by id.

    Args:
        servers: addresses that are asked for the brokers.

    Raises: RealClusterError: none of them answers.
    """

    def __init__(self, servers: Sequence[tuple[str, int]], settings: ClientSettings) -> None:
        self._servers, self._settings = servers, settings
        self._clients: dict[str, LiveCluster] = {}
        self.asker = ServerAsker(settings.client_id)
        self.brokers = brokers_in(self._client(self.asker).metadata([]))

    def close(self) -> None:
        """End all connections; the next request to a broker opens one."""
        for client in self._clients.values():
            client.close()

    def versions(self, request: Any, least: int = 0, most: int | None = None) -> range:
        """The versions of a request's class, within bounds, that all brokers and we speak; empty if there is none."""
        ours = request.valid_versions
        lower, upper = max(ours.lowest, least), ours.highest if most is None else min(ours.highest, most)
        for broker in self.brokers:
            served = self._connection(broker, self.asker).versions.get(request.api_key, (0, -1))
            lower, upper = max(lower, served[0]), min(upper, served[1])
        return range(lower, upper + 1)

    def ask(
        self, broker: int, request: Any, asker: ServerAsker | None = None, version: int | None = None
    ) -> tuple[str, Any]:
        """The request in words, and its answer; in the newest version if none is named."""
        asker = asker or self.asker
        try:
            connection = self._connection(broker, asker)
            if version is None:
                version = connection.version_of(type(request))
            rack = f", RackId {asker.rack_id}" if getattr(request, "rack_id", "") else ""
            text = f"{APIS[type(request).api_key][1]} v{version} of client {asker.client_id!r}{rack} at broker {broker}"
            return text, connection.ask(request, version)
        except Unreachable:
            self._client(asker).close()
            raise

    def settings_of(self, broker: int, names: Sequence[str]) -> dict[str, str | None]:
        """Some settings of a broker, without those that it does not report."""
        return self._client(self.asker).broker_settings(self.brokers[broker], names)

    def ask_controller(self, request: Any) -> Any:
        """The answer of the controller."""
        return self._client(self.asker).ask_controller(request, "Kafka 0.10.1")

    def look(
        self, topic: str, asker: ServerAsker | None = None, at: int | None = None, version: int | None = None
    ) -> TopicAnswer:
        """A topic as a broker shows it to a client. Raises RealClusterError: the answer has an error."""
        asker, broker = asker or self.asker, min(self.brokers) if at is None else at
        request = MetadataRequest(topics=[MetadataRequest.Topic(name=topic)])
        if version is None:
            version = self._connection(broker, asker).version_of(MetadataRequest)
        request.allow_auto_topic_creation = version < NO_AUTO_CREATION_VERSION
        request.rack_id = "" if asker.describes else asker.rack_id
        text, answer = self.ask(broker, request, asker, version)
        brokers = brokers_in(answer)
        if asker.describes:
            described = DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.Topic(name=topic)])
            described.rack_id = asker.rack_id
            text, answer = self.ask(broker, described, asker)
        found = next((one for one in answer.topics if one.name == topic), None)
        if found is None:
            raise RealClusterError(f"{text} answers without topic {topic}")
        for one in (found, *found.partitions):
            if one.error_code != ErrorCode.NONE:
                raise RealClusterError(f"{text} answers {error_name(one.error_code)} for topic {topic}")
        partitions = sorted(found.partitions, key=lambda one: one.partition_index)
        by_index = {one.partition_index: one for one in partitions}
        return TopicAnswer(topic, asker, text, brokers, found.topic_id, by_index)

    def write(self, shown: TopicAnswer, index: int, broker: int, version: int | None = None) -> PartitionReply:
        """Write one record to a partition at a broker."""
        batch = build_batch([Record(value=b"kafka-rack certify", timestamp=int(time.time() * 1000))])
        part = ProduceRequest.Topic.Partition(index=index, records=batch)
        data = ProduceRequest.Topic(name=shown.topic, topic_id=shown.topic_id, partition_data=[part])
        request = ProduceRequest(acks=ALL_IN_SYNC, timeout_ms=TIMEOUT_MS, topic_data=[data])
        text, answer = self.ask(broker, request, shown.asker, version)
        (found,) = answer.responses[0].partition_responses
        return reply(text, index, found, answer, f"base offset {found.base_offset}")

    def fetch(
        self,
        shown: TopicAnswer,
        index: int,
        broker: int,
        *,
        rack: str = "",
        offset: int = 0,
        version: int | None = None,
    ) -> PartitionReply:
        """Read from a partition at a broker, without waiting for records."""
        part = FetchRequest.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=PART_BYTES)
        wanted = FetchRequest.Topic(topic=shown.topic, topic_id=shown.topic_id, partitions=[part])
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=PART_BYTES, topics=[wanted], rack_id=rack)
        text, answer = self.ask(broker, request, shown.asker._replace(rack_id=rack), version)
        if not answer.responses:
            raise RealClusterError(f"{text} answers {error_name(answer.error_code)}, without partitions")
        (found,) = answer.responses[0].partitions
        said = f"{len(found.records or b'')} bytes, preferred replica {found.preferred_read_replica}"
        return reply(text, index, found, answer, said)

    def _client(self, asker: ServerAsker) -> LiveCluster:
        if asker.client_id not in self._clients:
            settings = replace(self._settings, client_id=asker.client_id)
            self._clients[asker.client_id] = LiveCluster(self._servers, settings)
        return self._clients[asker.client_id]

    def _connection(self, broker: int, asker: ServerAsker) -> BrokerConnection:
        return self._client(asker).connection_to(self.brokers[broker])


def brokers_in(answer: Any) -> dict[int, LiveBroker]:
    """The brokers of a Metadata answer by id, in order."""
    return {one.node_id: live_broker(one.node_id, one) for one in sorted(answer.brokers, key=lambda one: one.node_id)}


def reply(text: str, index: int, found: Any, answer: Any, good: str) -> PartitionReply:
    said = good if found.error_code == ErrorCode.NONE else error_name(found.error_code)
    endpoints = {one.node_id: one for one in answer.node_endpoints}
    return PartitionReply(f"{text} answers {said} for partition {index}", found.error_code, found, endpoints)
