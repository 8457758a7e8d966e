"""Captures that a test writes itself, frame by frame, and their locality without Spark."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kafka_rack.locality import Prices, RackRules
from kafka_rack.locality.captures import capture_flows
from kafka_rack.locality.traffic import TrafficSums, traffic_row
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from protocol.apis.configs import DescribeConfigsRequest, DescribeConfigsResponse
from protocol.apis.fetch import FetchRequest, FetchResponse
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.apis.produce import ProduceRequest, ProduceResponse
from protocol.headers import request_frame, response_frame
from protocol.records import Record, build_batch

START = 1_700_000_000_000_000
SECOND = 1_000_000
RACKS = ("az-a", "az-b", "az-c")


class Written:
    """A capture of three brokers, 0 to 2, in the racks az-a, az-b and az-c."""

    def __init__(self) -> None:
        routes = [{"listener": "CLIENT", "broker": broker, "rack": rack} for broker, rack in enumerate(RACKS)]
        self.lines: list[dict[str, Any]] = [
            {
                "ev": "capture",
                "format": 1,
                "name": "written",
                "desc": "",
                "kafka": "",
                "started": START,
                "routes": routes,
            }
        ]
        self.conn = self.correlation = 0

    def open(self, broker: int, client: str = "10.0.0.1:5000") -> int:
        self.conn += 1
        opened = {"ev": "open", "conn": self.conn, "broker": broker, "listener": "CLIENT", "client": client}
        self.lines.append({"t": START, **opened})
        return self.conn

    def call(
        self, conn: int, at: int, client_id: str, request: Any, response: Any, version: int, *, took: int = 1_000
    ) -> None:
        """A request ``at`` microseconds from the start, and its response unless that is None."""
        self.correlation += 1
        asked = request_frame(request, version, correlation_id=self.correlation, client_id=client_id)
        self.line(at, conn, "req", asked)
        if response is not None:
            self.line(at + took, conn, "resp", response_frame(response, version, correlation_id=self.correlation))

    def line(self, at: int, conn: int, way: str, frame: bytes) -> None:
        data = frame[4:]
        text = base64.b64encode(data).decode()
        self.lines.append({"t": START + at, "conn": conn, "dir": way, "n": len(data), "data": text})

    def save(self, folder: Path, name: str = "written") -> Path:
        """Into a file, in order of time."""
        lines = [self.lines[0], *sorted(self.lines[1:], key=lambda line: line["t"])]
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def metadata(
        self,
        conn: int,
        at: int,
        topic: str,
        leaders: list[int],
        *,
        in_sync: list[int],
        client_id: str = "admin",
        racks: Sequence[str | None] = RACKS,
        replicas: Sequence[int] = (0, 1, 2),
        topic_id: bytes = bytes(16),
    ) -> None:
        """What a broker returns: a topic's leaders, the replicas of each partition, and those of them in sync."""
        partitions = [
            MetadataResponse.Topic.Partition(
                error_code=0,
                partition_index=number,
                leader_id=leader,
                leader_epoch=1,
                replica_nodes=list(replicas),
                isr_nodes=in_sync,
            )
            for number, leader in enumerate(leaders)
        ]
        brokers = [
            MetadataResponse.Broker(node_id=broker, host=f"b{broker}", port=9092, rack=rack)
            for broker, rack in enumerate(racks)
        ]
        told = MetadataResponse.Topic(error_code=0, name=topic, topic_id=topic_id, partitions=partitions)
        response = MetadataResponse(brokers=brokers, topics=[told])
        self.call(conn, at, client_id, MetadataRequest(topics=None), response, 12 if any(topic_id) else 8)

    def configs(self, at: int, kind: int, name: str, **configs: str | None) -> None:
        """What DescribeConfigs returns of a topic (kind 2) or a broker (4); ``_`` in a setting's name is a dot."""
        result = DescribeConfigsResponse.Result
        values = [
            result.Config(
                name=key.replace("_", "."), value=value, read_only=False, is_default=False, is_sensitive=False
            )
            for key, value in configs.items()
        ]
        found = result(error_code=0, error_message=None, resource_type=kind, resource_name=name, configs=values)
        response = DescribeConfigsResponse(results=[found])
        self.call(self.open(0), at, "admin", DescribeConfigsRequest(resources=[]), response, 1)

    def produce(self, conn: int, at: int, client_id: str, topic: str, partition: int, records: bytes) -> None:
        sent = ProduceRequest.Topic.Partition(index=partition, records=records)
        request = ProduceRequest(
            acks=-1, timeout_ms=1_000, topic_data=[ProduceRequest.Topic(name=topic, partition_data=[sent])]
        )
        result = ProduceResponse.Topic.Partition(index=partition, error_code=0, base_offset=0)
        response = ProduceResponse(responses=[ProduceResponse.Topic(name=topic, partition_responses=[result])])
        self.call(conn, at, client_id, request, response, 8)

    def fetch(
        self,
        conn: int,
        at: int,
        client_id: str,
        topic: str,
        partition: int,
        records: bytes | None,
        *,
        rack: str = "",
        replica: int = -1,
        answered: bool = True,
    ) -> None:
        asked = FetchRequest.Topic.Partition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=replica,
            max_wait_ms=500,
            min_bytes=1,
            rack_id=rack,
            topics=[FetchRequest.Topic(topic=topic, partitions=[asked])],
        )
        found = FetchResponse.Topic.Partition(
            partition_index=partition, error_code=0, high_watermark=0, aborted_transactions=None, records=records
        )
        response = FetchResponse(session_id=0, responses=[FetchResponse.Topic(topic=topic, partitions=[found])])
        self.call(conn, at, client_id, request, response if answered else None, 11)

    def fetch_by_id(self, conn: int, at: int, client_id: str, topic_id: bytes, partition: int, records: bytes) -> None:
        """A fetch of version 13, which names topics by their ids."""
        asked = FetchRequest.Topic.Partition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
        topics = [FetchRequest.Topic(topic_id=topic_id, partitions=[asked])]
        found = FetchResponse.Topic.Partition(
            partition_index=partition, error_code=0, high_watermark=0, aborted_transactions=None, records=records
        )
        response = FetchResponse(session_id=0, responses=[FetchResponse.Topic(topic_id=topic_id, partitions=[found])])
        self.call(conn, at, client_id, FetchRequest(max_wait_ms=500, min_bytes=1, topics=topics), response, 13)


def batch_of(size_bytes: int) -> bytes:
    """A record batch of exactly so many bytes: one record without a key."""
    value = size_bytes
    while len(batch := build_batch([Record(timestamp=0, value=bytes(value))])) > size_bytes:
        value -= len(batch) - size_bytes
    assert len(batch) == size_bytes
    return batch


def traffic(
    folder: Path, window_us: int = SECOND, rules: RackRules | None = None, prices: Prices | None = None
) -> list[dict[str, Any]]:
    """The rows of ``traffic`` of the captures in a folder, as this process makes them."""
    rows = []
    for file in find_files([str(folder)])[0]:
        flows = capture_flows(file, Options(), window_us).flows
        sums = TrafficSums(flows.evidence.conclude(rules), rules)
        sums.add_flows(flows)
        rows += [traffic_row(key, amounts, prices or Prices()) for key, amounts in sums.amounts.items()]
    return rows
