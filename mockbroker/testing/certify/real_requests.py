"""Certify's own requests to real brokers: they create a topic, move and feed it, and read its log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mockbroker.adapters.real_cluster.cluster import LiveBroker
from mockbroker.adapters.real_cluster.connection import check
from mockbroker.proxy.adapters.upstream import UpstreamLink, UpstreamSettings
from mockbroker.testing.certify.clusters import batch_to_feed
from protocol.apis.elect_leaders import ElectLeadersRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.groups import DeleteGroupsRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest
from protocol.apis.topics import DeleteTopicsRequest
from protocol.error_codes import ErrorCode
from protocol.records import iter_batches

if TYPE_CHECKING:
    from mockbroker.proxy.mirror import BrokerAddress
    from mockbroker.testing.certify.facts import TopicPartition
    from protocol.records.batches import BatchHeader

CLIENT_ID = "kafka-rack certify"
BY_NAME = 12
"""The last version of Produce and Fetch that names topics rather than numbers them."""
LEADER_ONLY = 1
TIMEOUT_MS = 10_000
PART_BYTES, ANSWER_BYTES = 4 << 20, 16 << 20
EMPTY_READS = 3
OWN_CONFIGS = {"compression.type": "producer", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime"}
"""So that the log has batches with the checksum that their producer gave them."""


class RealBrokers(UpstreamLink):
    """Connections to real brokers that bypass the proxy and so the checks.

    All methods raise RealClusterError: the cluster does not answer, or refuses the request.

    Args:
        addresses: node id -> where the broker is now.
    """

    def __init__(self, settings: UpstreamSettings, addresses: Mapping[int, BrokerAddress]) -> None:
        super().__init__(replace(settings, client_id=CLIENT_ID), addresses.values)
        self._addresses = addresses

    async def clean_up(self, topic: str, group: str) -> None:
        """Delete a topic, and a group at each broker that may coordinate it, unless it has members."""
        request = DeleteTopicsRequest(topics=[DeleteTopicsRequest.Topic(name=topic)], topic_names=[topic])
        request.timeout_ms = TIMEOUT_MS
        await self.ask(lambda real: real.ask_controller(request, "Kafka 0.10.1"))
        for broker in list(self._addresses):
            await self._ask_broker(broker, DeleteGroupsRequest(groups_names=[group]))

    async def place(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Move partitions, the first replica of each to lead."""
        moved = AlterPartitionReassignmentsRequest.Topic(name=topic)
        moved.partitions = [
            moved.Partition(partition_index=index, replicas=list(brokers)) for index, brokers in replicas.items()
        ]
        request = AlterPartitionReassignmentsRequest(topics=[moved], timeout_ms=TIMEOUT_MS)
        answer = await self.ask(lambda real: real.ask_controller(request, "Kafka 2.4"))
        for part in (answer, *(part for one in answer.responses for part in one.partitions)):
            check("AlterPartitionReassignments is refused", part)

    async def elect(self, topic: str, partitions: Iterable[int]) -> None:
        """Elect the first replica of each partition as its leader."""
        which = ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(partitions))
        request = ElectLeadersRequest(topic_partitions=[which], timeout_ms=TIMEOUT_MS)
        answer = await self.ask(lambda real: real.ask_controller(request, "Kafka 2.4"))
        for part in (part for one in answer.replica_election_results for part in one.partition_result):
            if part.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                check("ElectLeaders is refused", part)

    async def write(
        self, broker: int, topics: Mapping[str, Sequence[int]], now_ms: int, records: int
    ) -> dict[TopicPartition, int | None]:
        """Write records into partitions that a broker leads: the offset after them, None for refused ones."""
        request = ProduceRequest(acks=LEADER_ONLY, timeout_ms=TIMEOUT_MS)
        for name, indexes in topics.items():
            parts = []
            for index in indexes:
                batch = batch_to_feed(name, index, records, now_ms)
                parts.append(ProduceRequest.Topic.Partition(index=index, records=batch))
            request.topic_data.append(ProduceRequest.Topic(name=name, partition_data=parts))
        answer = await self._ask_broker(broker, request, BY_NAME)
        return {
            (topic.name, one.index): None if one.error_code else one.base_offset + records
            for topic in answer.responses
            for one in topic.partition_responses
        }

    async def batches(self, broker: int, place: TopicPartition, first: int, end: int) -> list[BatchHeader]:
        """A partition's batches from one offset to another, as far as the leader has them."""
        found: list[BatchHeader] = []
        at, empty = first, 0
        while at < end and empty < EMPTY_READS:
            part = FetchRequest.Topic.Partition(partition=place[1], fetch_offset=at, partition_max_bytes=PART_BYTES)
            request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=ANSWER_BYTES)
            request.topics = [FetchRequest.Topic(topic=place[0], partitions=[part])]
            answer = await self._ask_broker(broker, request, BY_NAME)
            records = b"".join(one.records or b"" for topic in answer.responses for one in topic.partitions)
            read = [header for header in iter_batches(records) if not header.partial]
            empty = 0 if read else empty + 1
            if read:
                at = read[-1].last_offset + 1
                found += read
        return found

    def _broker(self, number: int) -> LiveBroker:
        address = self._addresses[number]
        return LiveBroker(number, None, address.host, address.port)

    async def _ask_broker(self, number: int, request: Any, most: int | None = None) -> Any:
        """A broker's answer, in the newest version that both sides speak, up to ``most``."""
        broker = self._broker(number)
        return await self.ask(lambda real: real.connection_to(broker).ask(request, most=most))
