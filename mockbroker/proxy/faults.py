"""Faults on some partitions of a request in front of a real cluster: the failed part is not forwarded.

Our own handlers refuse each partition of a fault as they look it up. A proxy removes it from the request, and adds its
error to the real broker's answer for the others. A fetch in a session is forwarded whole, since the session is the real
broker's, and its answer is changed.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

from mockbroker.api import Api, api_of
from mockbroker.api_parts import Level
from mockbroker.call import Call, InjectedFaults
from mockbroker.core.faults.errors import with_field
from mockbroker.handlers.error_responses import add_entries, entries_for
from mockbroker.subjects import subjects_of, topic_name
from protocol.error_codes import error_name

PRODUCE, FETCH = 0, 1
NO_ACKS = 0
TOPIC_ID_VERSION = 13
NO_SESSION = -1
"""The epoch of a fetch that neither is in a session nor starts one."""


Levels = tuple[Level, ...]


class Sending(NamedTuple):
    """The result of faults for a request: ``request`` is forwarded, None for nothing; ``answer`` is sent instead.

    ``closes`` is the reason for the connection's end after the forwarded part, if the protocol has no answer.
    """

    request: Any
    answer: Any = None
    closes: str | None = None


def served(api_key: int) -> Api:
    """The API of a call of which faults may match a part."""
    api = api_of(api_key)
    assert api is not None, api_key
    return api


def sending_of(call: Call) -> Sending:
    """The part of a call that is forwarded to the real broker under its faults. Raises ProtocolError."""
    injected = call.injected
    assert injected is not None
    if not injected.partition_errors and injected.every_partition is None:
        return Sending(call.request)
    api, whole = served(call.api_key), call.request
    levels = api.parts(call.version)
    failed, rest = split(call, injected, levels)
    if hasattr(whole, "max_wait_ms"):
        return sending_of_read(call, injected, levels, failed, rest)
    if not failed:
        return Sending(whole)
    if call.api_key == PRODUCE and whole.acks == NO_ACKS:
        reason = f"produce with acks=0 failed: {', '.join(map(error_name, sorted(failed)))}"
        return Sending(with_field(whole, levels[0].requested, rest) if rest else None, closes=reason)
    answer = failed_answer(call, failed)
    if not rest:
        return Sending(None, answer)
    injected.amend.insert(0, lambda true: merge(true, answer, levels))
    return Sending(with_field(whole, levels[0].requested, rest))


def sending_of_read(
    call: Call, injected: InjectedFaults, levels: Levels, failed: dict[int, list[Any]], rest: list[Any]
) -> Sending:
    """A fetch: answered here if all its partitions fail outside of a session; else its answer is changed.

    Outside of a session only the rest is forwarded, so that it can use the whole limit of bytes. The forwarded request
    does not wait for records, since the answer has errors.
    """
    whole = call.request
    epoch = whole.session_epoch if call.api_key == FETCH else whole.share_session_epoch
    is_alone = call.api_key == FETCH and epoch <= 0 and not rest
    is_apart = call.api_key == FETCH and epoch == NO_SESSION
    if epoch > 0:
        failed = failed_in_session(call, injected)
    answer = failed_answer(call, failed)
    if failed and is_alone:
        return Sending(None, answer)

    def amend(true: Any) -> None:
        if getattr(true, "error_code", 0):
            return
        drop_meant(call, true, injected, levels)
        merge(true, answer, levels)

    injected.amend.insert(0, amend)
    if not failed:
        return Sending(whole)
    quick = with_field(whole, levels[0].requested, rest if is_apart else whole.topics)
    quick.max_wait_ms = 0
    return Sending(quick)


def split(call: Call, injected: InjectedFaults, levels: Levels) -> tuple[dict[int, list[Any]], list[Any]]:
    """The topics of a request with the partitions that fail, by error, and with the others."""
    failed: dict[int, list[Any]] = {}
    rest: list[Any] = []
    partitions_in, number = levels[1].requested, levels[1].keys[0][1]
    for topic in levels[0].elements(call.request):
        name = topic_name(call, topic, name_field(topic))
        by_error: dict[int | None, list[Any]] = {}
        for one in levels[1].elements(topic):
            code = None if name is None else injected.error_of(name, getattr(one, number))
            by_error.setdefault(code, []).append(one)
        for code, partitions in by_error.items():
            part = copy(topic)
            setattr(part, partitions_in, partitions)
            (rest if code is None else failed.setdefault(code, [])).append(part)
    return failed, rest


def failed_in_session(call: Call, injected: InjectedFaults) -> dict[int, list[Any]]:
    """The topics with the partitions that fail, by error, among all of a fetch's session."""
    api = served(call.api_key)
    request, number = api.request, api.parts(call.version)[1].keys[0][1]
    failed: dict[int, list[Any]] = {}
    for name, indexes in subjects_of(call).topics.items():
        known = call.cluster.topics.get(name)
        by_error: dict[int, list[Any]] = {}
        for index in indexes:
            code = injected.error_of(name, index)
            if code is not None:
                by_error.setdefault(code, []).append(request.Topic.Partition(**{number: index}))
        for code, partitions in by_error.items():
            topic = request.Topic(partitions=partitions)
            if call.api_key == FETCH and call.version < TOPIC_ID_VERSION:
                topic.topic = name
            elif known is not None:
                topic.topic_id = known.id
            failed.setdefault(code, []).append(topic)
    return failed


def failed_answer(call: Call, failed: dict[int, list[Any]]) -> Any:
    """An answer with an error for each partition that fails; None without one."""
    if not failed:
        return None
    api = served(call.api_key)
    levels = api.parts(call.version)
    answer = api.response()
    for code, topics in sorted(failed.items()):
        request = with_field(call.request, levels[0].requested, topics)
        add_entries(getattr(answer, levels[0].answered), entries_for(api, request, call.version, code), levels)
    return answer


def merge(answer: Any, other: Any, levels: Levels) -> None:
    """Add the partitions of another answer to this one."""
    if other is not None:
        name = levels[0].answered
        add_entries(getattr(answer, name), getattr(other, name), levels)


def name_field(topic: Any) -> str:
    """The field with a topic's name; "" if it has only an id."""
    return next((name for name in ("topic", "name") if hasattr(topic, name)), "")


def drop_meant(call: Call, answer: Any, injected: InjectedFaults, levels: Levels) -> None:
    """Remove the partitions that fail from a real answer."""
    kept = []
    number = levels[1].keys[0][0]
    for topic in getattr(answer, levels[0].answered):
        name = topic_name(call, topic, name_field(topic))
        partitions = [
            one
            for one in getattr(topic, levels[1].answered)
            if name is None or injected.error_of(name, getattr(one, number)) is None
        ]
        if partitions:
            setattr(topic, levels[1].answered, partitions)
            kept.append(topic)
    setattr(answer, levels[0].answered, kept)
