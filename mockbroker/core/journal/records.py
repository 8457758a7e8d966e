"""The stored form of a call until the journal is read: a struct of small values, created as the call ends.

It has no frames and no records. Facts that are expensive to compute, above all the call's locality, are computed when
the journal is read (``verdicts.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from mockbroker.call import Call, Ending, FetchedPart, Outcome, Part, ProducedPart
from mockbroker.core.journal.entry import LENGTH_BYTES
from mockbroker.core.response_errors import error_codes, error_names
from mockbroker.subjects import NOTHING, Subjects, subjects_of
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from mockbroker.session import Session
    from mockbroker.state.cluster import Cluster
    from mockbroker.state.logs.log import StoredBatch
    from mockbroker.state.sessions.fetch_sessions import FetchPartition

PRODUCE, FETCH, METADATA, JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT = 0, 1, 3, 11, 68
NO_REPLICA = NO_OFFSET = -1
RECORD_BYTES = 400
ITEM_BYTES = 200
"""The size of a partition that was written or read, and of a topic, a group or an error without its name."""
NUMBER_BYTES, SHARED_BYTES = 36, 8
"""The sizes of a partition's number, and of a partition that a fetch session has in memory anyway."""

CLIENT_BYTES = 700
"""The measured size of an ``ObservedClient`` with its session, without the client id."""


@dataclass(slots=True, eq=False)
class ObservedClient:
    """A client while its id, its rack and its principal stay the same.

    ``rack`` and ``rack_source`` are those of its session at that time.
    """

    session: Session
    client_id: str | None
    rack: str | None
    rack_source: str | None
    principal: str

    @property
    def size_bytes(self) -> int:
        """The estimated size with the client id, which the session's last header also has."""
        return CLIENT_BYTES + 2 * len(self.client_id or "")


def observed_client(session: Session) -> ObservedClient:
    """The record of a session's client as it is now."""
    found: ObservedClient | None = session.observed
    if found is None:
        source = None if session.rack_source is None else session.rack_source.value
        found = ObservedClient(session, session.client_id, session.rack, source, session.principal)
        session.observed = found
    return found


class Observed(NamedTuple):
    """The subjects of the request and the errors of the response, for all other calls; ``size_bytes`` is its size."""

    subjects: Subjects
    errors: tuple[str, ...]
    size_bytes: int


class CallRecord(Struct, frozen=True, gc=False):
    """The fields of a record; ``size_bytes`` is its estimated size in memory.

    ``observed`` is None for a call with parts: a Produce, or a fetch of a consumer, a follower or a share group.
    ``wanted`` has all partitions that a fetch requests.
    """

    client: ObservedClient
    arrived_ms: int
    at_ms: int
    api_key: int
    version: int
    request_bytes: int
    response_bytes: int
    ending: Ending
    reason: str | None
    faults: tuple[str, ...]
    size_bytes: int
    observed: Observed | None
    parts: Sequence[Part]
    wanted: Sequence[FetchPartition]
    replica_id: int

    @property
    def written(self) -> list[ProducedPart]:
        """The parts of a Produce that was answered."""
        return [part for part in self.parts if isinstance(part, ProducedPart)] if self.response_bytes else []

    @property
    def read(self) -> list[FetchedPart]:
        """The parts of a consumer's Fetch that was answered."""
        if self.api_key != FETCH or not self.response_bytes or self.replica_id != NO_REPLICA:
            return []
        return [part for part in self.parts if isinstance(part, FetchedPart)]


def record_of(
    outcome: Outcome,
    client: ObservedClient,
    size_bytes: int,
    found: Observed | None,
    parts: Sequence[Part],
    wanted: Sequence[FetchPartition],
) -> CallRecord:
    """The record of a call that ended."""
    call, output = outcome.call, outcome.output
    return CallRecord(
        client,
        call.arrived_ms,
        outcome.at_ms,
        call.api_key,
        call.version,
        len(call.frame),
        len(output[0]) - LENGTH_BYTES if len(output) == 1 else outcome.response_bytes,
        outcome.ending,
        outcome.reason,
        call.faults,
        size_bytes,
        found,
        parts,
        wanted,
        call.replica_id if found is None else NO_REPLICA,
    )


