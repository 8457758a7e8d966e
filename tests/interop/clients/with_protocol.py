"""The codec of this project as a client program: it sends its rack in RackId, which no released client does yet.

``metadata_api`` in its settings is ``Metadata`` (version 14) or ``DescribeTopicPartitions`` (version 1).
"""

from __future__ import annotations

import socket
import time
from functools import cache
from typing import Any

from protocol import read_response, request_frame
from protocol.apis.fetch import FetchRequest
from protocol.apis.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from protocol.apis.produce import ProduceRequest
from protocol.records import Record, build_batch, iter_records
from tests.interop.clients.common import FOREVER_S, LINGER_S, PAUSE_S, as_bytes, as_text, say, stopped

CLIENT_ID = "own-codec"
PRODUCE_VERSION, FETCH_VERSION = 11, 12  # the last that name topics rather than number them
RETRY_S = 0.05
MAX_TRIES = 1000


class Client:
    """One connection a broker, and who leads what as the cluster last said."""

    def __init__(self, servers: str, rack: str | None = None, metadata_api: str = "Metadata") -> None:
        self.servers, self.rack, self.metadata_api = servers, rack, metadata_api
        self.addresses: dict[int, tuple[str, int]] = {}
        self.leaders: dict[str, dict[int, int]] = {}
        self.connections: dict[tuple[str, int], socket.socket] = {}
        self.sent = 0

    def ask(self, address: tuple[str, int], message: Any, version: int) -> Any:
        """Send one request, wait for its answer. Raises OSError: the broker has gone."""
        if address not in self.connections:
            self.connections[address] = socket.create_connection(address)
        connection = self.connections[address]
        self.sent += 1
        try:
            connection.sendall(request_frame(message, version, correlation_id=self.sent, client_id=CLIENT_ID))
            answer = read_exactly(connection, int.from_bytes(read_exactly(connection, 4), "big"))
        except OSError:
            self.connections.pop(address).close()
            raise
        return read_response(answer, type(message).api_key, version)[1]

    def refresh(self, topic: str) -> None:
        """Learn brokers and leaders, from whichever broker answers."""
        for server in self.servers.split(","):
            host, port = server.rsplit(":", 1)
            try:
                self.learn((host, int(port)), topic)
            except OSError:
                continue
            return
        raise ConnectionError(f"none of {self.servers} answers")

    def learn(self, address: tuple[str, int], topic: str) -> None:
        by_describe = self.metadata_api == "DescribeTopicPartitions"
        wanted = MetadataRequest(
            topics=[MetadataRequest.Topic(name=topic)], rack_id="" if by_describe else self.rack or ""
        )
        metadata = self.ask(address, wanted, 14)
        self.addresses = {broker.node_id: (broker.host, broker.port) for broker in metadata.brokers}
        self.leaders[topic] = {one.partition_index: one.leader_id for one in metadata.topics[0].partitions}
        if by_describe:
            names = [DescribeTopicPartitionsRequest.Topic(name=topic)]
            described = self.ask(address, DescribeTopicPartitionsRequest(topics=names, rack_id=self.rack or ""), 1)
            self.leaders[topic] = {one.partition_index: one.leader_id for one in described.topics[0].partitions}

    def ask_leader(self, topic: str, partition: int, message: Any, version: int) -> Any:
        """Ask whoever leads the partition, again and again while that fails."""
        for _ in range(MAX_TRIES):
            try:
                if topic not in self.leaders:
                    self.refresh(topic)
                answer = self.ask(self.addresses[self.leaders[topic][partition]], message, version)
                result = answer.responses[0]
                result = (getattr(result, "partition_responses", None) or result.partitions)[0]
                if not result.error_code:
                    return result
            except (OSError, KeyError):
                pass
            self.leaders.pop(topic, None)
            time.sleep(RETRY_S)
        raise TimeoutError(f"{topic}-{partition}")

    def send(self, topic: str, partition: int, record: Record) -> int:
        """Produce one record; gives its offset."""
        part = ProduceRequest.Topic.Partition(index=partition, records=build_batch([record]))
        topics = [ProduceRequest.Topic(name=topic, partition_data=[part])]
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics)
        return int(self.ask_leader(topic, partition, request, PRODUCE_VERSION).base_offset)

    def read(self, topic: str, partition: int, offset: int) -> list[Record]:
        part = FetchRequest.Topic.Partition(
            partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20, current_leader_epoch=-1
        )
        topics = [FetchRequest.Topic(topic=topic, partitions=[part])]
        request = FetchRequest(max_wait_ms=50, min_bytes=1, max_bytes=1 << 25, topics=topics, session_epoch=-1)
        records = self.ask_leader(topic, partition, request, FETCH_VERSION).records
        return [record for record in iter_records(records) if record.offset >= offset]


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionError("the broker closed the connection")
        data += piece
    return bytes(data)


@cache
def client_for(servers: str, rack: str | None, metadata_api: str) -> Client:
    return Client(servers, rack, metadata_api)


def client_from(settings: dict[str, Any]) -> Client:
    return client_for(settings["servers"], settings.get("rack"), settings.get("metadata_api", "Metadata"))


def produce(runs: list[dict[str, Any]]) -> None:
    for run in runs:
        client = client_from(run["settings"])
        answers = []
        for partition, key, value, headers in run["records"]:
            pairs = tuple((name, as_bytes(content)) for name, content in headers)
            record = Record(key=as_bytes(key), value=as_bytes(value), headers=pairs)
            answers.append([partition or 0, client.send(run["topic"], partition or 0, record)])
        say(acknowledged=answers)


def produce_steadily(settings: dict[str, Any], topic: str) -> None:
    client = client_from(settings)
    number = 0
    while not stopped.wait(PAUSE_S):
        partition = number % len(client.leaders.get(topic, "1"))
        offset = client.send(topic, partition, Record(value=str(number).encode()))
        say(acknowledged=str(number), at=[partition, offset])
        number += 1


def consume(settings: dict[str, Any], topics: list[str], count: int | None = None) -> None:
    client = client_from(settings)
    for topic in topics:
        client.refresh(topic)
    next_offsets = {(topic, partition): 0 for topic in topics for partition in sorted(client.leaders[topic])}
    seen, deadline = 0, FOREVER_S
    while time.monotonic() < deadline and not stopped.is_set():
        for (topic, partition), offset in next_offsets.items():
            records = client.read(topic, partition, offset)
            if records:
                say(records=[as_record(topic, partition, record) for record in records])
                next_offsets[topic, partition] = records[-1].offset + 1
                seen += len(records)
        if count is not None and seen >= count:
            count, deadline = None, time.monotonic() + LINGER_S


def as_record(topic: str, partition: int, record: Record) -> list[Any]:
    headers = [[name, as_text(content)] for name, content in record.headers]
    return [topic, partition, record.offset, as_text(record.key), as_text(record.value), headers]
