"""Looks up a partition and checks that this broker serves it: for Produce, Fetch, ListOffsets, OffsetForLeaderEpoch.

The cluster's profile of ``kafka_rack.diskless`` chooses the leaders of diskless partitions for each client, and the
brokers that serve its requests.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

from kafka_rack.diskless import DisklessBrokers, DisklessClient, DisklessPartition
from mockbroker.call import Call, Wait
from mockbroker.state.errors import ApiError
from mockbroker.state.metadata import KnownBroker
from mockbroker.state.topics.topic import NO_LEADER, Partition
from protocol.error_codes import ErrorCode

NO_EPOCH = -1
Answer = TypeVar("Answer")

READ_UNCOMMITTED, READ_COMMITTED = 0, 1  # isolation levels
LEADER_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
"""The errors whose answer has the leader and its address (KIP-951)."""


def find_partition(call: Call, topic_key: str | bytes, index: int) -> Partition:
    """The partition of a topic, by the topic's name or id.

    Raises ApiError: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, and the error of a fault that matches it.
    """
    cluster = call.cluster
    name = cluster.find_topic(None, topic_key).name if isinstance(topic_key, bytes) else topic_key
    if call.injected is not None and (code := call.injected.error_of(name, index)) is not None:
        raise ApiError(code)
    partition = cluster.find_partition(name, index)
    if partition.topic.is_internal:
        cluster.internal_topics.open(partition)
    return partition


def check_isolation_level(level: int) -> None:
    """Raises ApiError: UNKNOWN_SERVER_ERROR for an unknown level, on which Kafka fails."""
    if level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, f"expected isolation level 0 or 1, got {level}")


def is_known(call: Call, topic_key: str | bytes) -> bool:
    """True if a topic has this name or id."""
    cluster = call.cluster
    return topic_key in (cluster.topic_by_id if isinstance(topic_key, bytes) else cluster.topics)


def served_by(call: Call, partition: Partition, leader_epoch: int = NO_EPOCH, *, followers_too: bool = False) -> None:
    """Check that this broker serves the partition, as far as it knows: as its leader, or, if diskless, by its profile.

    The checks run in Kafka's order: the broker has a replica, the epochs match, the broker is the leader.

    Args:
        leader_epoch: the one that the client knows, -1 for none (KIP-320).
        followers_too: accepts a broker with another replica, as for consumers since KIP-392.

    Raises ApiError: NOT_LEADER_OR_FOLLOWER; KAFKA_STORAGE_ERROR if the partition's log directory has failed;
        UNKNOWN_TOPIC_OR_PARTITION if the broker was disconnected before the partition was created; FENCED_LEADER_EPOCH
        for an older epoch, UNKNOWN_LEADER_EPOCH for a newer one.
    Source: ReplicaManager.getPartitionOrException and Partition.getLocalLog, Apache Kafka 4.4.
    """
    broker_id = call.broker.id
    if broker_id in partition.overrides.offline:
        raise ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"the log directory of {partition.topic.name}-{partition.index} on broker {broker_id} is full",
        )
    known = call.leadership(partition)
    has_replica = broker_id in known.replicas
    is_served = (
        known.leader == broker_id
        or (followers_too and has_replica and known.leader != NO_LEADER)
        or (partition.topic.diskless and call.broker.is_running and is_taken(call, partition, reading=followers_too))
    )
    if leader_epoch not in (NO_EPOCH, known.leader_epoch) and (is_served or has_replica):
        raise ApiError(
            ErrorCode.FENCED_LEADER_EPOCH if leader_epoch < known.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH,
            f"leader epoch {leader_epoch}, but the current one is {known.leader_epoch}",
        )
    if is_served:
        return
    if not known.replicas and not partition.topic.diskless:
        raise ApiError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"broker {broker_id} is disconnected and does not know {partition.topic.name}-{partition.index}",
        )
    raise ApiError(
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        f"broker {broker_id} does not lead {partition.topic.name}-{partition.index}, {known.leader} does",
    )


def name_leader(call: Call, partition: Partition, entry: Any) -> None:
    """Set the current leader in a partition's entry (KIP-951); a diskless partition may have none."""
    known = call.leadership(partition)
    leader, epoch = known.leader, known.leader_epoch
    if partition.topic.diskless:
        leader = diskless_leader(call, partition)
        epoch = NO_EPOCH if leader == NO_LEADER else epoch
    entry.current_leader.leader_id, entry.current_leader.leader_epoch = leader, epoch


def readable_end(call: Call, partition: Partition, *, committed_only: bool) -> int:
    """The end of the records that consumers can read, as this leader knows it: the high watermark or, of committed
    records, the last stable offset.
    """
    own = call.own_copy(partition)
    return own.last_stable_offset(own.high_watermark) if committed_only else own.high_watermark


def node_endpoints(call: Call, entries: Iterable[Any], entry_class: Any) -> list[Any]:
    """The addresses of the leaders that failed partitions' entries name, each once, in the order of ids (KIP-951)."""
    leaders = {entry.current_leader.leader_id for entry in entries if entry.error_code in LEADER_MOVED} - {NO_LEADER}
    return [endpoint(call, call.cluster.brokers[broker_id], entry_class) for broker_id in sorted(leaders)]


def endpoint(call: Call, broker: KnownBroker, entry_class: Any) -> Any:
    """A broker with its rack, and its address on the client's listener."""
    listener = broker.listener(call.session.listener)
    return entry_class(node_id=broker.id, host=listener.host, port=listener.port, rack=broker.rack)


def when_done(
    call: Call,
    response: Answer,
    written: Sequence[Any],
    until_ms: int,
    is_done: Callable[[Call, Any], bool],
    time_out: Callable[[Any], None],
    on: Hashable = None,
) -> Answer | Wait:
    """The response, once ``is_done`` for all that was written; after ``until_ms``, the rest has timed out.

    Changes of ``on`` continue the call; None: those of the ``partition`` of each.
    """
    missing = [one for one in written if not is_done(call, one)]
    if missing and call.now_ms < until_ms:
        keys = tuple(one.partition for one in missing) if on is None else (on,)
        return Wait(until_ms, keys, lambda later: when_done(later, response, missing, until_ms, is_done, time_out, on))
    for one in missing:
        time_out(one)
    return response


# diskless partitions


def client_of(call: Call, rack_id: str | None = None) -> DisklessClient:
    """The calling client, and the brokers that this one knows; ``rack_id`` is that of its request."""
    session, cluster = call.session, call.cluster
    rack = cluster.diskless.rack(rack_id, session.client_id, session.listener_rack, session.racks)
    brokers = cluster.liveness.for_diskless
    if not call.view.is_shared:
        brokers = DisklessBrokers([(one.id, one.rack) for one in call.view.live_brokers()], brokers.known)
    return DisklessClient(brokers, rack, session.client_id, cluster.liveness.rotation(rack))


def is_taken(call: Call, partition: Partition, *, reading: bool) -> bool:
    """True if this broker serves the client's request for a diskless partition."""
    profile = call.cluster.diskless
    return not profile.redirects or profile.accepts(
        client_of(call), DisklessPartition(partition.topic.id, partition.index), call.broker.id, reading=reading
    )


def diskless_leader(call: Call, partition: Partition) -> int:
    """The leader that a refused client is sent to, -1 if any broker would serve it."""
    profile = call.cluster.diskless
    if not profile.redirects:
        return NO_LEADER
    return profile.leader(client_of(call), DisklessPartition(partition.topic.id, partition.index))
