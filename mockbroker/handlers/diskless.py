"""Diskless partitions as the cluster's profile has them: who leads one for a client, and who takes its requests.

Source: the profiles of ``kafka_rack.diskless``.
"""

from __future__ import annotations

from kafka_rack.diskless import DisklessBrokers, DisklessClient, DisklessPartition, ShownPartition
from mockbroker.call import Call
from mockbroker.state.metadata.view import KnownTopic
from mockbroker.state.topics.topic import Partition

TIERED = "remote.storage.enable"


def client_of(call: Call, rack_id: str | None = None) -> DisklessClient:
    """The client that asks, and the brokers as this one knows them; ``rack_id`` is what its request names."""
    session, cluster = call.session, call.cluster
    rack = cluster.diskless.rack(rack_id, session.client_id, session.listener_rack, session.racks)
    brokers = cluster.liveness.for_diskless()
    if not call.view.is_shared:
        brokers = DisklessBrokers([(one.id, one.rack) for one in call.view.live_brokers()], brokers.known)
    return DisklessClient(brokers, rack, session.client_id, cluster.liveness.turn(rack))


def take_turn(call: Call, client: DisklessClient) -> None:
    """The next answer to a client of this rack names the next broker, where the profile goes by turns."""
    if call.cluster.diskless.takes_turns:
        liveness = call.cluster.liveness
        call.diskless_turn = (client.rack, liveness.place_in_turn(client.rack))
        liveness.take_turn(client.rack)


def shown_to(call: Call, client: DisklessClient, topic: KnownTopic, index: int) -> ShownPartition:
    """What Metadata tells this client of a partition."""
    known = call.cluster.topics.get(topic.name)
    tiered = known is not None and known.config(TIERED)
    return call.cluster.diskless.shown(client, DisklessPartition(topic.id, index, tiered))


def is_taken(call: Call, partition: Partition, *, reading: bool) -> bool:
    """Whether this broker takes the client's request for a diskless partition."""
    profile, topic = call.cluster.diskless, partition.topic
    return not profile.redirects or profile.accepts(
        client_of(call), DisklessPartition(topic.id, partition.index), call.broker.id, reading=reading
    )
