"""Rewrites of requests and answers at the proxy, mostly of racks; each is off by default.

They add racks to requests that can name one and do not. A rack that the client names stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kafka_rack.diskless import ZONE_KEYS, DisklessBrokers, choose_by_hash
from kafka_rack.zones import ZoneKey, with_zone
from mockbroker.proxy.subscriptions import with_rack
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from mockbroker.call import Call
    from protocol.apis.classic_group import JoinGroupRequest

FETCH, METADATA, JOIN_GROUP, DESCRIBE_TOPIC_PARTITIONS = 1, 3, 11, 75
CONSUMER_GROUP_HEARTBEAT, SHARE_GROUP_HEARTBEAT, STREAMS_GROUP_HEARTBEAT = 68, 76, 88
APIS_REWRITTEN: Mapping[int, int] = {
    FETCH: 11,
    METADATA: 14,
    JOIN_GROUP: 0,
    CONSUMER_GROUP_HEARTBEAT: 0,
    DESCRIBE_TOPIC_PARTITIONS: 1,
    SHARE_GROUP_HEARTBEAT: 0,
    STREAMS_GROUP_HEARTBEAT: 0,
}
"""API key -> the first version in which a request can name a rack. ShareFetch cannot: its heartbeats can."""
ANSWERS_REWRITTEN = frozenset({METADATA, DESCRIBE_TOPIC_PARTITIONS})
CLIENT_ID_KEYS: Mapping[str, ZoneKey] = {key.key: key for key in ZONE_KEYS}
CONSUMER = "consumer"  # the protocol type of groups whose members have subscriptions
JOINING = 0
NO_VERSION = 1 << 15
NO_REPLICA = -1
NOT_TO_BE_HAD = (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE)
TRUE = "true"


@dataclass(frozen=True)
class Rewrites:
    """The configured rewrites. They change decoded messages in place.

    ``racks``: add the client's rack to requests that name none. ``client_id_racks``: add it to client ids too, with
    this key. ``diskless_config``: name and value of the topic config that marks a diskless topic; without a value,
    ``true``. Answers then name brokers in the client's rack as leaders of such topics.

    Raises ValueError: no system has this key.
    """

    racks: bool = False
    client_id_racks: str | None = None
    diskless_config: tuple[str, str | None] | None = None

    def __post_init__(self) -> None:
        if self.client_id_racks is not None and self.client_id_racks not in CLIENT_ID_KEYS:
            raise ValueError(f"expected one of {', '.join(CLIENT_ID_KEYS)}, got {self.client_id_racks!r}")

    def takes_request(self, call: Call) -> bool:
        """True if a request must be decoded, because it might be rewritten."""
        return self.racks and bool(call.session.rack) and call.version >= APIS_REWRITTEN.get(call.api_key, NO_VERSION)

    def rewrite_request(self, call: Call, request: Any) -> bool:
        """Add the client's rack to a request that can name one and does not. Returns True if anything changed."""
        rack, api_key = call.session.rack, call.api_key
        assert rack, "takes_request is true"
        if api_key == JOIN_GROUP:
            return put_into_subscriptions(request, rack)
        if api_key == FETCH:  # followers' fetches are never redirected
            is_missing = not request.rack_id and max(request.replica_id, request.replica_state.replica_id) == NO_REPLICA
        elif api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
            is_missing = not request.rack_id
        else:  # a heartbeat: later than at the join, null means unchanged; brokers refuse an empty rack
            is_missing = request.rack_id is None and request.member_epoch == JOINING
        if is_missing:
            request.rack_id = rack
        return is_missing

    def client_id(self, client_id: str | None, rack: str | None) -> str | None:
        """The client id with the client's rack, under the configured key; unchanged if it already names a zone.

        >>> Rewrites(client_id_racks="ws_az").client_id("billing", "az-a")
        'billing,ws_az=az-a'
        """
        if self.client_id_racks is None or not rack:
            return client_id
        return with_zone(client_id, CLIENT_ID_KEYS[self.client_id_racks], rack, ZONE_KEYS)

    def takes_answer(self, api_key: int) -> bool:
        """True if an answer must be decoded, because it might be rewritten."""
        return self.diskless_config is not None and api_key in ANSWERS_REWRITTEN

    def rewrite_answer(self, call: Call, response: Any) -> bool:
        """Name a broker of the client's rack as leader and only replica of diskless partitions. Returns True if it
        changed.

        The answer stays if the rack is unknown or has no broker. The racks of the brokers that are up override those in
        Metadata's own list of brokers. Each partition has a broker by hash, the same in each answer to that rack, as in
        Inkless; in Metadata before version 10, which has no topic ids, by its number alone.
        """
        rack, racks = call.session.rack, call.cluster.liveness.rack_by_online_broker
        if call.api_key == METADATA:
            racks = {one.node_id: racks.get(one.node_id) or one.rack for one in response.brokers}
        if not rack or rack not in racks.values():
            return False
        near = DisklessBrokers(racks.items()).near(rack)
        has_changed = False
        for topic in response.topics:
            known = call.cluster.topics.get(topic.name)
            if topic.error_code or known is None or not known.diskless:
                continue
            for one in topic.partitions:
                has_changed |= show_leader(one, choose_by_hash(near, topic.topic_id, one.partition_index))
        return has_changed

    def shows_diskless(self, configs: Mapping[str, str | None]) -> bool:
        """True if a topic is diskless, by its configs.

        >>> Rewrites(diskless_config=("diskless.enable", None)).shows_diskless({"diskless.enable": "true"})
        True
        """
        if self.diskless_config is None:
            return False
        name, value = self.diskless_config
        return (configs.get(name) or "").lower() == (TRUE if value is None else value.lower())


NO_REWRITES = Rewrites()


def put_into_subscriptions(request: JoinGroupRequest, rack: str) -> bool:
    """Add the rack to consumers' subscriptions; members of Kafka Connect or of a registry have none."""
    if request.protocol_type != CONSUMER:
        return False
    has_changed = False
    for one in request.protocols:
        named = with_rack(one.metadata, rack, one.name)
        if named is not None:
            one.metadata = named
            has_changed = True
    return has_changed


def show_leader(partition: Any, leader: int) -> bool:
    """Make a broker the leader and only replica of a partition."""
    error = 0 if partition.error_code in NOT_TO_BE_HAD else partition.error_code
    shown = {"error_code": error, "leader_id": leader, "replica_nodes": [leader], "isr_nodes": [leader]}
    shown["offline_replicas"] = []
    has_changed = False
    for name, value in shown.items():
        has_changed |= getattr(partition, name) != value
        setattr(partition, name, value)
    return has_changed
