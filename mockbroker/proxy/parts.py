"""The results of a Produce, Fetch or ShareFetch per partition, from its frames; for observers, as from our handlers."""

from __future__ import annotations

from typing import Any

from mockbroker.call import Call, Part, ProducedPart
from mockbroker.core.journal.parts import CRC, NO_OFFSET, fetched_parts, produced_parts, topic_facts
from protocol.registry import api_key_of

PRODUCE, FETCH = 0, 1
APIS_WITH_PARTS = (PRODUCE, FETCH, api_key_of("ShareFetch"))
REPLICA_STATE_VERSION = 15
ENTRY = ProducedPart._fields.index("entry")


def note_parts(call: Call, response: Any) -> None:
    """Record in a call the result of each partition, from request and answer, unless the answer is one error for all.

    Entries of a Produce that were recorded before stay, so that a write counts even if a fault changes its answer.
    """
    if call.api_key == PRODUCE:
        noted = {id(part[ENTRY]): part for part in call.parts or ()}
        call.parts = [noted.get(id(part[ENTRY]), part) for part in produced_parts(call, response)]
        return
    if response.error_code:
        return
    call.parts = fetched_parts(call, response)
    if call.api_key == FETCH:
        request = call.request
        state = request.replica_state if call.version >= REPLICA_STATE_VERSION else request
        call.replica_id = state.replica_id


def sent_parts(call: Call, response_class: Any) -> list[Part]:
    """The parts of a Produce without an answer (acks=0), with the errors of faults."""
    entry, injected = response_class.Topic.Partition, call.injected
    found: list[Part] = []
    for topic in call.request.topic_data:
        name, topic_id, isr = topic_facts(call.cluster, topic.name, topic.topic_id)
        for one in topic.partition_data:
            records = one.records or b""
            code = injected.error_of(name, one.index) if injected is not None and name else None
            made = entry(index=one.index, error_code=code or 0)
            crc, acks = bytes(records[CRC]), call.request.acks
            found.append(ProducedPart(name or "", topic_id, len(records), isr(one.index), NO_OFFSET, crc, made, acks))
    return found
