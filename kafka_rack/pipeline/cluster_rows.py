"""Rows of ``partitions`` and ``brokers``: what was told about the cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka_rack.pipeline.learning import BROKER_REGISTRATION, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS
from kafka_rack.pipeline.rows import FrameDecoder, RowMaker
from kafka_rack.pipeline.traffic import uuid_text
from kafka_rack.pipeline.values import METADATA, UPDATE_METADATA, Asked, Frame

BROKERS = 1
"""DescribeCluster's endpoint type for brokers; 2 is controllers."""


def metadata(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    for broker in message.brokers:
        add_broker(decoder, frame, asked, broker.node_id, broker.rack, broker.host, broker.port)
    add_topics(decoder, frame, asked, message.topics)


def topic_partitions(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    add_topics(decoder, frame, asked, message.topics)


def cluster(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    if message.endpoint_type == BROKERS:
        for broker in message.brokers:
            add_broker(decoder, frame, asked, broker.broker_id, broker.rack, broker.host, broker.port)


def update(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    for broker in message.live_brokers:
        if not broker.endpoints:
            add_broker(decoder, frame, asked, broker.id, broker.rack, broker.v0_host or None, broker.v0_port or None)
        for endpoint in broker.endpoints:
            listener = endpoint.listener or None
            add_broker(decoder, frame, asked, broker.id, broker.rack, endpoint.host, endpoint.port, listener)


def registration(decoder: FrameDecoder, frame: Frame, asked: Asked, message: Any) -> None:
    epoch = message.previous_broker_epoch if message.previous_broker_epoch >= 0 else None
    for listener in message.listeners:
        add_broker(
            decoder,
            frame,
            asked,
            message.broker_id,
            message.rack,
            listener.host,
            listener.port,
            listener.name,
            epoch,
        )


def add_broker(
    decoder: FrameDecoder,
    frame: Frame,
    asked: Asked,
    broker_id: int,
    rack: str | None,
    host: str | None,
    port: int | None,
    listener: str | None = None,
    epoch: int | None = None,
) -> None:
    if "brokers" in decoder.wanted:
        connection = frame.connection
        row = (
            decoder.state.capture,
            frame.ts,
            connection.number,
            broker_id,
            rack,
            host,
            port,
            listener,
            connection.broker,
            epoch,
            frame.index,
        )
        decoder.rows.add("brokers", asked.api_name, row)


def add_topics(decoder: FrameDecoder, frame: Frame, asked: Asked, topics: Iterable[Any]) -> None:
    if "partitions" not in decoder.wanted:
        return
    racks = decoder.state.known.racks
    connection = frame.connection
    where = (
        decoder.state.capture,
        frame.ts,
        connection.number,
        connection.broker,
        connection.rack,
        connection.client,
        asked.client_id,
    )
    rows = decoder.rows.tables["partitions"][asked.api_name]
    for topic in topics:
        topic_id = uuid_text(topic.topic_id)
        if not topic.partitions:
            empty: tuple[Any, ...] = (None, None, None, None, [], [], [], [])
            rows.append((*where, topic.name, topic_id, *empty, topic.error_code, frame.index))
        for one in topic.partitions:
            rows.append(
                (
                    *where,
                    topic.name,
                    topic_id,
                    one.partition_index,
                    one.leader_id if one.leader_id >= 0 else None,
                    racks.get(one.leader_id),
                    one.leader_epoch if one.leader_epoch >= 0 else None,
                    list(one.replica_nodes),
                    [racks.get(replica) for replica in one.replica_nodes],
                    list(one.isr_nodes),
                    list(one.offline_replicas),
                    one.error_code,
                    frame.index,
                )
            )


REQUESTS: dict[int, RowMaker] = {UPDATE_METADATA: update, BROKER_REGISTRATION: registration}
RESPONSES: dict[int, RowMaker] = {
    METADATA: metadata,
    DESCRIBE_TOPIC_PARTITIONS: topic_partitions,
    DESCRIBE_CLUSTER: cluster,
}
