"""A cluster that ``certify --server`` judges: the plan, its racks, and the topics that certify has there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.connection import RealClusterError, refusal
from mockbroker.testing.certify.checks import Verdict
from mockbroker.testing.certify.server_client import ServerAsker, ServerClient, TopicAnswer
from mockbroker.testing.promises import BrokenPromiseError, expect
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.error_codes import ErrorCode

NOT_OFFERED: Verdict = "not offered"
NOT_TRIED: Verdict = "not tried"
MOST_REPLICAS = 3
PAUSE_S = 0.1
METADATA_RACK, DESCRIBED_RACK = 14, 1
"""The versions with RackId."""
FORMS = ("client.id", f"Metadata v{METADATA_RACK}", f"DescribeTopicPartitions v{DESCRIBED_RACK}")
DISKLESS_SETTING = "diskless.enable"
SPREAD, SINGLE, DISKLESS = "spread", "single", "diskless"
"""The kinds of topics: classic with replicas in several racks, classic with one replica, so that most brokers have
none, and diskless."""
T = TypeVar("T")


class NotJudgedError(Exception):
    """A promise that is not judged, and why."""

    def __init__(self, verdict: Verdict, why: str) -> None:
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


class ServerUnderTest(ServerClient):
    """The cluster, the topics that certify has there, and what a rack's outage did.

    Raises: RealClusterError: the cluster cannot be reached, or has fewer than two racks.
    """

    def __init__(self, servers: Sequence[tuple[str, int]], settings: ClientSettings, plan: ServerPlan) -> None:
        super().__init__(servers, settings)
        self.plan = plan
        reported = {one.rack for one in self.brokers.values() if one.rack}
        self.racks = [rack for rack in plan.racks or sorted(reported) if rack in reported]
        if len(self.racks) < 2:
            self.close()
            found = ", ".join(self.racks) or "none"
            raise RealClusterError(f"expected brokers in two or more of the racks, got {found}")
        self.refused: dict[str, str] = {}
        self.outage: dict[str, str] = {}

    def topic(self, kind: str) -> str:
        """The name of the topic of this kind."""
        return f"{self.plan.prefix}-{kind}"

    def named(self, rack: str) -> ServerAsker:
        """A client that names its rack in client.id."""
        return ServerAsker(self.plan.zone_client_id.replace("{rack}", rack))

    def askers(self, rack: str) -> dict[str, ServerAsker]:
        """A client of a rack in each of ``FORMS`` that the server may know it by."""
        by_id, by_metadata, by_description = FORMS
        found = {by_id: self.named(rack)}
        if self.versions(MetadataRequest, least=METADATA_RACK):
            found[by_metadata] = self.asker._replace(rack_id=rack)
        if self.versions(DescribeTopicPartitionsRequest, least=DESCRIBED_RACK):
            found[by_description] = self.asker._replace(rack_id=rack, describes=True)
        return found


def make_topics(server: ServerUnderTest) -> None:
    """Create the topics that the server offers, and wait until brokers lead them.

    A server may have classic topics alone, as Kafka has, or diskless ones alone: then it refuses topics with replicas
    (Inkless b1fcb5f6), makes them with one replica and knows no ``diskless.enable`` (AutoMQ f1ce98ec), or reports that
    setting in its answer.

    Raises: RealClusterError: the cluster refuses both.
    """
    spread, single, diskless = map(server.topic, (SPREAD, SINGLE, DISKLESS))
    in_sync = {"min.insync.replicas": "1"}
    create(server, spread, min(len(server.racks), MOST_REPLICAS), in_sync)
    if spread in server.refused:
        server.refused[single] = server.refused[spread]
    else:
        create(server, single, 1, in_sync)
    create(server, diskless, 1, {DISKLESS_SETTING: "true"})
    if server.refused.keys() >= {spread, diskless}:
        create(server, diskless, 1, {})
    for topic in (spread, single, diskless):
        if topic not in server.refused:
            await_leaders(server, topic, server.plan.settle_s)


def create(server: ServerUnderTest, name: str, replicas: int, configs: dict[str, str]) -> None:
    """Create a topic, or note why the server offers none. Raises RealClusterError: it refuses for other reasons."""
    topic = CreateTopicsRequest.Topic(
        name=name, num_partitions=server.plan.partitions, replication_factor=replicas, assignments=[]
    )
    topic.configs = [CreateTopicsRequest.Topic.Config(name=key, value=value) for key, value in configs.items()]
    (made,) = server.ask_controller(CreateTopicsRequest(topics=[topic], timeout_ms=10_000)).topics
    server.refused.pop(name, None)
    if made.error_code != ErrorCode.NONE:
        server.refused[name] = refusal(f"topic with {', '.join(configs) or 'defaults'}", made)
        if made.error_code not in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REPLICATION_FACTOR) or not configs:
            raise RealClusterError(server.refused[name])
    elif name == server.topic(SPREAD):
        answered = {one.name: one.value for one in made.configs or []}
        if answered.get(DISKLESS_SETTING) == "true" or 0 < made.replication_factor < replicas:
            server.refused[name] = (
                f"new topics are diskless: CreateTopics with replication factor {replicas} answers "
                f"{made.replication_factor}, {DISKLESS_SETTING} {answered.get(DISKLESS_SETTING, 'unknown')}"
            )


def await_leaders(server: ServerUnderTest, topic: str, seconds: float) -> None:
    """Wait until each broker names leaders that accept a write, or the time is over."""

    def check() -> None:
        for broker in server.brokers:
            shown = server.look(topic, at=broker)
            written = write_to_leaders(server, shown)
            expect(written == server.plan.partitions, f"{shown.request} names {written} partitions")

    with suppress(BrokenPromiseError, RealClusterError):
        kept_within(seconds, check)


def write_to_leaders(server: ServerUnderTest, shown: TopicAnswer) -> int:
    """The number of partitions, each of whose leaders accepts a write. Raises BrokenPromiseError."""
    for index, one in shown.partitions.items():
        expect(one.leader_id in server.brokers, shown.leads(index))
        done = server.write(shown, index, one.leader_id)
        expect(not done.error, f"{shown.leads(index)}; but {done.text}")
    return len(shown.partitions)


def kept_within(seconds: float, attempt: Callable[[], T]) -> T:
    """The result of an attempt, which is repeated while it raises BrokenPromiseError or RealClusterError.

    Raises what the last attempt raised, when the time is over.
    """
    ends_at = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except (BrokenPromiseError, RealClusterError):
            if time.monotonic() >= ends_at:
                raise
        time.sleep(PAUSE_S)
