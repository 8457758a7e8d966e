"""A cluster that ``certify --server`` judges: the plan, its racks, and the topics that certify has there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mockbroker.adapters.real_cluster.connection import RealClusterError, refusal
from mockbroker.testing.certify.server_client import NO_BROKER, ServerAsker, ServerClient, within
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.error_codes import ErrorCode

ServerVerdict = Literal["pass", "fail", "not offered", "not tried"]
NOT_OFFERED: ServerVerdict = "not offered"
NOT_TRIED: ServerVerdict = "not tried"
MOST_REPLICAS = 3
METADATA_RACK, DESCRIBED_RACK = 14, 1
"""The versions with RackId."""
DISKLESS = "diskless.enable"


class BrokenPromiseError(Exception):
    """A promise that the server does not keep: the request and the answers that contradict each other."""


class NotJudgedError(Exception):
    """A promise that is not judged, and why."""

    def __init__(self, verdict: ServerVerdict, why: str) -> None:
        super().__init__(why)
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """How a server is certified.

    Attributes:
        racks: those of the clients; empty: those that brokers report.
        prefix: of the names of its topics.
        partitions: of each topic.
        zone_client_id: the client.id of a client of ``{rack}``.
        metadata_age_s: for a client of a stopped rack to be sent elsewhere.
        settle_s: for new topics to be led everywhere, and for a leader to learn how far its followers are.
        stop_rack, start_rack: stop and start all brokers of a rack; None if that cannot be done.
    """

    racks: Sequence[str]
    prefix: str
    partitions: int
    zone_client_id: str
    metadata_age_s: float
    settle_s: float = 10.0
    stop_rack: Callable[[str], None] | None = None
    start_rack: Callable[[str], None] | None = None


@dataclass(slots=True)
class ServerUnderTest:
    """The cluster, the topics that certify has there, and what a rack's outage did."""

    client: ServerClient
    plan: ServerPlan
    racks: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    outage: dict[str, str | None] | None = None

    @property
    def spread(self) -> str:
        """A classic topic with replicas in several racks."""
        return f"{self.plan.prefix}-spread"

    @property
    def single(self) -> str:
        """A classic topic with one replica, so that most brokers have none."""
        return f"{self.plan.prefix}-single"

    @property
    def diskless(self) -> str:
        return f"{self.plan.prefix}-diskless"

    def named(self, rack: str) -> ServerAsker:
        """A client that names its rack in client.id."""
        return ServerAsker(self.plan.zone_client_id.replace("{rack}", rack))

    def askers(self, rack: str) -> Iterator[ServerAsker]:
        """A client of a rack in each way that the server may know it by."""
        yield self.named(rack)
        if self.client.versions(MetadataRequest, least=METADATA_RACK):
            yield self.client.asker._replace(rack_id=rack)
        if self.client.versions(DescribeTopicPartitionsRequest, least=DESCRIBED_RACK):
            yield self.client.asker._replace(rack_id=rack, describes=True)

    def has(self, topic: str) -> str:
        """The topic. Raises NotJudgedError: the server did not make it."""
        if topic in self.refused:
            raise NotJudgedError(NOT_OFFERED, self.refused[topic])
        return topic


def make_topics(server: ServerUnderTest) -> None:
    """Create the topics that the server offers, and wait until brokers lead them.

    A server may have classic topics alone, as Kafka has, or diskless ones alone: then it refuses topics with replicas
    (Inkless b1fcb5f6), makes them with one replica and knows no ``diskless.enable`` (AutoMQ f1ce98ec), or reports that
    setting in its answer.

    Raises: RealClusterError: the cluster refuses both.
    """
    in_sync = {"min.insync.replicas": "1"}
    create(server, server.spread, min(len(server.racks), MOST_REPLICAS), in_sync)
    if server.spread in server.refused:
        server.refused[server.single] = server.refused[server.spread]
    else:
        create(server, server.single, 1, in_sync)
    create(server, server.diskless, 1, {DISKLESS: "true"})
    if server.refused.keys() >= {server.spread, server.diskless}:
        create(server, server.diskless, 1, {})
    for topic in (server.spread, server.single, server.diskless):
        if topic not in server.refused:
            within(server.plan.settle_s, lambda topic=topic: is_led(server, topic))  # type: ignore[misc] # bound as it is now


def create(server: ServerUnderTest, name: str, replicas: int, configs: dict[str, str]) -> None:
    """Create a topic, or note why the server offers none. Raises RealClusterError: it refuses for other reasons."""
    topic = CreateTopicsRequest.Topic(
        name=name, num_partitions=server.plan.partitions, replication_factor=replicas, assignments=[]
    )
    topic.configs = [CreateTopicsRequest.Topic.Config(name=key, value=value) for key, value in configs.items()]
    (made,) = server.client.ask_controller(CreateTopicsRequest(topics=[topic], timeout_ms=10_000)).topics
    server.refused.pop(name, None)
    if made.error_code != ErrorCode.NONE:
        server.refused[name] = refusal(f"topic with {', '.join(configs) or 'defaults'}", made)
        if made.error_code not in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REPLICATION_FACTOR) or not configs:
            raise RealClusterError(server.refused[name])
    elif name == server.spread:
        answered = {one.name: one.value for one in made.configs or []}
        if answered.get(DISKLESS) == "true" or 0 < made.replication_factor < replicas:
            server.refused[name] = (
                f"new topics are diskless: CreateTopics with replication factor {replicas} answers "
                f"{made.replication_factor}, {DISKLESS} {answered.get(DISKLESS, 'unknown')}"
            )


def is_led(server: ServerUnderTest, topic: str) -> bool:
    """True once each broker names leaders, and these accept a write."""
    for broker in server.client.brokers:
        shown = server.client.look(topic, server.client.asker, broker)
        if len(shown.partitions) < server.plan.partitions:
            return False
        for index, one in shown.partitions.items():
            if (
                one.leader == NO_BROKER
                or server.client.write(topic, shown, index, one.leader, server.client.asker).error
            ):
                return False
    return True
