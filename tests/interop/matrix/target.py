"""What the scenarios run against: our cluster, real Kafka on loopback, or our proxy before real Kafka.

All are looked at by raw requests, those of the proxy through it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mockbroker import MockCluster
from mockbroker.adapters.client_properties.settings import ClientSettings
from mockbroker.adapters.real_cluster.connection import BrokerConnection
from mockbroker.adapters.served_cluster import ServedCluster
from mockbroker.proxy.adapters.server import KafkaProxy
from mockbroker.proxy.adapters.upstream import UpstreamSettings
from protocol.apis.configs import IncrementalAlterConfigsRequest
from protocol.apis.elect_leaders import ElectLeadersRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.groups import ListGroupsRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.records import CompressionCodec, iter_batches
from protocol.records.compression import codec_of
from tests.interop.java_brokers import kafka_brokers
from tests.progress import until

GROUP = 32
"""A group as a resource of configs."""
RACKS = ("a", "b", "c")
LATEST = "4.4"
PATCHES = {"4.4": "4.4.0", "3.9": "3.9.1"}
DISKLESS = "diskless"
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "default.replication.factor": "3",
    "auto.create.topics.enable": "false",
}
KAFKAS_OWN = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "3",
}


class Target:
    """A running cluster of three brokers, one in each rack.

    ``cluster`` is ours or our proxy, whose journal has seen the clients; None for real Kafka alone.
    """

    def __init__(self, servers: str, cluster: ServedCluster | None = None) -> None:
        self.servers, self.cluster = servers, cluster
        self._addresses: dict[int, tuple[str, int]] = {}

    async def create_topic(self, name: str, assignment: list[list[int]]) -> None:
        """A topic whose partitions have these replicas, the first one leading; waits until each leads.

        A real broker may tell of a topic before it or another one leads it.
        """
        topic = CreateTopicsRequest.Topic(name=name, num_partitions=-1, replication_factor=-1)
        topic.assignments = [
            CreateTopicsRequest.Topic.Assignment(partition_index=index, broker_ids=brokers)
            for index, brokers in enumerate(assignment)
        ]
        answer = await self._ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        assert answer.topics[0].error_code == 0, answer

        async def led() -> bool:
            leaders = {brokers[0] for brokers in assignment}
            told = [one[:1] for one in await self.topic(name)]
            return told == [brokers[:1] for brokers in assignment] and all(
                [await self._leads(name, one) for one in leaders]
            )

        await self.until(led, f"the leaders of {name}")

    async def lead(self, name: str, brokers: list[int]) -> None:
        """Have the first partition's leader be another of its replicas, the first of these; waits until it is."""
        topic = AlterPartitionReassignmentsRequest.Topic(name=name)
        topic.partitions = [topic.Partition(partition_index=0, replicas=brokers)]
        answer = await self._ask(AlterPartitionReassignmentsRequest(topics=[topic]), 0)
        assert answer.responses[0].partitions[0].error_code == 0, answer
        which = ElectLeadersRequest.TopicPartitions(topic=name, partitions=[0])

        async def led() -> bool:
            await self._ask(ElectLeadersRequest(election_type=0, topic_partitions=[which]), 2)
            return (await self.topic(name))[0][:1] == brokers[:1]

        await self.until(led, f"broker {brokers[0]} as the leader of {name}")

    async def topic(self, name: str) -> list[list[int]]:
        """Leader and replicas of each partition; nothing for a topic that is not there."""
        answer = await self._ask(MetadataRequest(topics=[MetadataRequest.Topic(name=name)]), 8)
        partitions = sorted(answer.topics[0].partitions, key=lambda one: one.partition_index)
        return [[one.leader_id, *(node for node in one.replica_nodes if node != one.leader_id)] for one in partitions]

    async def until_deleted(self, name: str) -> None:
        """Wait until brokers know nothing of a topic."""

        async def gone() -> bool:
            return not await self.topic(name)

        await self.until(gone, f"the end of {name}")

    async def kind_of_group(self, group: str) -> str | None:
        """``classic``, ``consumer``, ``share``; None for a group that no broker coordinates."""
        await self._ask(MetadataRequest(topics=[]), 8)
        for broker in self._addresses:
            answer = await self._ask(ListGroupsRequest(), 5, broker)
            for one in answer.groups:
                if one.group_id == group:
                    return str(one.group_type).lower()
        return None

    async def set_group_config(self, group: str, name: str, value: str) -> None:
        """Set one config of a group."""
        config = IncrementalAlterConfigsRequest.Resource.Config(name=name, config_operation=0, value=value)
        resource = IncrementalAlterConfigsRequest.Resource(resource_type=GROUP, resource_name=group, configs=[config])
        answer = await self._ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
        assert answer.responses[0].error_code == 0, answer

    async def codecs(self, name: str) -> set[CompressionCodec]:
        """How the batches of its first partition are compressed in the log."""
        partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        topic = FetchRequest.Topic(topic=name, partitions=[partition])
        request = FetchRequest(replica_id=-1, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[topic])
        [[leader, *_], *_] = await self.topic(name)
        answer = await self._ask(request, 11, leader)
        found = answer.responses[0].partitions[0]
        assert found.error_code == 0, found
        return {codec_of(batch.attributes) for batch in iter_batches(found.records)}

    async def until(self, done: Callable[[], Awaitable[bool]], what: str) -> None:
        """Wait until something that is asked again and again is so."""
        there = [False]

        async def look() -> None:
            while not there[0]:
                there[0] = await done()
                await asyncio.sleep(0.02)

        looking = asyncio.create_task(look())
        try:
            await until(lambda: there[0] or looking.done(), what)
            await looking
        finally:
            looking.cancel()

    async def _leads(self, name: str, broker: int) -> bool:
        """Whether a broker serves what a topic's Metadata says that it leads."""
        indices = [index for index, one in enumerate(await self.topic(name)) if one[:1] == [broker]]
        topic = ListOffsetsRequest.Topic(name=name)
        topic.partitions = [topic.Partition(partition_index=index, timestamp=-1) for index in indices]
        answer = await self._ask(ListOffsetsRequest(replica_id=-1, topics=[topic]), 2, broker)
        return not any(one.error_code for one in answer.topics[0].partitions)

    async def _ask(self, request: Any, version: int, broker: int = 0) -> Any:
        def asked() -> Any:
            if broker not in self._addresses:
                host, _, port = self.servers.split(",")[0].rpartition(":")
                with BrokerConnection((host, int(port)), settings=ClientSettings(timeout_s=60)) as first:
                    brokers = first.ask(MetadataRequest(topics=[]), 8).brokers
                self._addresses = {one.node_id: (one.host, one.port) for one in brokers}
            with BrokerConnection(self._addresses[broker], settings=ClientSettings(timeout_s=60)) as connection:
                return connection.ask(request, version)

        return await asyncio.to_thread(asked)


@asynccontextmanager
async def our_cluster(release: str) -> AsyncIterator[Target]:
    """Ours, as a release of Kafka is, with a diskless topic."""
    options = {} if release == LATEST else {"emulate": release}
    async with MockCluster(settings=SETTINGS, diskless_topics={DISKLESS: 3}, **options) as cluster:
        yield Target(cluster.bootstrap_servers, cluster)


@contextmanager
def real_kafka(release: str, folder: Path) -> Iterator[Target]:
    """Real brokers. Raises ToolMissingError."""
    with kafka_brokers(RACKS, folder, {**SETTINGS, **KAFKAS_OWN}, PATCHES[release]) as running:
        yield Target(",".join(running.addresses))


@asynccontextmanager
async def proxy_before(real: Target) -> AsyncIterator[Target]:
    """Our proxy before real brokers."""
    servers = [(host, int(port)) for host, _, port in (one.rpartition(":") for one in real.servers.split(","))]
    async with KafkaProxy(UpstreamSettings(servers=servers)) as proxy:
        yield Target(proxy.bootstrap_servers, proxy)
