"""Diskless partitions by the cluster's profile: the leader that a client sees, and the brokers that serve its requests.

Source: the profiles of ``kafka_rack.diskless``.
"""

from __future__ import annotations

from kafka_rack.diskless import DisklessBrokers, DisklessClient, DisklessPartition, ShownPartition
from mockbroker.call import Call
from mockbroker.state.metadata.view import KnownTopic
from mockbroker.state.topics.topic import NO_LEADER, Partition

TIERED = "remote.storage.enable"


def client_of(call: Call, rack_id: str | None = None) -> DisklessClient:
    """The calling client, and the brokers that this one knows; ``rack_id`` is that of its request."""
    session, cluster = call.session, call.cluster
    rack = cluster.diskless.rack(rack_id, session.client_id, session.listener_rack, session.racks)
    brokers = cluster.liveness.for_diskless()
    if not call.view.is_shared:
        brokers = DisklessBrokers([(one.id, one.rack) for one in call.view.live_brokers()], brokers.known)
    return DisklessClient(brokers, rack, session.client_id, cluster.liveness.rotation(rack))


def take_turn(call: Call, client: DisklessClient) -> None:
    """Advance the rotation, so that the next answer to this rack has the next broker, if the profile has a rotation."""
    if call.cluster.diskless.takes_turns:
        liveness = call.cluster.liveness
        call.diskless_turn = (client.rack, liveness.place_in_rotation(client.rack))
        liveness.rotate(client.rack)


def shown_to(call: Call, client: DisklessClient, topic: KnownTopic, index: int) -> ShownPartition:
    """A partition as Metadata shows it to this client."""
    known = call.cluster.topics.get(topic.name)
    tiered = known is not None and known.config(TIERED)
    return call.cluster.diskless.shown(client, DisklessPartition(topic.id, index, tiered))


def is_taken(call: Call, partition: Partition, *, reading: bool) -> bool:
    """True if this broker serves the client's request for a diskless partition."""
    profile = call.cluster.diskless
    return not profile.redirects or profile.accepts(
        client_of(call), DisklessPartition(partition.topic.id, partition.index), call.broker.id, reading=reading
    )


def told_leader(call: Call, partition: Partition) -> int:
    """The leader that a refused client is sent to, -1 if any broker would serve it."""
    profile = call.cluster.diskless
    if not profile.redirects:
        return NO_LEADER
    return profile.leader(client_of(call), DisklessPartition(partition.topic.id, partition.index))


def preferred_reader(call: Call, rack: str) -> int | None:
    """The preferred read replica for this rack, None for this broker."""
    cluster = call.cluster
    return cluster.diskless.preferred(cluster.liveness.for_diskless(), call.broker.id, rack)
