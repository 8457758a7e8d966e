"""Rows of ``partitions``, ``brokers`` and ``settings``: what messages report about the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kafka_rack.wire_capture.frames import (
    API_VERSIONS,
    METADATA,
    UPDATE_METADATA,
    Frame,
    PendingRequest,
    name_of_api,
)
from kafka_rack.wire_capture.learning import BROKER_REGISTRATION, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS
from kafka_rack.wire_tables.rows import NONE, PACK, Target
from protocol.uuids import uuid_to_text

NO_UUID = bytes(16)
DESCRIBE_CONFIGS = 32
RESOURCES = {2: "topic", 4: "broker", 8: "broker_logger", 16: "client_metrics", 32: "group"}
"""ConfigResource.Type, Apache Kafka 4.1."""
BROKERS = 1
"""DescribeCluster's endpoint type for brokers; 2 is controllers."""


def metadata(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    for broker in message.brokers:
        add_broker(target, frame, asked, broker.node_id, broker.rack, broker.host, broker.port)
    add_topics(target, frame, asked, message.topics)


def topic_partitions(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    add_topics(target, frame, asked, message.topics)


def cluster(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    if message.endpoint_type == BROKERS:
        for broker in message.brokers:
            add_broker(target, frame, asked, broker.broker_id, broker.rack, broker.host, broker.port)


def update(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    for broker in message.live_brokers:
        if not broker.endpoints:
            add_broker(target, frame, asked, broker.id, broker.rack, broker.v0_host or None, broker.v0_port or None)
        for endpoint in broker.endpoints:
            listener = endpoint.listener or None
            add_broker(target, frame, asked, broker.id, broker.rack, endpoint.host, endpoint.port, listener)


def registration(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    epoch = message.previous_broker_epoch if message.previous_broker_epoch >= 0 else None
    for listener in message.listeners:
        place = listener.host, listener.port, listener.name
        add_broker(target, frame, asked, message.broker_id, message.rack, *place, epoch)


def configs(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    for found in message.results:
        for config in found.configs:
            row = config_setting(found.resource_type, found.resource_name, config.name, config.value)
            add_setting(target, frame, asked, row)


def versions(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    for api in message.api_keys:
        add_setting(target, frame, asked, api_setting(api.api_key, api.min_version, api.max_version))
    for feature in message.finalized_features:
        add_setting(target, frame, asked, feature_setting(feature.name, feature.max_version_level))


def software(target: Target, frame: Frame, asked: PendingRequest, message: Any) -> None:
    said = message.client_software_name, message.client_software_version
    add_setting(target, frame, asked, software_setting(asked.kind.client_id, *said))


Setting = tuple[str, str, str, str | None]
"""Resource, its name, name and value of a setting."""


def config_setting(resource_type: int, resource_name: str, name: str, value: str | None) -> Setting:
    return RESOURCES.get(resource_type, str(resource_type)), resource_name, name, value


def api_setting(api_key: int, lowest: int, highest: int) -> Setting:
    return "api", "", name_of_api(api_key), f"{lowest}-{highest}"


def feature_setting(name: str, level: int) -> Setting:
    return "feature", "", name, str(level)


def software_setting(client_id: str | None, name: str, version: str) -> Setting:
    return "client", client_id or "", name, version


def add_setting(target: Target, frame: Frame, asked: PendingRequest, setting: Setting) -> None:
    if "settings" in target.wanted:
        row = target.place(frame.connection), frame.ts, *setting, frame.index
        target.rows.add("settings", asked.kind.api_name, row)


def add_broker(
    target: Target,
    frame: Frame,
    asked: PendingRequest,
    broker_id: int,
    rack: str | None,
    host: str | None,
    port: int | None,
    listener: str | None = None,
    epoch: int | None = None,
) -> None:
    """A broker's row. A message that names no rack, as brokers before 0.10 send it, takes back none named before."""
    if "brokers" in target.wanted:
        connection = frame.connection
        rack = rack if rack is not None else target.known.racks.get(broker_id)
        node = target.rows.shared["node"][broker_id, rack, host, port, listener, epoch]
        row = target.place(connection), node, frame.ts, connection.broker, frame.index
        target.rows.add("brokers", asked.kind.api_name, row)


def add_topics(target: Target, frame: Frame, asked: PendingRequest, topics: Iterable[Any]) -> None:
    if "partitions" not in target.wanted:
        return
    place, kind = target.place(frame.connection), target.kind(asked.kind)
    rows, pack = target.rows.tables["partitions"][asked.kind.api_name], PACK["partitions"]
    parts, leading = target.rows.shared["part"], target.rows.shared["leading"]
    for topic in topics:
        name, topic_id = topic.name, topic.topic_id
        text = uuid_to_text(topic_id) if topic_id != NO_UUID else None
        if not topic.partitions:
            part, no_leader = parts[name, None, text], leading[None, None]
            layout = target.rows.shared["layout"][(), (), (), ()]
            rows += pack(place, kind, part, no_leader, layout, frame.ts, NONE, topic.error_code, frame.index)
        for one in topic.partitions:
            part = parts[name, one.partition_index, text]
            leader = one.leader_id if one.leader_id >= 0 else None
            leader_number = leading[leader, target.known.racks.get(one.leader_id)]
            epoch = one.leader_epoch if one.leader_epoch >= 0 else NONE
            layout = layout_of(target, one)
            rows += pack(place, kind, part, leader_number, layout, frame.ts, epoch, one.error_code, frame.index)


def layout_of(target: Target, partition: Any) -> int:
    """The number of where a partition's replicas are, and in which racks."""
    known = target.known.racks
    replicas = tuple(partition.replica_nodes)
    racks = tuple([known.get(replica) for replica in replicas])
    return target.rows.shared["layout"][replicas, racks, tuple(partition.isr_nodes), tuple(partition.offline_replicas)]


REQUESTS: dict[int, Callable[[Target, Frame, PendingRequest, Any], None]] = {
    UPDATE_METADATA: update,
    BROKER_REGISTRATION: registration,
    API_VERSIONS: software,
}
RESPONSES: dict[int, Callable[[Target, Frame, PendingRequest, Any], None]] = {
    METADATA: metadata,
    DESCRIBE_TOPIC_PARTITIONS: topic_partitions,
    DESCRIBE_CLUSTER: cluster,
    DESCRIBE_CONFIGS: configs,
    API_VERSIONS: versions,
}
