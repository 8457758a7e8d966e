"""Turns stored records of calls into journal entries: the client's rack, the bytes that crossed racks, and why.

``kafka_rack.locality`` judges, by the cluster's state when the call ended; clients are located as in
``kafka-rack pipeline locality``, so that both agree on the same calls. A verdict is computed once for all calls with
the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kafka_rack.diskless import ZONE_KEYS
from kafka_rack.locality.client_location import UNKNOWN_LOCATION, ClientLocation, locate_client
from kafka_rack.locality.evidence import AMONG_BROKERS
from kafka_rack.locality.reasons import Facts, LocalityVerdict, judge
from kafka_rack.writers import can_partition_by_rack
from kafka_rack.zones import zone_in_client_id
from mockbroker.call import FetchedPart, Part, ProducedPart
from mockbroker.core.journal.entry import LENGTH_BYTES, NO_TOPICS, JournalEntry, Share
from mockbroker.core.journal.records import (
    FETCH,
    NO_REPLICA,
    PRODUCE,
    CallRecord,
    ObservedClient,
    facts_of_read,
    facts_of_write,
    has_keys,
)
from mockbroker.core.response_errors import error_names
from protocol.registry import APIS

if TYPE_CHECKING:
    from mockbroker.state.cluster import Cluster

REQUEST, CLIENT_ID, LISTENER, CONNECTION, CLIENT = "request", "client.id", "listener", "connection", "client"
REPLICA, BROKER, RACKS_FILE = "replica", "broker", "racks_file"
MAX_CLIENTS = 10_000
"""The limit of client ids with addresses whose racks are stored."""
judged_once = lru_cache(maxsize=10_000)(judge)
Judged = Callable[..., LocalityVerdict]
"""``Verdicts.verdict`` for some bytes of one call; takes the facts of ``kafka_rack.locality``."""

Keyed = Callable[[ProducedPart], bool | None]
"""Returns True if any of the written records has a key; None if unknown."""


@dataclass(slots=True, eq=False)
class Verdicts:
    """The racks that clients named, for the verdicts on their calls.

    ``learned`` is the sequence of the last call whose client was read.
    """

    learned: int = 0
    client_racks: dict[tuple[str, str], str | None] = field(default_factory=dict)
    """The rack that a client id at an address named on any connection; None where they differ."""

    def learn(self, client: ObservedClient) -> None:
        """Learn the rack that a client named in its requests."""
        key = (client.client_id or "", client.session.address)
        if not all(key):
            return
        for rack in client.session.named_racks:
            if self.client_racks.setdefault(key, rack) != rack:
                self.client_racks[key] = None
            elif len(self.client_racks) > MAX_CLIENTS:
                del self.client_racks[next(iter(self.client_racks))]

    # an entry

    def entry(self, record: CallRecord, sequence: int, cluster: Cluster, keyed: Keyed | None = None) -> JournalEntry:
        """The journal entry of a call; ``keyed`` says if the records of a part have keys, if their log should not."""
        client, session = record.client, record.client.session
        category = category_of(record)
        location = self.locate(client, record, category, cluster)
        locality = locality_of(location.rack, session.broker.rack)
        judged = partial(self.verdict, record, location, category, cluster)
        shares: list[Share] = []
        topics: Mapping[str, tuple[int, ...]]
        traffic: dict[str, int] | None = None
        if record.observed is not None:
            (topics, groups, _), errors, _ = record.observed
        else:
            errors = error_names(part.error_code for part in record.parts)
            topics, groups, traffic = topics_of(record, cluster), groups_of(record), transferred(record.parts)
            if category != "other":
                if keyed is None:
                    keyed = partial(has_keys, cluster) if locality == "cross" else lambda _: None  # does not matter
                shares = [share_of(judged, record, part, location.rack, cluster, keyed) for part in record.parts]
        if not shares:
            verdict = judged(whole=category != "consume")
            sizes = frame_sizes(record) if category == "other" else (0, 0)
            shares = [Share(None, None, *sizes, 0, verdict.reason, verdict.avoidable, verdict.detail)]
        most = max(shares, key=attrgetter("bytes"))
        return JournalEntry(
            sequence,
            record.at_ms,
            record.at_ms - record.arrived_ms,
            session.broker.id,
            session.broker.rack,
            client.client_id,
            session.address,
            client.principal,
            location.rack,
            location.known_from,
            session.connection,
            api_name(record.api_key),
            record.api_key,
            record.version,
            topics,
            groups,
            record.request_bytes,
            record.response_bytes,
            traffic,
            redirects_of(record.parts),
            errors,
            record.faults,
            category,
            locality,
            most.reason,
            most.avoidable,
            most.detail,
            record.ending.value,
            record.reason,
            tuple(shares),
        )

    # where the client is

    def locate(self, client: ObservedClient, record: CallRecord, category: str, cluster: Cluster) -> ClientLocation:
        """The location of a client; for replication, of the follower."""
        if category == "replication":
            return locate_broker(cluster, record.replica_id, REPLICA)
        if api_name(record.api_key) in AMONG_BROKERS and client.client_id is not None and client.client_id.isdecimal():
            return locate_broker(cluster, int(client.client_id[:9]), BROKER)
        rack, source = self.named_rack(client)
        rules, address = client.session.client_racks, client.session.address
        found = locate_client(rack, source, rules, client.client_id, address, cluster.liveness.known_racks)
        return found._replace(named_rack=None, named_in=None) if source == CLIENT else found

    def named_rack(self, client: ObservedClient) -> tuple[str | None, str | None]:
        """The rack that a client named, now or on other connections, or that of its listener; and the source."""
        rack, source, named = client.rack, client.rack_source, client.session.named_racks
        if source not in (REQUEST, CLIENT_ID) and (zone := zone_in_client_id(client.client_id, ZONE_KEYS)):
            return zone, CLIENT_ID
        if rack is not None and source != RACKS_FILE:
            return rack, source
        if len(named) == 1:
            return named[0], CONNECTION
        return self.client_racks.get((client.client_id or "", client.session.address)), CLIENT

    # whose bytes

    def verdict(
        self, record: CallRecord, location: ClientLocation, category: str, cluster: Cluster, **facts: Any
    ) -> LocalityVerdict:
        """The verdict of ``kafka_rack.locality`` on some bytes."""
        client = record.client
        if category == "produce":
            facts["has_partitioner"] = can_partition_by_rack(client.session.software)
        found = judged_once(
            Facts(
                category=category,
                client_rack=location.rack,
                told_rack=location.named_rack,
                told_in="client_id" if location.named_in == CLIENT_ID else location.named_in,
                broker_rack=client.session.broker.rack,
                api_version=record.version if record.api_key == FETCH else None,
                cluster_racks=cluster.liveness.known_racks,
                zone_key=cluster.diskless.keys[0].key,
                **facts,
            )
        )
        return found._replace(detail=found.detail or location.conflict)


def share_of(judged: Judged, record: CallRecord, part: Part, rack: str | None, cluster: Cluster, keyed: Keyed) -> Share:
    """The share of a partition that was written or read."""
    size = part.size_bytes
    if isinstance(part, ProducedPart):
        sizes = (size, 0)
        facts = facts_of_write(part.isr, part.leader_racks, rack, None if part.isr is None else keyed(part))
    else:
        sizes, redirected = (0, size), part.preferred_replica >= 0
        facts = facts_of_read(record.api_key, part.isr, cluster, rack, redirected=redirected)
    verdict = judged(**facts)
    return Share(part.topic, part.partition, *sizes, size, verdict.reason, verdict.avoidable, verdict.detail)


def locality_of(client_rack: str | None, broker_rack: str | None) -> str:
    """The same locality as from ``judge``: it depends only on the two racks."""
    if client_rack is None or broker_rack is None:
        return "unknown"
    return "local" if client_rack == broker_rack else "cross"


def category_of(record: CallRecord) -> str:
    """The category of a call's bytes: other for reads without a response, except for followers."""
    if record.observed is not None and record.api_key != FETCH:
        return "other"
    if record.api_key == PRODUCE:
        return "produce"
    if record.replica_id != NO_REPLICA:
        return "replication"
    return "consume" if record.response_bytes else "other"


