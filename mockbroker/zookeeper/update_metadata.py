"""UpdateMetadata (key 6): the controller sends a broker the live brokers and partition states. In ZooKeeper mode only.

Both directions: makes the controller's requests, and handles them at a broker.
Writes the broker's metadata cache. Errors: STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH.
Source: KIP-36, KIP-380; KafkaApis.handleUpdateMetadataRequest, ReplicaManager.maybeUpdateMetadataCache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from kafka_rack.broker_registration import SECURITY_PROTOCOL
from mockbroker.api import Needs, handles
from mockbroker.call import Call
from mockbroker.state.metadata import Address, CachedBroker, PartitionState, TopicPartitionState
from protocol.apis.controller import UpdateMetadataPartitionState, UpdateMetadataRequest, UpdateMetadataResponse
from protocol.error_codes import ErrorCode

NO_EPOCH = -1
GROUPED_VERSION = 5  # partitions by topic, and the broker's epoch
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
    cache.update(request.controller_id, request.controller_epoch, brokers, read_partition_states(request))
    call.cluster.notify(cache)
    return UpdateMetadataResponse()


def live_broker(version: int, broker: UpdateMetadataRequest.Broker, without_rack: str | None) -> CachedBroker:
    """A broker as sent in one version: 0 has one address, and below 2 its rack is ``without_rack``."""
    addresses = [Address(one.listener or SECURITY_PROTOCOL, one.host, one.port) for one in broker.endpoints]
    if version == 0:
        addresses = [Address(SECURITY_PROTOCOL, broker.v0_host, broker.v0_port)]
    return CachedBroker(broker.id, tuple(addresses), broker.rack if version >= RACK_VERSION else without_rack)


def read_partition_states(request: UpdateMetadataRequest) -> Iterator[TopicPartitionState]:
    for one in request.ungrouped_partition_states:
        yield TopicPartitionState(one.topic_name, bytes(16), read_state(one))
    for topic in request.topic_states:
        for one in topic.partition_states:
            yield TopicPartitionState(topic.topic_name, topic.topic_id, read_state(one))


def read_state(state: Any) -> PartitionState:
    values = msgspec.structs.asdict(state) | {"partition_epoch": state.zk_version, "index": state.partition_index}
    return msgspec.convert(values, PartitionState)


class MetadataUpdate(NamedTuple):
    """An update for one broker: all live brokers, and the partitions whose state the broker does not know."""

    broker_id: int
    broker_epoch: int
    version: int
    controller_id: int
    controller_epoch: int
    live_brokers: tuple[CachedBroker, ...]
    partitions: tuple[TopicPartitionState, ...]

    def request(self) -> UpdateMetadataRequest:
        """The UpdateMetadata request of this update, to be encoded in the update's version."""
        request = UpdateMetadataRequest(
            controller_id=self.controller_id,
            controller_epoch=self.controller_epoch,
            broker_epoch=self.broker_epoch,
            live_brokers=[written_broker(broker) for broker in self.live_brokers],
        )
        if self.version < GROUPED_VERSION:
            request.ungrouped_partition_states = list(map(written_state, self.partitions))
            return request
        request.topic_states = [
            UpdateMetadataRequest.TopicState(
                topic_name=name, topic_id=topic_id, partition_states=list(map(written_state, partitions))
            )
            for (name, topic_id), partitions in groupby(self.partitions, lambda one: (one.topic, one.topic_id))
        ]
        return request


def written_broker(broker: CachedBroker) -> UpdateMetadataRequest.Broker:
    first = broker.listener(SECURITY_PROTOCOL)
    endpoints = [
        UpdateMetadataRequest.Broker.Endpoint(port=one.port, host=one.host, listener=one.listener)
        for one in broker.addresses
    ]
    return UpdateMetadataRequest.Broker(
        id=broker.id, v0_host=first.host, v0_port=first.port, endpoints=endpoints, rack=broker.rack
    )


def written_state(one: TopicPartitionState) -> UpdateMetadataPartitionState:
    found = msgspec.convert(one.state, UpdateMetadataPartitionState, from_attributes=True)
    found.topic_name, found.partition_index, found.zk_version = one.topic, one.state.index, one.state.partition_epoch
    return found