def observed(outcome: Outcome) -> Observed:
    """The subjects and errors of a call without parts; its session learns the rack that it names."""
    call = outcome.call
    cached = call.cached
    found: Observed | None = call.observed if cached is None else cached.observed
    if found is not None:
        return found
    if call.body_start and call.api_key in (JOIN_GROUP, CONSUMER_GROUP_HEARTBEAT):
        with suppress(ProtocolError):
            if rack := named_rack(call):
                call.session.note_named_rack(rack)  # for all calls of its connection
    subjects = request_subjects(call)
    errors = error_names(error_codes(response_of(outcome)))
    if cached is not None:  # shared by all calls that this cached response answers
        found = cached.observed = Observed(subjects, errors, 0)
    else:
        size = sum(ITEM_BYTES + len(name) for name in (*subjects.topics, *subjects.groups, *errors))
        size += NUMBER_BYTES * sum(map(len, subjects.topics.values())) + len(outcome.reason or "")
        found = Observed(subjects, errors, size)
    call.observed = found
    return found


def request_subjects(call: Call) -> Subjects:
    """The subjects that a request names; none if it cannot be decoded."""
    if not call.body_start:
        return NOTHING  # it ended before its header was read
    try:
        return subjects_of(call)
    except ProtocolError:
        return NOTHING


def response_of(outcome: Outcome) -> Any:
    """The response message, decoded from its bytes if nothing has read it; None without one that can be read."""
    if outcome.response is not None or not outcome.output:
        return outcome.response
    from protocol.headers import read_response

    call = outcome.call
    try:
        return read_response(b"".join(outcome.output)[4:], call.api_key, call.version)[1]
    except ProtocolError:  # a real broker's own
        return None


def facts_of_write(
    isr: tuple[int, ...] | None, leaders: frozenset[str], rack: str | None, keyed: bool | None
) -> dict[str, Any]:
    """The facts of written bytes, for ``kafka_rack.locality``; ``leaders`` are the racks that have leaders."""
    return {"diskless": isr is None, "leader_here": rack in leaders if leaders else None, "keyed": keyed}


def facts_of_read(
    api_key: int, isr: tuple[int, ...] | None, cluster: Cluster, rack: str | None, *, redirected: bool
) -> dict[str, Any]:
    """The facts of read bytes; members of share groups read by other APIs than Fetch."""
    in_sync = cluster.liveness.racks_of(isr or ())
    replica_here = rack in in_sync if in_sync else None
    return {"diskless": isr is None, "redirected": redirected, "replica_here": replica_here, "share": api_key != FETCH}


def named_rack(call: Call) -> str | None:
    """The rack that a member of a group names as its own, in a heartbeat (KIP-848) or as it joins (KIP-881)."""
    request = call.request
    if call.api_key == CONSUMER_GROUP_HEARTBEAT:
        rack: str | None = request.rack_id
        return rack
    from protocol.embedded.consumer_protocol import ConsumerProtocolSubscription
    from protocol.embedded.versioned import read_versioned

    if request.protocol_type != "consumer" or not request.protocols:
        return None
    found: str | None = None
    with suppress(ProtocolError):
        found = read_versioned(ConsumerProtocolSubscription, request.protocols[0].metadata).rack_id
    return found


# the records of a Produce


def written_batches(cluster: Cluster, part: ProducedPart) -> list[StoredBatch] | None:
    """The batches that a Produce appended, as the log has them now; None if it no longer has them."""
    topic = cluster.topic_by_id.get(part.topic_id)
    if topic is None or part.end_offset < 0 or part.entry.base_offset < 0:
        return None
    found: list[StoredBatch] = []
    following = part.entry.base_offset
    for batch in topic.partitions[part.entry.index].log.batches(following):
        if batch.base_offset != following:
            return None
        found.append(batch)
        following = batch.last_offset + 1
        if following >= part.end_offset:
            return found if following == part.end_offset else None
    return None


def has_keys(cluster: Cluster, part: ProducedPart) -> bool | None:
    """True if any of the records has a key; None if they cannot be read (any more)."""
    from protocol.records import RecordError, iter_records

    batches = written_batches(cluster, part)
    if batches is None:
        return None
    try:
        return any(record.key is not None for batch in batches for record in iter_records(batch.data))
    except RecordError:
        return None


def first_keys(request: Any) -> dict[tuple[str | bytes, int], bool | None]:
    """By partition of a Produce, True if its first record has a key; None if that requires decompression."""
    return {
        (topic.name or topic.topic_id, one.index): first_has_key(bytes(one.records or b""))
        for topic in request.topic_data
        for one in topic.partition_data
    }


def first_has_key(records: bytes) -> bool | None:
    """True if the first record of an uncompressed batch has a key; None for all other batches."""
    from protocol.records import RecordError, iter_batch_records, iter_batches

    try:
        header = next(iter_batches(records))
        return None if header.is_compressed else next(iter_batch_records(records, header, crc=False)).key is not None
    except (RecordError, StopIteration):
        return None
