"""What a broker in ZooKeeper mode answers to Metadata: what the controller told it, and nothing else.

A topic that exists but that the broker was not told of yet has no leader; a broker whose rack did not come along has
none.

Reads the broker's metadata cache; writes cluster.topics when it auto-creates.
Errors, per topic: LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION and what else keeps a topic
from being created; per partition: LEADER_NOT_AVAILABLE, and REPLICA_NOT_AVAILABLE in v0.
Source: KafkaApis.handleTopicMetadataRequest and MetadataCache, Kafka 0.9 and 0.10; ZkMetadataCache, Apache Kafka 3.9.
"""

from __future__ import annotations

from mockbroker.call import Call
from mockbroker.state.errors import ApiError
from mockbroker.state.topics.topic import INTERNAL_TOPICS, NO_LEADER, check_topic_name
from mockbroker.state.zookeeper.metadata_cache import MetadataCache, PartitionState
from protocol import ZERO_UUID
from protocol.apis.metadata import MetadataRequest, MetadataResponse
from protocol.error_codes import ErrorCode

ISR_WITHOUT_LEADER = "2.4"
"""The release since which a partition without a leader shows its ISR."""


def cache_of(call: Call) -> MetadataCache:
    """What the broker that was called has been told."""
    assert call.cluster.zookeeper is not None
    return call.cluster.zookeeper.caches[call.broker.id]


def told_metadata(call: Call, request: MetadataRequest) -> MetadataResponse:
    """The brokers and the topics asked for, as the broker was told."""
    cache = cache_of(call)
    return MetadataResponse(
        brokers=told_brokers(call, cache),
        cluster_id=call.cluster.id,
        controller_id=cache.controller_id,
        topics=told_topics(call, cache, request),
    )


def told_brokers(call: Call, cache: MetadataCache) -> list[MetadataResponse.Broker]:
    """The live brokers with the addresses of the listener that the client came in by."""
    entries = []
    for broker_id in sorted(cache.brokers):
        broker = cache.brokers[broker_id]
        address = broker.address(call.session.listener)
        entries.append(
            MetadataResponse.Broker(node_id=broker_id, host=address.host, port=address.port, rack=broker.rack)
        )
    return entries


def told_topics(call: Call, cache: MetadataCache, request: MetadataRequest) -> list[MetadataResponse.Topic]:
    if request.topics is None or (call.version == 0 and not request.topics):
        return [told_topic(call, cache, name) for name in sorted(cache.topics)]
    names = {topic_id: name for name, topic_id in cache.topic_ids.items() if topic_id != ZERO_UUID}
    entries = []
    for wanted in request.topics:
        name = wanted.name or names.get(wanted.topic_id)
        if name is None:
            entries.append(
                MetadataResponse.Topic(
                    name=None if call.version >= 12 else "",
                    topic_id=wanted.topic_id,
                    error_code=ErrorCode.UNKNOWN_TOPIC_ID,
                )
            )
        elif name in cache.topics:
            entries.append(told_topic(call, cache, name))
        else:
            error = untold(call, name, may_create=request.allow_auto_topic_creation)
            entries.append(MetadataResponse.Topic(name=name, is_internal=name in INTERNAL_TOPICS, error_code=error))
    return entries


def untold(call: Call, name: str, may_create: bool) -> int:
    """Why a topic cannot be shown. Where topics are created on demand it is created, and shown once it was told."""
    cluster = call.cluster
    try:
        check_topic_name(name)
        if not (may_create and cluster.settings["auto.create.topics.enable"]):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if name not in cluster.topics:
            cluster.create_topic(name, requesting_broker_id=call.broker.id)
    except ApiError as error:
        return error.code
    return ErrorCode.LEADER_NOT_AVAILABLE


def told_topic(call: Call, cache: MetadataCache, name: str) -> MetadataResponse.Topic:
    states = cache.topics[name]
    return MetadataResponse.Topic(
        name=name,
        topic_id=cache.topic_ids[name],
        is_internal=name in INTERNAL_TOPICS,
        partitions=[told_partition(call, cache, index, states[index]) for index in sorted(states)],
    )


def told_partition(
    call: Call, cache: MetadataCache, index: int, state: PartitionState
) -> MetadataResponse.Topic.Partition:
    """One partition; version 0 shows only live replicas, and says so where some are not."""
    replicas, isr, leader = list(state.replicas), list(state.isr), state.leader
    error = ErrorCode.NONE
    if call.version == 0:
        replicas = [replica for replica in replicas if replica in cache.brokers]
        isr = [replica for replica in isr if replica in cache.brokers]
        if len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
    if leader not in cache.brokers:
        leader, error = NO_LEADER, ErrorCode.LEADER_NOT_AVAILABLE
        assert call.cluster.zookeeper is not None
        if not call.cluster.zookeeper.running[call.broker.id].since(ISR_WITHOUT_LEADER):
            isr = []
    return MetadataResponse.Topic.Partition(
        error_code=error,
        partition_index=index,
        leader_id=leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=list(state.offline_replicas),
    )
