"""A client that asks any broker of a cluster under test, under any name, in any version that both sides speak."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.cluster import LiveBroker, live_broker
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
NO_AUTO_CREATION_VERSION = 4


class ServerAsker(NamedTuple):
    """A client as a server sees it.

    ``rack_id`` is what its Metadata or, if it ``describes``, its DescribeTopicPartitions names; "" for nothing.
    """

    client_id: str
    rack_id: str = ""
    describes: bool = False


class PartitionAnswer(NamedTuple):
    """A partition by an answer."""

    leader: int
    epoch: int
    replicas: Sequence[int]
    isr: Sequence[int]


class TopicAnswer(NamedTuple):
    """An answer about one topic; ``request`` says which request it answers, and ``brokers`` are those of Metadata."""

    request: str
    brokers: Mapping[int, LiveBroker]
    topic_id: bytes
    partitions: Mapping[int, PartitionAnswer]

    def rack_of(self, broker: int) -> str | None:
        return self.brokers[broker].rack if broker in self.brokers else None

    def leads(self, index: int) -> str:
        """The leader of a partition in words."""
        return f"{self.request} names {self.broker_text(self.partitions[index].leader)} as leader of partition {index}"

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
    """Connections to the brokers of one cluster, one for each broker and client.id.

    Args:
        servers: addresses that are asked until a broker is known.
    """

    def __init__(self, servers: Sequence[tuple[str, int]], settings: ClientSettings, timeout_s: float) -> None:
        self._settings, self._timeout_s = settings, timeout_s
        self._links: dict[tuple[tuple[str, int], str], BrokerConnection] = {}
        self._servers = servers
        self.brokers: dict[int, LiveBroker] = {}
        self.asker = ServerAsker(settings.client_id)
        self.learn()

    def close(self) -> None:
        """End all connections; the next request to a broker opens one."""
        for link in self._links.values():
            link.close()
        self._links = {}

    def learn(self) -> None:
        """Learn the brokers of the cluster. Raises Unreachable: no address of the cluster answers."""
        known = [(one.host, one.port) for one in self.brokers.values()]
        reasons = []
        for address in dict.fromkeys([*known, *self._servers]):
            try:
                link = self._link(address, self.asker.client_id)
                answer = self._sent(link, MetadataRequest(topics=[]), version_of(link, MetadataRequest, least=1))
            except Unreachable as error:
                reasons.append(str(error))
            else:
                self.brokers = {one.node_id: live_broker(one.node_id, one) for one in sorted_brokers(answer)}
                return
        raise Unreachable("; ".join(reasons))

    def versions(self, request: Any, least: int = 0, most: int | None = None) -> range:
        """The versions of a request's class, within bounds, that all brokers and we speak; empty if there is none."""
        ours = request.valid_versions
        lower, upper = max(ours.lowest, least), ours.highest if most is None else min(ours.highest, most)
        for broker in self.brokers:
            served = self._to(broker, self.asker.client_id).versions.get(request.api_key, (0, -1))
            lower, upper = max(lower, served[0]), min(upper, served[1])
        return range(lower, upper + 1)

    def ask(self, broker: int, request: Any, asker: ServerAsker, version: int | None = None) -> tuple[str, Any]:
        """The request in words, and its answer; in the newest version if none is named."""
        link = self._to(broker, asker.client_id)
        version = version_of(link, type(request)) if version is None else version
        rack = f", RackId {asker.rack_id}" if getattr(request, "rack_id", "") else ""
        text = f"{APIS[type(request).api_key][1]} v{version} of client {asker.client_id!r}{rack} at broker {broker}"
        return text, self._sent(link, request, version)

    def ask_controller(self, request: Any) -> Any:
        """The answer of the controller, or in KRaft of any broker."""
        _, answer = self.ask(min(self.brokers), MetadataRequest(topics=[]), self.asker)
        to = answer.controller_id if answer.controller_id in self.brokers else min(self.brokers)
        return self.ask(to, request, self.asker)[1]

    def look(self, topic: str, asker: ServerAsker, at: int | None = None, version: int | None = None) -> TopicAnswer:
        """A topic as a broker shows it to a client. Raises RealClusterError: the answer has an error."""
        broker = min(self.brokers) if at is None else at
        request = MetadataRequest(topics=[MetadataRequest.Topic(name=topic)])
        link = self._to(broker, asker.client_id)
        version = version_of(link, MetadataRequest) if version is None or asker.describes else version
        request.allow_auto_topic_creation = version < NO_AUTO_CREATION_VERSION
        request.rack_id = "" if asker.describes else asker.rack_id
        text, answer = self.ask(broker, request, asker, version)
        brokers = {one.node_id: live_broker(one.node_id, one) for one in sorted_brokers(answer)}
        if asker.describes:
            described = DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.Topic(name=topic)])
            described.rack_id = asker.rack_id
            text, answer = self.ask(broker, described, asker)
        found = next((one for one in answer.topics if one.name == topic), None)
        if found is None:
            raise RealClusterError(f"{text} answers without topic {topic}")
        for code in [found.error_code, *(part.error_code for part in found.partitions)]:
            if code != ErrorCode.NONE:
                raise RealClusterError(f"{text} answers {error_name(code)} for topic {topic}")
        return TopicAnswer(
            text,
            brokers,
            found.topic_id,
            {
                one.partition_index: PartitionAnswer(one.leader_id, one.leader_epoch, one.replica_nodes, one.isr_nodes)
                for one in sorted(found.partitions, key=lambda one: one.partition_index)
            },
        )

    def write(
        self, topic: str, shown: TopicAnswer, index: int, broker: int, asker: ServerAsker, version: int | None = None
    ) -> PartitionReply:
        """Write one record to a partition at a broker."""
        batch = build_batch([Record(value=b"kafka-rack certify", timestamp=int(time.time() * 1000))])
        part = ProduceRequest.Topic.Partition(index=index, records=batch)
        data = ProduceRequest.Topic(name=topic, topic_id=shown.topic_id, partition_data=[part])
        request = ProduceRequest(acks=ALL_IN_SYNC, timeout_ms=TIMEOUT_MS, topic_data=[data])
        text, answer = self.ask(broker, request, asker, version)
        (found,) = answer.responses[0].partition_responses
        return reply(text, index, found, answer, f"base offset {found.base_offset}")

    def fetch(
        self,
        topic: str,
        shown: TopicAnswer,
        index: int,
        broker: int,
        asker: ServerAsker,
        *,
        rack: str = "",
        offset: int = 0,
        version: int | None = None,
    ) -> PartitionReply:
        """Read from a partition at a broker, without waiting for records."""
        part = FetchRequest.Topic.Partition(partition=index, fetch_offset=offset, partition_max_bytes=PART_BYTES)
        wanted = FetchRequest.Topic(topic=topic, topic_id=shown.topic_id, partitions=[part])
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=PART_BYTES, topics=[wanted], rack_id=rack)
        text, answer = self.ask(broker, request, asker._replace(rack_id=rack), version)
        if not answer.responses:
            raise RealClusterError(f"{text} answers {error_name(answer.error_code)}, without partitions")
        (found,) = answer.responses[0].partitions
        said = f"{len(found.records or b'')} bytes, preferred replica {found.preferred_read_replica}"
        return reply(text, index, found, answer, said)

    def _to(self, broker: int, client_id: str) -> BrokerConnection:
        where = self.brokers[broker]
        return self._link((where.host, where.port), client_id)

    def _link(self, address: tuple[str, int], client_id: str) -> BrokerConnection:
        key = (address, client_id)
        if key not in self._links:
            link = BrokerConnection(address, self._timeout_s, replace(self._settings, client_id=client_id))
            link.open()
            self._links[key] = link
        return self._links[key]

    def _sent(self, link: BrokerConnection, request: Any, version: int) -> Any:
        try:
            return link.ask(request, version)
        except RealClusterError:
            self._links = {key: one for key, one in self._links.items() if one is not link}
            link.close()
            raise


def sorted_brokers(answer: Any) -> list[Any]:
    return sorted(answer.brokers, key=lambda one: one.node_id)


def version_of(link: BrokerConnection, request: Any, least: int = 0) -> int:
    """The newest version that both sides speak. Raises RealClusterError: there is none."""
    version = link.version_for(request, least=least)
    if version is None:
        name = APIS[request.api_key][1]
        raise RealClusterError(f"{link.name}: no version of {name} that we both speak")
    return version


def reply(text: str, index: int, found: Any, answer: Any, good: str) -> PartitionReply:
    said = good if found.error_code == ErrorCode.NONE else error_name(found.error_code)
    endpoints = {one.node_id: one for one in answer.node_endpoints}
    return PartitionReply(f"{text} answers {said} for partition {index}", found.error_code, found, endpoints)


def within(seconds: float, is_done: Callable[[], bool], pause_s: float = 0.1) -> bool:
    """Try until it is done; a broker that cannot be reached counts as not yet. False: the time is over."""
    ends_at = time.monotonic() + seconds
    while True:
        with suppress(RealClusterError):
            if is_done():
                return True
        if time.monotonic() >= ends_at:
            return False
        time.sleep(pause_s)
