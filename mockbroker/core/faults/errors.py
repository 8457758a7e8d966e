"""Injects errors into responses: the field of each API's response, and the parts that are still answered normally.

If a fault matches some parts of a request, ``Errors.injected`` beside the API's handler says how the error is injected:
"lookup": the handler's lookup of a partition raises it (``handlers/leadership.py``); "request": the part is removed
before the handler sees the request, so that it has no effect, and its error is added to the response. If a fault
matches the whole request, ``handlers/error_responses.py`` builds the response.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

from mockbroker.api import Api, api_of
from mockbroker.api_parts import Level, error_field
from mockbroker.call import NO_ACKS, Call, Verdict
from mockbroker.core.faults.matching import Hit, topics_named
from mockbroker.handlers.error_responses import add_entries, entries_for, error_response, fail
from mockbroker.state.errors import ApiError
from mockbroker.subjects import TOPIC_RESOURCE_TYPE, topic_name
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

PRODUCE, METADATA, API_VERSIONS = 0, 3, 18
TOP_LEVEL_METADATA_VERSION = 13
GROUPS_VERSION = 8
NO_OFFSET = -1
NO_LEADER = -1

AFTER_APPEND = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND})
"""Errors that Produce returns after the leader appended the records. Source: DelayedProduce, Apache Kafka 4.4."""


PARTLY = Verdict()
"""The handler still answers the rest of the call."""


def inject_error(call: Call, code: ErrorCode, hit: Hit) -> Verdict | None:
    """Answer the matching parts of a call with an error.

    Returns: the answer, ``PARTLY`` if the handler answers the rest, or None if the response has no field for the error.
    """
    try:
        api = api_of(call.api_key)
        if api is None:
            return None
        if api.errors.injected == "lookup":
            return into_partitions(call, api, code, hit)
        if call.api_key == METADATA:
            return into_metadata(call, api, code, hit)
        if call.api_key == API_VERSIONS and code is ErrorCode.UNSUPPORTED_VERSION:
            from mockbroker.handlers.api_versions import refuse_version

            return Verdict(refuse_version(call.session.served_versions), version=0)
        if hit.topics is not None or hit.groups is not None:
            into_part = INTO_PART.get(api.name)
            if into_part is not None:
                return into_part(call, hit, code)
            if api.errors.injected == "request" and (levels := api.parts(call.version)):
                return out_of_request(call, api, levels, hit, code)
        return into_whole(call, code)
    except ProtocolError:
        return None  # the request cannot be decoded; its handler reports that


def into_whole(call: Call, code: ErrorCode) -> Verdict | None:
    response = error_response(call.request, call.version, ApiError(code))
    return None if response is None else Verdict(response)


def into_partitions(call: Call, api: Api, code: ErrorCode, hit: Hit) -> Verdict | None:
    """Fail the matching partitions; only errors of a session are at the top level of the response."""
    if code in api.errors.top:
        if not error_field(api.response, call.version):
            return None
        answer = api.response()
        fail(answer, call.version, api.errors, ApiError(code))
        return Verdict(answer)
    topics = topics_named(call) if hit.topics is None else hit.topics
    if not any(indexes is None or indexes for indexes in topics.values()):
        return None
    if call.api_key == PRODUCE and code in AFTER_APPEND:
        if call.request.acks == NO_ACKS:
            return None
        call.amend(lambda response: fail_appended(call, response, code, hit))
        return PARTLY
    errors = call.effects().partition_errors
    for topic, indexes in {None: None}.items() if hit.topics is None else hit.topics.items():
        for index in (None,) if indexes is None else indexes:
            errors.setdefault((topic, index), code)
    return PARTLY


def fail_appended(call: Call, response: Any, code: ErrorCode, hit: Hit) -> None:
    """Put the error into the response, though the records were written."""
    for topic in response.responses:
        for partition in topic.partition_responses:
            if not partition.error_code and is_meant(hit, topic_name(call, topic), partition.index):
                partition.error_code, partition.base_offset, partition.log_append_time_ms = code, NO_OFFSET, -1


def into_metadata(call: Call, api: Api, code: ErrorCode, hit: Hit) -> Verdict | None:
    """Fail the topics, or their partitions if the fault names any; the brokers in the response are real."""
    if code is ErrorCode.REBOOTSTRAP_REQUIRED or not topics_named(call):
        return into_whole(call, code) if call.version >= TOP_LEVEL_METADATA_VERSION else None
    names_partitions = hit.topics is not None and any(hit.topics.values())
    if call.request.topics and not names_partitions:
        return out_of_request(call, api, api.parts(call.version), hit, code)
    return into_topics(call, hit, code)


def into_topics(call: Call, hit: Hit, code: ErrorCode) -> Verdict:
    """Fail the matching topics of an answer, or their partitions."""
    call.amend(lambda response: fail_topics(response, code, hit))
    return PARTLY


def fail_topics(response: Any, code: ErrorCode, hit: Hit) -> None:
    """Fail the matching topics of Metadata and DescribeTopicPartitions."""
    for topic in response.topics:
        if not is_meant(hit, topic.name):
            continue
        indexes = None if hit.topics is None else hit.topics[topic.name]
        if indexes is None:
            topic.error_code, topic.partitions = code, []
            continue
        for partition in topic.partitions:
            if partition.partition_index in indexes:
                partition.error_code = code
                if code is ErrorCode.LEADER_NOT_AVAILABLE:
                    partition.leader_id = NO_LEADER


def out_of_request(call: Call, api: Api, levels: Sequence[Level], hit: Hit, code: ErrorCode) -> Verdict:
    """Answer the matching parts with the error; the handler answers the rest, if any."""
    failed: list[Any] = []
    rest: list[Any] = []
    for element in levels[0].elements(call.request):
        if not names_meant(call, element, hit):
            rest.append(element)
            continue
        is_whole = hit.topics is None or len(levels) == 1 or hasattr(element, "group_id")
        name = None if is_whole else topic_name(call, element)
        indexes = None if name is None else (hit.topics or {})[name]
        if indexes is None:
            failed.append(element)
            continue
        partitions, number = levels[1].requested, levels[1].keys[0][1]
        for into, is_wanted in ((failed, True), (rest, False)):
            part = [one for one in getattr(element, partitions) if (getattr(one, number) in indexes) is is_wanted]
            if part:
                into.append(with_field(element, partitions, part))
    message = code.meaning if levels[0].requested == "resources" else None
    part = with_field(call.request, levels[0].requested, failed)
    entries = entries_for(api, part, call.version, ApiError(code, message))
    answered = levels[0].answered
    if not rest and call.api_key != METADATA:
        return Verdict(api.response(**{answered: entries}))
    if rest or call.version:  # an empty list requests all topics in Metadata v0
        hand_over(call, levels[0].requested, rest)

    def add(response: Any) -> None:
        if not rest:
            setattr(response, answered, [])
        add_entries(getattr(response, answered), entries, levels)

    call.amend(add)
    return PARTLY


def names_meant(call: Call, element: Any, hit: Hit) -> bool:
    """True if an element of a request names a matching topic or group."""
    if hasattr(element, "resource_type"):
        return element.resource_type == TOPIC_RESOURCE_TYPE and is_meant(hit, element.resource_name)
    if hasattr(element, "group_id"):
        return element.group_id in (hit.groups or ())
    if isinstance(element, str):
        return element in (hit.groups or ()) if hit.topics is None else is_meant(hit, element)
    return is_meant(hit, topic_name(call, element))


def hand_over(call: Call, field: str, rest: list[Any]) -> None:
    """Pass the handler a request with this part only; observers see the whole request again."""
    injected, whole = call.effects(), call.request
    if not injected.hides_part:
        injected.hides_part = True
        call.amend(lambda _response: setattr(call, "decoded", whole))
    call.decoded = with_field(whole, field, rest)


def with_field(message: Any, field: str, value: Any) -> Any:
    """A copy of a message with another value in one field."""
    changed = copy(message)
    setattr(changed, field, value)
    return changed


def offset_fetch(call: Call, hit: Hit, code: ErrorCode) -> Verdict | None:
    """Fail the matching partitions, or the groups if the fault names no topics."""
    if hit.topics is None and call.version < GROUPS_VERSION:
        return into_whole(call, code)
    call.amend(lambda response: fail_offsets(call, response, code, hit))
    return PARTLY


def fail_offsets(call: Call, response: Any, code: ErrorCode, hit: Hit) -> None:
    for group in response.groups or (response,):
        if hit.groups is not None and call.version >= GROUPS_VERSION and group.group_id not in hit.groups:
            continue
        if hit.topics is None:
            group.error_code, group.topics = code, []
            continue
        for topic in group.topics:
            for partition in topic.partitions:
                if is_meant(hit, topic_name(call, topic), partition.partition_index):
                    partition.error_code, partition.committed_offset = code, NO_OFFSET
                    partition.committed_leader_epoch, partition.metadata = -1, ""


def is_meant(hit: Hit, name: str | None, index: int | None = None) -> bool:
    """True if a topic, or one of its partitions, matches."""
    if hit.topics is None:
        return True
    if name is None or name not in hit.topics:
        return False
    indexes = hit.topics[name]
    return index is None or indexes is None or index in indexes


INTO_PART: dict[str, Callable[[Call, Hit, ErrorCode], Verdict | None]] = {
    "OffsetFetch": offset_fetch,
    "DescribeTopicPartitions": into_topics,
}
"""The APIs whose responses have partitions that the request may not name."""
