"""Facts in frames about the cluster: names of topic ids, leaders, brokers' racks and addresses.

The same is learned whether a frame is decoded for its rows or passed over on the way to a later part of its file.
"""

from __future__ import annotations

from typing import Any

from kafka_rack.wire_capture.bodies import read_request, read_response
from kafka_rack.wire_capture.frames import METADATA, UPDATE_METADATA, Frame, ObservedCluster
from protocol.errors import ProtocolError

CREATE_TOPICS, DESCRIBE_CLUSTER, BROKER_REGISTRATION, DESCRIBE_TOPIC_PARTITIONS = 19, 60, 62, 75
REPORTING_REQUESTS = frozenset({UPDATE_METADATA, BROKER_REGISTRATION})
REPORTING_RESPONSES = frozenset({METADATA, CREATE_TOPICS, DESCRIBE_CLUSTER, DESCRIBE_TOPIC_PARTITIONS})
NO_UUID = bytes(16)


def learn_from(frame: Frame, known: ObservedCluster) -> None:
    """Learn from a frame; frames of APIs that report nothing about the cluster are not decoded."""
    asked = frame.asked
    if asked is None:
        return
    api_key = asked.kind.api_key
    if api_key not in (REPORTING_REQUESTS if frame.is_request else REPORTING_RESPONSES):
        return
    try:
        message = (read_request(asked) if frame.is_request else read_response(asked, frame.data))[0]
    except ProtocolError:
        return
    learn(api_key, frame.is_request, message, known)


def learn(api_key: int, is_request: bool, message: Any, known: ObservedCluster) -> None:
    """Store the facts about the cluster in a message. Later messages win."""
    if is_request:
        if api_key == UPDATE_METADATA:
            learn_update(message, known)
        elif api_key == BROKER_REGISTRATION:
            known.name_rack(message.broker_id, message.rack)
            for listener in message.listeners:
                known.name_endpoint(listener.host, listener.port, message.broker_id)
        return
    if api_key == METADATA:
        for broker in message.brokers:
            learn_broker(broker.node_id, broker, known)
        learn_topics(message.topics, known)
    elif api_key == DESCRIBE_TOPIC_PARTITIONS:
        learn_topics(message.topics, known)
    elif api_key == DESCRIBE_CLUSTER and message.endpoint_type == 1:
        for broker in message.brokers:
            learn_broker(broker.broker_id, broker, known)
    elif api_key == CREATE_TOPICS:
        for topic in message.topics:
            if topic.topic_id != NO_UUID and not topic.error_code:
                known.name_topic(topic.topic_id, topic.name)


def learn_broker(broker_id: int, broker: Any, known: ObservedCluster) -> None:
    if broker_id < 0:
        return
    known.name_rack(broker_id, broker.rack)
    known.name_endpoint(broker.host, broker.port, broker_id)


def learn_topics(topics: Any, known: ObservedCluster) -> None:
    for topic in topics:
        if topic.name is None:
            continue
        if topic.topic_id != NO_UUID:
            known.name_topic(topic.topic_id, topic.name)
        known.name_leaders(topic.name, ((one.partition_index, one.leader_id) for one in topic.partitions))
        for one in topic.partitions:
            if not one.error_code:
                known.name_in_sync(topic.name, one.partition_index, tuple(one.isr_nodes))


def learn_update(message: Any, known: ObservedCluster) -> None:
    for broker in message.live_brokers:
        known.name_rack(broker.id, broker.rack)
        for endpoint in broker.endpoints:
            known.name_endpoint(endpoint.host, endpoint.port, broker.id)
    for partition in message.ungrouped_partition_states:
        known.name_leaders(partition.topic_name, [(partition.partition_index, partition.leader)])
    for topic in message.topic_states:
        if topic.topic_id != NO_UUID:
            known.name_topic(topic.topic_id, topic.topic_name)
        known.name_leaders(topic.topic_name, ((one.partition_index, one.leader) for one in topic.partition_states))
