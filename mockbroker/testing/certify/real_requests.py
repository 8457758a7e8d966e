"""Requests of certify itself to real brokers: to make a topic, to move and feed it, and to read its log."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from mockbroker.proxy.adapters.upstream import UpstreamLink, UpstreamSettings
from protocol.apis.configs import DescribeConfigsRequest
from protocol.apis.elect_leaders import ElectLeadersRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.groups import DeleteGroupsRequest
from protocol.apis.list_offsets import ListOffsetsRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest
from protocol.apis.topics import CreateTopicsRequest, DeleteTopicsRequest
from protocol.error_codes import ErrorCode, error_name
from protocol.records import Record, build_batch, iter_batches

if TYPE_CHECKING:
    from mockbroker.proxy.mirror import BrokerAddress
    from mockbroker.testing.certify.following import TopicPartition
    from protocol.records.batches import BatchHeader

CLIENT_ID = "kafka-rack certify"
BY_NAME = 12
"""The last version of Produce and Fetch that names topics rather than numbers them."""
LEADER_ONLY = 1
VALUE_BYTES = 200
TIMEOUT_MS = 10_000
BROKER = 4
LATEST = -1
PART_BYTES, ANSWER_BYTES = 4 << 20, 16 << 20
EMPTY_READS = 3
OWN_CONFIGS = {"compression.type": "producer", "cleanup.policy": "delete", "message.timestamp.type": "CreateTime"}
"""So that the log has batches with the checksum that their producer gave them."""


class RealBrokers:
    """Connections to real brokers, one each, that go past the proxy and so past what is judged.

    Args:
        addresses: node id -> where the broker is; it is looked at anew for each connection.
    """

    def __init__(self, settings: UpstreamSettings, addresses: Mapping[int, BrokerAddress]) -> None:
        self._settings = replace(settings, client_id=CLIENT_ID)
        self._addresses = addresses
        self._links: dict[int, tuple[BrokerAddress, UpstreamLink]] = {}
        self._numbers = count(1)

    async def close(self) -> None:
        """End all connections."""
        await asyncio.gather(*(link.close() for _, link in self._links.values()))

    async def controller(self) -> int:
        """The broker that Metadata calls the controller: in KRaft any, for each passes on what is the controller's."""
        known = min(self._addresses)
        answer = await self._to(known).ask(MetadataRequest(topics=[]))
        return int(answer.controller_id) if answer.controller_id in self._addresses else known

    async def create_topic(self, name: str, replicas: Sequence[Sequence[int]]) -> str | None:
        """Make a topic; gives why it could not be made, None once it is."""
        topic = CreateTopicsRequest.Topic(name=name, num_partitions=-1, replication_factor=-1)
        topic.assignments = [
            CreateTopicsRequest.Topic.Assignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in enumerate(replicas)
        ]
        topic.configs = [CreateTopicsRequest.Topic.Config(name=one, value=value) for one, value in OWN_CONFIGS.items()]
        answer = await self._ask_controller(CreateTopicsRequest(topics=[topic], timeout_ms=TIMEOUT_MS))
        return refusal("CreateTopics", answer.topics)

    async def delete_topic(self, name: str) -> None:
        """Take a topic away."""
        request = DeleteTopicsRequest(topics=[DeleteTopicsRequest.Topic(name=name)], topic_names=[name])
        request.timeout_ms = TIMEOUT_MS
        await self._ask_controller(request)

    async def delete_group(self, name: str) -> None:
        """Take a group away at whichever broker coordinates it, unless somebody is still in it."""
        for broker in list(self._addresses):
            await self._to(broker).ask(DeleteGroupsRequest(groups_names=[name]))

    async def broker_setting(self, name: str) -> str | None:
        """The value that a setting has at some broker; None where that is not told."""
        broker = min(self._addresses)
        resource = DescribeConfigsRequest.Resource(
            resource_type=BROKER, resource_name=str(broker), configuration_keys=[name]
        )
        answer = await self._to(broker).ask(DescribeConfigsRequest(resources=[resource]))
        for result in answer.results:
            for one in result.configs:
                if not result.error_code and one.name == name:
                    return one.value or ""
        return None

    async def place(self, topic: str, replicas: Mapping[int, Sequence[int]]) -> str | None:
        """Move partitions, the first replica of each to lead; gives why that cannot be."""
        moved = AlterPartitionReassignmentsRequest.Topic(name=topic)
        moved.partitions = [
            moved.Partition(partition_index=index, replicas=list(brokers)) for index, brokers in replicas.items()
        ]
        answer = await self._ask_controller(AlterPartitionReassignmentsRequest(topics=[moved], timeout_ms=TIMEOUT_MS))
        parts = [answer, *(part for one in answer.responses for part in one.partitions)]
        return refusal("AlterPartitionReassignments", parts)

    async def elect(self, topic: str, partitions: Iterable[int]) -> str | None:
        """Have the first replica of each partition lead; gives why that cannot be."""
        which = ElectLeadersRequest.TopicPartitions(topic=topic, partitions=list(partitions))
        answer = await self._ask_controller(ElectLeadersRequest(topic_partitions=[which], timeout_ms=TIMEOUT_MS))
        parts = [part for one in answer.replica_election_results for part in one.partition_result]
        wrong = [part for part in parts if part.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        return refusal("ElectLeaders", wrong)

    async def end_offsets(self, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The offset behind the last record of partitions, by their leaders."""
        found = {}
        for broker, topics in by_leader(leaders).items():
            request = ListOffsetsRequest(replica_id=-1)
            for name, indexes in topics.items():
                parts = [
                    ListOffsetsRequest.Topic.Partition(partition_index=index, timestamp=LATEST) for index in indexes
                ]
                request.topics.append(ListOffsetsRequest.Topic(name=name, partitions=parts))
            answer = await self._to(broker).ask(request)
            for topic in answer.topics:
                for one in topic.partitions:
                    if not one.error_code:
                        found[topic.name, one.partition_index] = one.offset
        return found

    async def write(
        self, broker: int, topics: Mapping[str, Sequence[int]], now_ms: int, records: int
    ) -> dict[TopicPartition, int | None]:
        """Write records into partitions that a broker leads: the offset behind them, None where it refused them."""
        request = ProduceRequest(acks=LEADER_ONLY, timeout_ms=TIMEOUT_MS)
        for name, indexes in topics.items():
            parts = []
            for index in indexes:
                texts = [f"{name}-{index} {next(self._numbers)} ".encode() for _ in range(records)]
                made = [Record(value=text.ljust(VALUE_BYTES, b"."), timestamp=now_ms) for text in texts]
                parts.append(ProduceRequest.Topic.Partition(index=index, records=build_batch(made)))
            request.topic_data.append(ProduceRequest.Topic(name=name, partition_data=parts))
        answer = await self._to(broker).ask(request, BY_NAME)
        return {
            (topic.name, one.index): None if one.error_code else one.base_offset + records
            for topic in answer.responses
            for one in topic.partition_responses
        }

    async def batches(self, broker: int, place: TopicPartition, first: int, end: int) -> list[BatchHeader]:
        """The batches of a partition from one offset to another, as far as the leader has them."""
        found: list[BatchHeader] = []
        at, empty = first, 0
        while at < end and empty < EMPTY_READS:
            part = FetchRequest.Topic.Partition(partition=place[1], fetch_offset=at, partition_max_bytes=PART_BYTES)
            request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=ANSWER_BYTES)
            request.topics = [FetchRequest.Topic(topic=place[0], partitions=[part])]
            answer = await self._to(broker).ask(request, BY_NAME)
            records = b"".join(one.records or b"" for topic in answer.responses for one in topic.partitions)
            read = [header for header in iter_batches(records) if not header.partial]
            empty = 0 if read else empty + 1
            if read:
                at = read[-1].last_offset + 1
                found += read
        return found

    def _to(self, broker: int) -> UpstreamLink:
        """The connection to a broker."""
        address = self._addresses[broker]
        known = self._links.get(broker)
        if known is None or known[0] != address:
            link = UpstreamLink(replace(self._settings, servers=[(address.host, address.port)]))
            known = self._links[broker] = (address, link)
        return known[1]

    async def _ask_controller(self, request: Any) -> Any:
        return await self._to(await self.controller()).ask(request)


def by_leader(leaders: Mapping[TopicPartition, int]) -> dict[int, dict[str, list[int]]]:
    """Partitions by their leader and topic.

    >>> by_leader({("orders", 0): 2, ("orders", 1): 0, ("orders", 2): 2})
    {2: {'orders': [0, 2]}, 0: {'orders': [1]}}
    """
    found: dict[int, dict[str, list[int]]] = {}
    for (topic, index), leader in leaders.items():
        found.setdefault(leader, {}).setdefault(topic, []).append(index)
    return found


def refusal(name: str, parts: Iterable[Any]) -> str | None:
    """The first error of an answer in words, None where there is none."""
    for part in parts:
        if part.error_code:
            message = getattr(part, "error_message", None)
            return f"{name} is refused: {error_name(part.error_code)}" + (f", {message}" if message else "")
    return None
