"""Rewrites of requests and answers at the proxy, mostly of racks; each is off by default.

They add racks to requests that can name one and do not. A rack that the client names stays. The functions change
decoded messages in place; ``Rewriting`` applies them to a call's frame and to its answer.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kafka_rack.diskless import ZONE_KEYS, DisklessBrokers, choose_by_hash
from kafka_rack.zones import ZoneKey, with_zone
from mockbroker.proxy.subscriptions import with_rack
from protocol.codec import codec
from protocol.error_codes import ErrorCode
from protocol.headers import request_frame
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.call import Call
    from mockbroker.proxy.mirror import Mirror
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
NO_REPLICA = -1
NOT_TO_BE_HAD = (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE)
TRUE = "true"


@dataclass(frozen=True)
class Rewrites:
    """The configured rewrites.

    ``racks``: add the client's rack to requests that name none. ``client_id_racks``: add it to client ids too, with
    this key. ``diskless_config``: name and value of the topic config that marks a diskless topic; without a value,
    ``true``. Answers then name brokers in the client's rack as leaders of such topics.

    Raises ValueError: no system has this key.
    """

    racks: bool = False
    client_id_racks: str | None = None
    diskless_config: tuple[str, str | None] | None = None
    zone_key: ZoneKey | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = self.client_id_racks
        if key is not None and key not in CLIENT_ID_KEYS:
            raise ValueError(f"expected one of {', '.join(CLIENT_ID_KEYS)}, got {key!r}")
        object.__setattr__(self, "zone_key", None if key is None else CLIENT_ID_KEYS[key])


def rewrites_request(rewrites: Rewrites, api_key: int, version: int) -> bool:
    """True if a request must be decoded, because it might be rewritten."""
    return rewrites.racks and version >= APIS_REWRITTEN.get(api_key, version + 1)


def rewrites_answer(rewrites: Rewrites, api_key: int) -> bool:
    """True if an answer must be decoded, because it might be rewritten."""
    return rewrites.diskless_config is not None and api_key in ANSWERS_REWRITTEN


def rewrite_request(rewrites: Rewrites, api_key: int, version: int, request: Any, rack: str | None) -> bool:
    """Add a client's rack to a request that can name one and does not. Returns True if anything changed.

    Args:
        request: decoded; it is changed in place.
        rack: the client's, None if unknown.

    >>> from protocol.apis.fetch import FetchRequest
    >>> request = FetchRequest()
    >>> rewrite_request(Rewrites(racks=True), 1, 11, request, "az-a"), request.rack_id
    (True, 'az-a')
    >>> rewrite_request(Rewrites(racks=True), 1, 11, request, "az-b"), request.rack_id
    (False, 'az-a')
    """
    if not rack or not rewrites_request(rewrites, api_key, version):
        return False
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


def rewritten_client_id(rewrites: Rewrites, client_id: str | None, rack: str | None) -> str | None:
    """The client id with the client's rack, under the configured key; unchanged if it already names a zone.

    >>> rewritten_client_id(Rewrites(client_id_racks="ws_az"), "billing", "az-a")
    'billing,ws_az=az-a'
    """
    if rewrites.zone_key is None or not rack:
        return client_id
    return with_zone(client_id, rewrites.zone_key, rack, ZONE_KEYS)


def shows_diskless(rewrites: Rewrites, configs: Mapping[str, str | None]) -> bool:
    """True if a topic is diskless, by its configs.

    >>> shows_diskless(Rewrites(diskless_config=("diskless.enable", None)), {"diskless.enable": "true"})
    True
    """
    if rewrites.diskless_config is None:
        return False
    name, value = rewrites.diskless_config
    found = configs.get(name)
    return found is not None and found.lower() == (TRUE if value is None else value.lower())


def rewrite_answer(
    rewrites: Rewrites,
    api_key: int,
    version: int,
    response: Any,
    rack: str | None,
    broker_racks: Mapping[int, str | None],
    diskless_topics: Container[str],
) -> bool:
    """Name a broker of the client's rack as leader and only replica of diskless partitions. Returns True if it changed.

    The answer stays if the rack is unknown or has no broker.

    Args:
        response: decoded; it is changed in place.
        broker_racks: racks of the brokers that are up. They override the racks in Metadata's own list of brokers.
        diskless_topics: their names.

    Each partition has a broker by hash, the same in each answer to that rack, as in Inkless; in Metadata before version
    10, which has no topic ids, by its number alone.
    """
    if not rack or not rewrites_answer(rewrites, api_key):
        return False
    racks = broker_racks
    if api_key == METADATA:
        racks = {one.node_id: broker_racks.get(one.node_id) or one.rack for one in response.brokers}
    if rack not in racks.values():
        return False
    near = DisklessBrokers(racks.items()).near(rack)
    has_changed = False
    for topic in response.topics:
        if topic.error_code or topic.name not in diskless_topics:
            continue
        for one in topic.partitions:
            leader = choose_by_hash(near, topic.topic_id, one.partition_index)
            has_changed = show_leader(one, leader) or has_changed
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


class Rewriting:
    """Applies ``rewrites``, with the racks of sessions and of the mirror."""

    def __init__(self, rewrites: Rewrites, mirror: Mirror) -> None:
        self.rewrites, self._mirror = rewrites, mirror

    def frame_of(self, call: Call, changed: Any = None) -> Sequence[bytes] | None:
        """The frame of a rewritten request with its length, None if the received frame stays.

        Args:
            changed: the request after a fault has removed a part.

        Raises: ProtocolError.
        """
        session, rewrites = call.session, self.rewrites
        request = changed
        if self.looks_at_request(call):
            if request is None:  # a copy: observers see the client's request
                decode = codec(message_class(call.api_key, "request"), call.version).brief_decoder()
                request, _ = decode(call.frame, call.body_start)
            if not self.rewrite_request(call, request) and changed is None:
                request = None
        client_id = session.client_id
        if rewrites.zone_key is not None:
            client_id = rewritten_client_id(rewrites, client_id, session.rack)
        if request is None and client_id != session.client_id:
            request = call.request
        if request is None:
            return None
        return (request_frame(request, call.version, correlation_id=call.correlation_id, client_id=client_id),)

    def looks_at_request(self, call: Call) -> bool:
        """True if a request must be decoded, because it might be rewritten."""
        return bool(call.session.rack) and rewrites_request(self.rewrites, call.api_key, call.version)

    def rewrite_request(self, call: Call, request: Any) -> bool:
        """Add the client's rack to a request; True if that changed it."""
        return rewrite_request(self.rewrites, call.api_key, call.version, request, call.session.rack)

    def looks_at_answer(self, api_key: int) -> bool:
        """True if an answer must be decoded, because it might be rewritten."""
        return rewrites_answer(self.rewrites, api_key)

    def rewrite_answer(self, call: Call, response: Any) -> bool:
        """Choose the brokers of diskless topics; True if that changed the answer."""
        racks = self._mirror.cluster.liveness.rack_by_online_broker
        diskless = self._mirror.diskless_topics
        return rewrite_answer(self.rewrites, call.api_key, call.version, response, call.session.rack, racks, diskless)
