"""The upgrade itself: a cluster here, the clients as processes, each move, and an observation after it.

Observations come over the wire, by our own codec, from the bytes that brokers wrote into ZooKeeper, and from the
UpdateMetadata requests that the controller's connections delivered.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_rack.broker_registration import read_broker
from kafka_rack.errors import UnreadableRegistrationError
from mockbroker import MockCluster
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.connection import BrokerConnection
from mockbroker.state.settings import PROTOCOL_SETTING
from mockbroker.testing.clients.process import ClientError, ClientPlan, ClientProcess, ClientResult, arrived, finish
from mockbroker.testing.rolling_upgrade.plan import NEW_SETTING, TITLES, Upgrade, UpgradeStep
from mockbroker.zookeeper.controller import ZooKeeperMode
from mockbroker.zookeeper.releases import BrokerSoftware
from protocol.apis.metadata import MetadataRequest, MetadataResponse

TOPIC = "orders"
FIRST_RELEASE = {"0.9": "0.9.0", "0.10": "0.10.0"}
"""Version of a client -> the release line from which on brokers serve what it asks for."""
RECORDS_A_RESTART = 10
MAX_REPLICAS = 3
DOWN_S = 0.2  # how long a broker stays down, so that its clients notice
ANSWER_WITHIN_S = 10.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Seen:
    """A broker after a move: its software, its registration, and why a strict or a lenient reader breaks on that."""

    broker_id: int
    release: str
    protocol: str
    json_version: int
    json_rack: str | None
    strict_error: str | None
    lenient_error: str | None


@dataclass(frozen=True, slots=True)
class Sent:
    """UpdateMetadata requests since the previous move: their sender, version and outcome."""

    controller_id: int
    version: int
    outcome: str
    times: int


@dataclass(slots=True)
class Observation:
    """Everything observed after a move."""

    step: int
    restarted: int | None
    controller_id: int
    problem: str | None
    brokers: list[Seen]
    sent: list[Sent]
    spans: list[bool]
    """By partition of a topic that a broker created then: True if its replicas are in as many racks as can be."""
    metadata: dict[int, dict[int, str | None] | None]
    """The answer of each broker to Metadata v1: rack by broker; None if it does not serve that."""
    clients: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Version of a client -> records acknowledged and read so far."""


class ReplayOutcome(NamedTuple):
    """The whole replay."""

    upgrade: Upgrade
    racks: list[str]
    observations: list[Observation]
    ledgers: dict[str, ClientResult]


async def replay(upgrade: Upgrade, racks: list[str], with_clients: bool, say: Say) -> ReplayOutcome:
    """Make every move; ``say`` gets a line for each.

    Raises ClientError: a client could not start, or did not go on after a restart.
    """
    count = len(upgrade.broker_ids)
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(
            MockCluster(
                count,
                racks,
                topics={TOPIC: (count, min(MAX_REPLICAS, len(racks)))},
                settings={
                    PROTOCOL_SETTING: upgrade.old.protocol.text,
                    "num.partitions": count * (count - 1),  # so that every distance between replicas occurs
                    "default.replication.factor": min(MAX_REPLICAS, len(racks)),
                    "group.initial.rebalance.delay.ms": 0,
                },
                emulate=upgrade.old.release.text,
            )
        )
        say(f"{count} brokers of Kafka {upgrade.old.release} in racks {', '.join(racks)} are up")
        clients: dict[str, ClientProcess] = {}
        observations: list[Observation] = []
        step = -1
        for move in upgrade.moves:
            if move.step != step:
                step = move.step
                say(f"step {step}: {TITLES[step]}" if step else TITLES[step])
            await make(cluster, move)
            if with_clients:
                await join_clients(cluster, clients, stack, say)
                await all_on_their_way([*clients.values()], f"progress after {name_of(move)}")
            observations.append(await observe(cluster, move, len(observations)))
            observations[-1].clients = {
                version: (client.progress["acknowledged"], client.progress["distinct"])
                for version, client in clients.items()
            }
            say(line_of(observations[-1]))
        if clients:
            say("producers stop, consumers read to the end")
        results = await finish([*clients.values()], lambda: all_is_read([*clients.values()]))
        return ReplayOutcome(upgrade, racks, observations, dict(zip(clients, results, strict=True)))


def all_is_read(clients: list[ClientProcess]) -> bool:
    sent = sum(client.progress["acknowledged"] for client in clients)
    return all(client.progress["distinct"] >= sent for client in clients)


async def all_on_their_way(clients: list[ClientProcess], what: str) -> None:
    """Wait until more records were acknowledged to each client, and each has read more. Raises ClientError."""
    before = [dict(client.progress) for client in clients]

    def are() -> bool:
        return all(
            client.progress[count] >= then[count] + RECORDS_A_RESTART
            for client, then in zip(clients, before, strict=True)
            for count in ("acknowledged", "distinct")
        )

    await arrived(are, clients, what)


async def make(cluster: MockCluster, move: UpgradeStep) -> None:
    """Restart a broker with its new software, or have all brokers' files changed."""
    release, protocol = move.software.release.text, move.software.protocol.text
    if move.broker_id is not None:
        cluster.configure_broker(move.broker_id, emulate=release, protocol=protocol)
        await cluster.stop_broker(move.broker_id)
        await asyncio.sleep(DOWN_S)
        await cluster.start_broker(move.broker_id)
    elif move.step == NEW_SETTING:
        for broker_id in cluster.state.brokers:
            cluster.configure_broker(broker_id, protocol=protocol)


