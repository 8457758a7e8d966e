"""A group of a real cluster, in the form that ``kafka-rack assign`` takes: its members, their racks and partitions.

A classic group reports its members' subscriptions, with their racks since version 3, while it is stable. Its members
claim in the next rebalance what they have now: no API reports generations, so all have the same. A group of the newer
protocol (KIP-848) reports racks, topics and targets itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafka_rack.assignment.clients.subscriptions import Grouped, grouped
from kafka_rack.assignment.user_data import write_sticky
from mockbroker.adapters.real_cluster.cluster import LiveBroker, LiveCluster
from mockbroker.adapters.real_cluster.connection import RealClusterError, check
from protocol.apis.consumer_group import ConsumerGroupDescribeRequest
from protocol.apis.find_coordinator import FindCoordinatorRequest
from protocol.apis.groups import DescribeGroupsRequest
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.uuids import uuid_to_text

KEYS_VERSION = 4
"""FindCoordinator from here on takes many keys (KIP-699)."""
ASSUMED_GENERATION = 1
STABLE, CONSUMER = "Stable", "consumer"
IN_COORDINATOR = {"range": "server-range"}
"""The names of the coordinator's assignors that are others' here."""


def live_group(cluster: LiveCluster, group_id: str) -> dict[str, Any]:
    """The group and the topics that it subscribes to.

    Returns: ``assignor``, ``cluster`` and ``members``, as in a file; a member has also its ``client_id`` and ``host``.

    Raises: RealClusterError: there is no such group, it has no members, or it is between two assignments.
    """
    connection = cluster.connection_to(coordinator(cluster, group_id))
    found = classic_group(connection, group_id) or newer_group(connection, group_id)
    if found is None:
        raise RealClusterError(f"group {group_id}: there is no such group, or it has no members")
    subscribed = {topic for member in found["members"].values() for topic in member["topics"]}
    return found | {"cluster": cluster_with(cluster, subscribed)}


def coordinator(cluster: LiveCluster, group_id: str) -> LiveBroker:
    """The broker that coordinates a group."""
    version = cluster.first.version_of(FindCoordinatorRequest)
    if version < KEYS_VERSION:
        said = cluster.first.ask(FindCoordinatorRequest(key=group_id), version)
    else:
        said = cluster.first.ask(FindCoordinatorRequest(coordinator_keys=[group_id]), version).coordinators[0]
    check(f"group {group_id}: its coordinator is not known", said)
    return LiveBroker(said.node_id, None, said.host, said.port)


def classic_group(connection: Any, group_id: str) -> dict[str, Any] | None:
    """A group whose leader assigns; None if the group is not of this kind."""
    said = shown_group(connection, DescribeGroupsRequest(groups=[group_id]), group_id)
    if said is None:
        return None
    if said.protocol_type != CONSUMER:
        raise RealClusterError(
            f"group {group_id}: expected a group of consumers, got one of type {said.protocol_type!r}"
        )
    if said.group_state != STABLE:
        raise RealClusterError(f"group {group_id}: is in state {said.group_state}; ask again when it is stable")
    members = {member.member_id: classic_member(group_id, said.protocol_data, member) for member in said.members}
    return {"assignor": said.protocol_data, "members": members}


def classic_member(group_id: str, assignor: str, said: Any) -> dict[str, Any]:
    try:
        subscription = read_versioned(ConsumerProtocolSubscription, said.member_metadata)
        assignment = (
            read_versioned(ConsumerProtocolAssignment, said.member_assignment)
            if said.member_assignment
            else ConsumerProtocolAssignment(assigned_partitions=[])
        )
    except ProtocolError as error:
        raise RealClusterError(f"group {group_id}, member {said.member_id}: {error}") from error
    owned = grouped((part.topic, number) for part in assignment.assigned_partitions for number in part.partitions)
    member = described(said, subscription.topics, subscription.rack_id, owned) | {"generation": ASSUMED_GENERATION}
    member["instance_id"] = said.group_instance_id
    if assignor == "sticky":
        pairs = [(topic, number) for topic, numbers in owned for number in numbers]
        member["user_data"] = write_sticky(pairs, ASSUMED_GENERATION).hex()
    return member


def newer_group(connection: Any, group_id: str) -> dict[str, Any] | None:
    """A group whose coordinator assigns; None if the group is not of this kind."""
    said = shown_group(connection, ConsumerGroupDescribeRequest(group_ids=[group_id]), group_id)
    if said is None:
        return None
    members = {}
    for member in said.members:
        target = grouped(
            (part.topic_name, number)
            for part in member.target_assignment.topic_partitions
            for number in part.partitions
        )
        members[member.member_id] = described(member, member.subscribed_topic_names, member.rack_id, target)
        members[member.member_id]["instance_id"] = member.instance_id
    assignor = IN_COORDINATOR.get(said.assignor_name, said.assignor_name)
    return {"assignor": assignor, "members": members}


def shown_group(connection: Any, request: Any, group_id: str) -> Any:
    """A group in the answer to a request; None if the broker does not serve the API, or finds none with members."""
    version = connection.version_for(type(request))
    if version is None:
        return None
    (said,) = connection.ask(request, version).groups
    if said.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    check(f"group {group_id}", said)
    return said if said.members else None


def described(said: Any, topics: Iterable[str], rack: str | None, owned: Grouped) -> dict[str, Any]:
    return {
        "topics": list(topics),
        "rack": rack,
        "owned": [[topic, numbers] for topic, numbers in owned],
        "client_id": said.client_id,
        "host": said.client_host.removeprefix("/"),
    }


def cluster_with(cluster: LiveCluster, topics: Iterable[str]) -> dict[str, Any]:
    """Brokers that are up, and those of the topics that are there, in assign's form."""
    snapshot = cluster.snapshot(with_settings=False)
    there = {name: snapshot.topics[name] for name in sorted(set(topics)) if name in snapshot.topics}
    return {
        "nodes": [[broker.id, broker.rack] for broker in snapshot.brokers.values() if not broker.fenced],
        "topics": {name: [list(part.replicas) for part in topic.partitions] for name, topic in there.items()},
        "topic_ids": topic_ids(cluster, list(there)),
    }


def topic_ids(cluster: LiveCluster, topics: list[str]) -> dict[str, str]:
    """Topic -> id, on which the coordinator's assignors depend; empty before Kafka 2.8, which has none (KIP-516)."""
    found = cluster.metadata(topics).topics if topics else []
    return {topic.name: uuid_to_text(topic.topic_id) for topic in found if any(topic.topic_id)}
