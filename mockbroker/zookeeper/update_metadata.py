"""UpdateMetadata (key 6): the controller sends a broker the live brokers and partition states. In ZooKeeper mode only.

Both directions: makes the controller's requests, and handles them at a broker.
Writes the broker's metadata cache. Errors: STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH.
Source: KIP-36, KIP-380; KafkaApis.handleUpdateMetadataRequest, ReplicaManager.maybeUpdateMetadataCache.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from kafka_rack.broker_registration import SECURITY_PROTOCOL
from mockbroker.api import Needs, handles
from mockbroker.call import Call
from mockbroker.state.metadata.cache import Address, CachedBroker, PartitionState, TopicPartitionState
from mockbroker.zookeeper.controller import MetadataUpdate
from protocol.apis.controller import UpdateMetadataPartitionState, UpdateMetadataRequest, UpdateMetadataResponse
from protocol.error_codes import ErrorCode

NO_EPOCH = -1
NUMBERS = ("controller_epoch", "leader", "leader_epoch", "zk_version")
LISTS = ("isr", "replicas", "offline_replicas")
"""The fields of a partition's state, named alike in the request and in the cache."""
GROUPED_VERSION = 5  # partitions by topic, and the broker's epoch
LISTENER_VERSION = 3
RACK_VERSION = 2
GENERATED_SINCE = "2.4"
"""The release whose generated classes read a missing rack as an empty string; earlier code reads null."""


@handles(UpdateMetadataRequest, access=Needs(cluster="ClusterAction"))
def update_metadata(call: Call, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
    """Update the broker's cache, unless the controller or the broker epoch is older than the current one."""
    zookeeper = call.cluster.other_mode
    assert zookeeper is not None
    cache = zookeeper.caches[call.broker.id]
    if request.controller_epoch < cache.controller_epoch:
        return UpdateMetadataResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    if NO_EPOCH != request.broker_epoch < zookeeper.broker_epoch(call.broker.id):
        return UpdateMetadataResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    without_rack = "" if zookeeper.running[call.broker.id].since(GENERATED_SINCE) else None
    brokers = [
        live_broker(call.version, broker, without_rack)
        for broker in request.live_brokers
        if call.version == 0 or broker.endpoints  # a broker without an address is not cached
    ]
    cache.update(request.controller_id, request.controller_epoch, brokers, read_partition_states(call.version, request))
    call.cluster.notify(cache)
    return UpdateMetadataResponse()


def live_broker(version: int, broker: UpdateMetadataRequest.Broker, without_rack: str | None) -> CachedBroker:
    """A broker as sent in one version: 0 has one address, and below 2 its rack is ``without_rack``."""
    rack = broker.rack if version >= RACK_VERSION else without_rack
    if version == 0:
        return CachedBroker(broker.id, (Address(SECURITY_PROTOCOL, broker.v0_host, broker.v0_port),), rack)
    addresses = tuple(
        Address(one.listener if version >= LISTENER_VERSION else SECURITY_PROTOCOL, one.host, one.port)
        for one in broker.endpoints
    )
    return CachedBroker(broker.id, addresses, rack)


def read_partition_states(version: int, request: UpdateMetadataRequest) -> Iterator[TopicPartitionState]:
    if version < GROUPED_VERSION:
        for one in request.ungrouped_partition_states:
            yield TopicPartitionState(one.topic_name, bytes(16), one.partition_index, read_state(one))
        return
    for topic in request.topic_states:
        for one in topic.partition_states:
            yield TopicPartitionState(topic.topic_name, topic.topic_id, one.partition_index, read_state(one))


def read_state(state: UpdateMetadataPartitionState) -> PartitionState:
    numbers: dict[str, Any] = {name: getattr(state, name) for name in NUMBERS}
    lists: dict[str, Any] = {name: tuple(getattr(state, name)) for name in LISTS}
    return PartitionState(index=state.partition_index, **numbers, **lists)


def request_of(update: MetadataUpdate) -> UpdateMetadataRequest:
    """The request of an update, to be encoded in the update's version."""
    request = UpdateMetadataRequest(
        controller_id=update.controller_id,
        controller_epoch=update.controller_epoch,
        live_brokers=[written_broker(update.version, broker) for broker in update.live_brokers],
    )
    if update.version < GROUPED_VERSION:
        request.ungrouped_partition_states = written_states(update.partitions, with_topic=True)
        return request
    request.broker_epoch = update.broker_epoch
    request.topic_states = [
        UpdateMetadataRequest.TopicState(
            topic_name=name, topic_id=topic_id, partition_states=written_states(partitions, with_topic=False)
        )
        for (name, topic_id), partitions in groupby(update.partitions, lambda one: (one.topic, one.topic_id))
    ]
    return request


def written_broker(version: int, broker: CachedBroker) -> UpdateMetadataRequest.Broker:
    if version == 0:
        address = broker.listener(SECURITY_PROTOCOL)
        return UpdateMetadataRequest.Broker(id=broker.id, v0_host=address.host, v0_port=address.port)
    endpoints = [
        UpdateMetadataRequest.Broker.Endpoint(port=one.port, host=one.host, listener=one.listener)
        for one in broker.addresses
    ]
    return UpdateMetadataRequest.Broker(id=broker.id, endpoints=endpoints, rack=broker.rack)


def written_states(
    partitions: Iterable[TopicPartitionState], *, with_topic: bool
) -> list[UpdateMetadataPartitionState]:
    found = []
    for one in partitions:
        numbers: dict[str, Any] = {name: getattr(one.state, name) for name in NUMBERS}
        lists: dict[str, Any] = {name: list(getattr(one.state, name)) for name in LISTS}
        name = one.topic if with_topic else ""
        found.append(UpdateMetadataPartitionState(topic_name=name, partition_index=one.partition, **numbers, **lists))
    return found