async def join_clients(
    cluster: MockCluster, clients: dict[str, ClientProcess], stack: AsyncExitStack, say: Say
) -> None:
    """Start each client that can talk to every broker now, and wait until it produces and consumes."""
    for version, first in FIRST_RELEASE.items():
        if version in clients:
            continue
        if not all(software.since(first) for software in zookeeper_of(cluster).running.values()):
            say(f"  the client of {version} waits: some brokers do not serve its requests")
            continue
        numbers = [int(number) for number in version.split(".")]
        plan = ClientPlan("kafka-python", f"readers-{version}", [TOPIC], cluster.bootstrap_servers, api_version=numbers)
        client = await stack.enter_async_context(ClientProcess(plan))
        clients[version] = client
        await arrived(client.is_assigned, [*clients.values()], f"the start of {plan.name}")
        client.order("go")
        say(f"  the client of {version} produces and consumes")


async def observe(cluster: MockCluster, move: UpgradeStep, number: int) -> Observation:
    """Look at everything; a topic is created by the broker that restarted, or by the controller."""
    zookeeper = zookeeper_of(cluster)
    await cluster.metadata_propagated()
    sent = Counter((one.controller, one.version, one.outcome) for _, one in zookeeper.deliveries)
    zookeeper.deliveries.clear()
    metadata = {}
    for broker_id in sorted(cluster.state.brokers):
        answer = await metadata_of(cluster, broker_id, 1)
        metadata[broker_id] = None if answer is None else {one.node_id: one.rack for one in answer.brokers}
    asked = move.broker_id if move.broker_id is not None else zookeeper.controller_id
    spans = await create_topic(cluster, f"created-{number}", asked)
    zookeeper.deliveries.clear()  # requests about that topic do not belong to the move
    brokers = [
        seen(broker_id, software, zookeeper.registrations[broker_id].data)
        for broker_id, software in sorted(zookeeper.running.items())
    ]
    return Observation(
        step=move.step,
        restarted=move.broker_id,
        controller_id=zookeeper.controller_id,
        problem=zookeeper.problem,
        brokers=brokers,
        sent=[Sent(*key, count) for key, count in sorted(sent.items())],
        spans=spans,
        metadata=metadata,
    )


def zookeeper_of(cluster: MockCluster) -> ZooKeeperMode:
    zookeeper = cluster.state.other_mode
    assert isinstance(zookeeper, ZooKeeperMode)
    return zookeeper


def seen(broker_id: int, software: BrokerSoftware, registration: bytes) -> Seen:
    """A broker, with the errors of each reader on its registration."""
    return Seen(
        broker_id,
        software.release.text,
        software.protocol.text,
        int(json.loads(registration)["version"]),
        json.loads(registration).get("rack"),
        error_of(registration, strict=True),
        error_of(registration, strict=False),
    )


def error_of(registration: bytes, *, strict: bool) -> str | None:
    """Why a reader breaks on a registration; None if it reads it."""
    try:
        read_broker(registration, strict=strict)
    except UnreadableRegistrationError as error:
        return str(error)
    return None


async def create_topic(cluster: MockCluster, name: str, asked: int) -> list[bool]:
    """Let a broker create a topic by requesting its metadata, as clients of that time did: ``Observation.spans``."""
    await metadata_of(cluster, asked, 0, name)
    await cluster.metadata_propagated()
    answer = await metadata_of(cluster, asked, 0, name)
    assert answer is not None
    partitions = sorted(answer.topics[0].partitions, key=lambda one: one.partition_index)
    if not partitions:
        raise ClientError(f"broker {asked} did not create {name}: error code {answer.topics[0].error_code}")
    replicas = [list(one.replica_nodes) for one in partitions]
    racks = {broker.id: broker.rack for broker in cluster.state.brokers.values()}
    possible = min(len(replicas[0]), len(set(racks.values())))
    return [len({racks[replica] for replica in row}) == possible for row in replicas]


async def metadata_of(cluster: MockCluster, asked: int, version: int, *names: str) -> MetadataResponse | None:
    """A broker's answer to Metadata in one version; None if it does not serve that."""
    broker, settings = cluster.state.brokers[asked], ClientSettings(timeout_s=ANSWER_WITHIN_S)

    def ask() -> MetadataResponse | None:
        with BrokerConnection((broker.host, broker.port), settings) as connection:
            if connection.version_for(MetadataRequest, least=version, most=version) is None:
                return None
            request = MetadataRequest(topics=[MetadataRequest.Topic(name=name) for name in names])
            answer: MetadataResponse = connection.ask(request, version)
            return answer

    return await asyncio.to_thread(ask)


def name_of(move: UpgradeStep) -> str:
    return TITLES[move.step] if move.broker_id is None else f"the restart of broker {move.broker_id}"


def line_of(observation: Observation) -> str:
    """Progress: what happened, and how far the clients are."""
    what = "seen" if observation.restarted is None else f"broker {observation.restarted} is back"
    versions = "".join(str(broker.json_version) for broker in observation.brokers)
    parts = [f"{what}; JSON versions {versions}, controller {observation.controller_id}"]
    for version, (acknowledged, read) in observation.clients.items():
        parts.append(f"client {version}: {acknowledged} acknowledged, {read} read")
    return "  " + "; ".join(parts)