def locate_broker(cluster: Cluster, broker_id: int, source: str) -> ClientLocation:
    """The location of a broker that calls another."""
    broker = cluster.brokers.get(broker_id)
    rack = broker.rack if broker is not None else None
    return UNKNOWN_LOCATION if rack is None else ClientLocation(rack, source)


def frame_sizes(record: CallRecord) -> tuple[int, int]:
    """The sizes of request and response with their length fields; 0 if there is none."""
    sent, answered = record.request_bytes, record.response_bytes
    return (sent + LENGTH_BYTES if sent else 0, answered + LENGTH_BYTES if answered else 0)


def topics_of(record: CallRecord, cluster: Cluster) -> Mapping[str, tuple[int, ...]]:
    """The partitions that a call names; of a fetch in a session, all that the session has."""
    names = {part.topic_id: part.topic for part in record.parts}
    found: dict[str, dict[int, None]] = {}
    named: list[tuple[str | bytes | None, int]] = [(one.topic, one.index) for one in record.wanted]
    for key, index in named or [(part.topic, part.partition) for part in record.parts]:
        name = names.get(key) if isinstance(key, bytes) else key
        if isinstance(key, bytes) and (topic := cluster.topic_by_id.get(key)) is not None:
            name = topic.name
        if name:
            found.setdefault(name, {})[index] = None
    return {name: tuple(indexes) for name, indexes in found.items()} if found else NO_TOPICS


def transferred(parts: Sequence[Part]) -> dict[str, int]:
    """The record bytes of each topic that was written or served, 0 if there were no new records."""
    found: dict[str, int] = {}
    for part in parts:
        if part.topic is not None and part.is_done:
            found[part.topic] = found.get(part.topic, 0) + part.size_bytes
    return found


def groups_of(record: CallRecord) -> tuple[str, ...]:
    """The group of a fetch's partitions, if they name one, as those of a share group do."""
    groups = (getattr(one, "group_id", None) for one in record.wanted)
    return tuple(dict.fromkeys(group for group in groups if group is not None))


def redirects_of(parts: Sequence[Part]) -> dict[str, list[int]] | None:
    """The brokers that readers were redirected to, by topic; None if no reader was."""
    found: dict[str, list[int]] = {}
    for part in parts:
        if isinstance(part, FetchedPart) and part.topic is not None and part.preferred_replica >= 0:
            found.setdefault(part.topic, []).append(part.preferred_replica)
    return found or None


def api_name(api_key: int) -> str:
    """Kafka's name of an API, empty for an unknown key.

    >>> api_name(1), api_name(-1)
    ('Fetch', '')
    """
    known = APIS.get(api_key)
    return known[1] if known is not None else ""
