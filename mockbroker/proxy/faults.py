"""Faults on some partitions of a request in front of a real cluster: the failed part is not forwarded.

Our own handlers refuse each partition of a fault as they look it up. A proxy removes it from the request, and adds its
error to the real broker's answer for the others. A fetch in a session is forwarded whole, since the session is the real
broker's, and its answer is changed.
"""

from __future__ import annotations

from typing import Any

from mockbroker.api import Api, served_api
from mockbroker.api_parts import Level
from mockbroker.call import NO_ACKS, Call, InjectedFaults, Verdict
from mockbroker.core.faults.errors import with_field
from mockbroker.handlers.error_responses import add_entries, fail
from mockbroker.handlers.transferred import produced_parts
from mockbroker.state.errors import ApiError
from mockbroker.subjects import subjects_of, topic_name
from protocol.error_codes import error_name

PRODUCE, FETCH = 0, 1
NO_SESSION = -1
"""The epoch of a fetch that neither is in a session nor starts one."""


def sending_of(call: Call) -> tuple[Any, Verdict | None]:
    """The request that is forwarded to the real broker under the faults of a call, None for nothing.

    With a verdict, the real broker's answer is not awaited. Raises ProtocolError.
    """
    injected, whole = call.injected, call.request
    assert injected is not None
    if not injected.partition_errors:
        return whole, None
    api = served_api(call.api_key)
    levels = outer, inner = api.parts(call.version)
    failed = failed_entries(call, injected, api, levels)
    if not failed:
        return whole, None
    rest = others(call, injected, outer.elements(whole), inner.requested, inner.keys[0][1])
    request = with_field(whole, outer.requested, rest) if rest else None
    if call.api_key == PRODUCE and whole.acks == NO_ACKS:
        codes = {error_name(one.error_code) for topic in failed for one in topic.partition_responses}
        return request, Verdict(closes=f"produce with acks=0 failed: {', '.join(sorted(codes))}")
    answer = api.response(**{outer.answered: failed})
    is_read = hasattr(whole, "max_wait_ms")
    epoch = getattr(whole, "session_epoch", 0)
    if request is None and (not is_read or (call.api_key == FETCH and epoch <= 0)):
        return None, Verdict(answer)
    if is_read:
        is_apart = call.api_key == FETCH and epoch == NO_SESSION  # so that the rest can use the whole limit of bytes
        request = with_field(request if is_apart else whole, "max_wait_ms", 0)  # the answer has errors

    def amend(true: Any) -> None:
        if getattr(true, "error_code", 0):
            return
        kept = others(call, injected, getattr(true, outer.answered), inner.answered, inner.keys[0][0])
        add_entries(kept, failed, levels)
        setattr(true, outer.answered, kept)
        if call.api_key == PRODUCE:
            call.parts = [*(call.parts or ()), *produced_parts(call, answer)]

    injected.amend.insert(0, amend)
    return request, None


def failed_entries(call: Call, injected: InjectedFaults, api: Api, levels: tuple[Level, ...]) -> list[Any]:
    """The answer's entries of the partitions that fail, among all that the request, or its session, names."""
    outer, inner = levels
    found = []
    for name, indexes in subjects_of(call).topics.items():
        known = call.cluster.topics.get(name)
        entry = outer.entry()
        for key, _ in outer.keys:
            setattr(entry, key, name if key != "topic_id" else known.id if known is not None else entry.topic_id)
        entries = getattr(entry, inner.answered)
        for index in indexes:
            code = injected.error_of(name, index)
            if code is not None:
                partition = inner.entry(**{inner.keys[0][0]: index})
                fail(partition, call.version, api.errors, ApiError(code))
                entries.append(partition)
        if entries:
            found.append(entry)
    return found


def others(call: Call, injected: InjectedFaults, topics: list[Any], partitions: str, number: str) -> list[Any]:
    """The topics of a request or an answer with only the partitions that do not fail, if they have any."""
    found = []
    for topic in topics:
        name = topic_name(call, topic, "topic" if hasattr(topic, "topic") else "name" if hasattr(topic, "name") else "")
        kept = getattr(topic, partitions)
        if name is not None:
            kept = [one for one in kept if injected.error_of(name, getattr(one, number)) is None]
        if kept:
            found.append(with_field(topic, partitions, kept))
    return found
