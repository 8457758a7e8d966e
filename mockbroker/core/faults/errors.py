"""An error in place of the truth: where each API's answer has a place for it, and what is still answered truly.

Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, ShareFetch and ShareAcknowledge look each partition up by
``handlers/leadership.py``, which refuses those that are meant. Of other requests that change something, the part that
is meant is taken out before the handler sees it, and its error is put into the answer afterwards; so nothing of it
happens. Of requests that only read, the answer is changed. What is meant as a whole has the shape that
``handlers/error_responses.py`` gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any, NamedTuple

from mockbroker.api import api_of
from mockbroker.call import Call, InjectedFaults, Verdict
from mockbroker.core.faults.matching import Hit, topics_named
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.subjects import TOPIC_RESOURCE_TYPE, topic_name
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

PRODUCE, FETCH, METADATA, API_VERSIONS, OFFSET_DELETE = 0, 1, 3, 18, 47
SHARE_FETCH, SHARE_ACKNOWLEDGE = 78, 79
PARTITION_APIS = frozenset({PRODUCE, FETCH, 2, 21, 23, SHARE_FETCH, SHARE_ACKNOWLEDGE})
SESSION_VERSION = 7
TOP_LEVEL_METADATA_VERSION = 13
GROUPS_VERSION = 8
COORDINATORS_VERSION = 4
NO_ACKS = 0
NO_OFFSET = -1
NO_LEADER = -1

SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
SHARE_SESSION_ERRORS = frozenset(
    {
        ErrorCode.SHARE_SESSION_NOT_FOUND,
        ErrorCode.INVALID_SHARE_SESSION_EPOCH,
        ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    }
)
AFTER_APPEND = frozenset({ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND})
"""What Produce answers once the records are in the leader's log. Source: DelayedProduce, Apache Kafka 4.4."""

Split = Callable[[Call, Hit, ErrorCode], "InjectedError"]


class InjectedError(NamedTuple):
    """An error has its place: ``verdict`` is the answer, None where the handler still answers the rest."""

    verdict: Verdict | None = None


PARTLY = InjectedError()


def injected_into(call: Call) -> InjectedFaults:
    """What faults do to a call, to add to."""
    if call.injected is None:
        call.injected = InjectedFaults()
    return call.injected


def inject_error(call: Call, code: ErrorCode, hit: Hit) -> InjectedError | None:
    """Have what is meant of a call answered with an error; None where its answer has no place for it."""
    try:
        if call.api_key in PARTITION_APIS:
            return into_partitions(call, code, hit)
        if call.api_key == METADATA:
            return into_metadata(call, code, hit)
        if call.api_key == API_VERSIONS and code is ErrorCode.UNSUPPORTED_VERSION:
            from mockbroker.handlers.api_versions import refuse_version

            return InjectedError(Verdict(refuse_version(call.session.served_versions), version=0))
        if hit.topics is not None or hit.groups is not None:
            into_part = INTO_PART.get(call.api_key)
            if into_part is not None:
                return into_part(call, hit, code)
        return into_whole(call, code)
    except ProtocolError:
        return None  # the request cannot be read, as its handler will say


def into_whole(call: Call, code: ErrorCode) -> InjectedError | None:
    if api_of(call.api_key) is None:
        return None
    response = error_response(call.request, call.version, ApiError(code))
    return None if response is None else InjectedError(Verdict(response))


def into_partitions(call: Call, code: ErrorCode, hit: Hit) -> InjectedError | None:
    """The partitions that are meant; errors of sessions, and only those, stand at the top of a Fetch or ShareFetch."""
    if call.api_key == FETCH and code in SESSION_ERRORS:
        if call.version < SESSION_VERSION:
            return None
        from protocol.apis.fetch import FetchResponse

        return InjectedError(Verdict(FetchResponse(error_code=code)))
    if call.api_key in (SHARE_FETCH, SHARE_ACKNOWLEDGE) and code in SHARE_SESSION_ERRORS:
        return into_whole(call, code)
    topics = topics_named(call) if hit.topics is None else hit.topics
    if not any(indexes is None or indexes for indexes in topics.values()):
        return None
    injected = injected_into(call)
    if call.api_key == PRODUCE and code in AFTER_APPEND:
        if call.request.acks == NO_ACKS:
            return None
        injected.amend.append(lambda response: fail_appended(call, response, code, hit))
        return PARTLY
    if hit.topics is None:
        injected.every_partition = code
        return PARTLY
    for topic, indexes in hit.topics.items():
        errors = injected.partition_errors.setdefault(topic, {})
        for index in (None,) if indexes is None else indexes:
            errors.setdefault(index, code)
    return PARTLY


def fail_appended(call: Call, response: Any, code: ErrorCode, hit: Hit) -> None:
    """The records were written, and yet the answer says that something went wrong."""
    for topic in response.responses:
        for partition in topic.partition_responses:
            if not partition.error_code and is_meant(hit, topic_name(call, topic), partition.index):
                partition.error_code, partition.base_offset, partition.log_append_time_ms = code, NO_OFFSET, -1


def into_metadata(call: Call, code: ErrorCode, hit: Hit) -> InjectedError | None:
    """The topics, or their partitions where the fault names any; the brokers are told truly."""
    request = call.request
    has_top = call.version >= TOP_LEVEL_METADATA_VERSION
    if code is ErrorCode.REBOOTSTRAP_REQUIRED or not topics_named(call):
        return into_whole(call, code) if has_top else None
    failed: dict[str, bytes] = {}
    if request.topics and not (hit.topics is not None and any(hit.topics.values())):
        rest = []
        for topic in request.topics:
            name = topic_name(call, topic)
            if name is not None and (hit.topics is None or name in hit.topics):
                failed[name] = topic.topic_id
            else:
                rest.append(topic)
        if rest or call.version:  # an empty list asks for all topics in v0
            hand_over(call, "topics", rest)
    injected_into(call).amend.append(lambda response: fail_topics(response, code, hit, failed))
    return PARTLY


def fail_topics(response: Any, code: ErrorCode, hit: Hit, failed: dict[str, bytes]) -> None:
    """Metadata and DescribeTopicPartitions: the topics that are meant, and those that the handler did not see."""
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
    present = {topic.name for topic in response.topics}
    for name, topic_id in failed.items():
        if name not in present:
            response.topics.append(type(response).Topic(name=name, topic_id=topic_id, error_code=code))


def describe_topic_partitions(call: Call, hit: Hit, code: ErrorCode) -> InjectedError:
    injected_into(call).amend.append(lambda response: fail_topics(response, code, hit, {}))
    return PARTLY


# requests that change something


def by_partition(field: str, partitions: str | None, answer: str) -> Split:
    """How to split a request with topics.

    Args:
        field: its list of topics; with ``partitions``, the list of partitions in each.
        answer: the answer's list of topics.
    """

    def split(call: Call, hit: Hit, code: ErrorCode) -> InjectedError:
        failed: list[Any] = []
        rest: list[Any] = []
        for topic in getattr(call.request, field):
            name = topic if isinstance(topic, str) else topic_name(call, topic)
            if not is_meant(hit, name):
                rest.append(topic)
                continue
            indexes = None if hit.topics is None or name is None else hit.topics[name]
            if partitions is None or indexes is None:
                failed.append(topic)
                continue
            for into, wanted in ((failed, True), (rest, False)):
                part = [one for one in getattr(topic, partitions) if (one.partition_index in indexes) is wanted]
                if part:
                    into.append(with_field(topic, partitions, part))
        return answer_failed(call, code, field, failed, rest, answer)

    return split


def answer_failed(
    call: Call,
    code: ErrorCode,
    field: str,
    failed: list[Any],
    rest: list[Any],
    answer: str,
    message: str | None = None,
) -> InjectedError:
    """Answer what is meant with the error; have the handler answer the rest, if there is any."""
    response = error_response(with_field(call.request, field, failed), call.version, ApiError(code, message))
    if call.api_key == OFFSET_DELETE:
        response.topics = [
            type(response).Topic(
                name=topic.name,
                partitions=[
                    type(response).Topic.Partition(partition_index=one.partition_index, error_code=code)
                    for one in topic.partitions
                ],
            )
            for topic in failed
        ]
    for top in ("error_code", "error_message"):
        if hasattr(response, top):
            setattr(response, top, 0 if top == "error_code" else None)
    if not rest:
        return InjectedError(Verdict(response))
    hand_over(call, field, rest)
    injected_into(call).amend.append(lambda true: add_entries(getattr(true, answer), getattr(response, answer)))
    return PARTLY


def add_entries(entries: list[Any], failed: Iterable[Any]) -> None:
    """Put the failed entries beside the others, partitions beside those of the same topic."""
    for one in failed:
        same = None
        if hasattr(one, "partitions"):
            same = next((entry for entry in entries if key_of(entry) == key_of(one)), None)
        if same is None:
            entries.append(one)
        else:
            same.partitions.extend(one.partitions)


def key_of(topic: Any) -> tuple[str | None, bytes]:
    return (topic.name, getattr(topic, "topic_id", b""))


def delete_topics(call: Call, hit: Hit, code: ErrorCode) -> InjectedError:
    field = "topics" if call.request.topics else "topic_names"
    return by_partition(field, None, "responses")(call, hit, code)


def delete_groups(call: Call, hit: Hit, code: ErrorCode) -> InjectedError:
    meant = hit.groups or ()
    names = call.request.groups_names
    failed, rest = [one for one in names if one in meant], [one for one in names if one not in meant]
    return answer_failed(call, code, "groups_names", failed, rest, "results")


def alter_configs(call: Call, hit: Hit, code: ErrorCode) -> InjectedError:
    failed: list[Any] = []
    rest: list[Any] = []
    for one in call.request.resources:
        is_failed = one.resource_type == TOPIC_RESOURCE_TYPE and is_meant(hit, one.resource_name)
        (failed if is_failed else rest).append(one)
    return answer_failed(call, code, "resources", failed, rest, "responses", code.meaning)


def hand_over(call: Call, field: str, rest: list[Any]) -> None:
    """Have the handler see a request with this part alone; observers see the whole again."""
    injected, whole = injected_into(call), call.request
    if not injected.hides_part:
        injected.hides_part = True
        injected.amend.append(lambda _response: call.put_request(whole))
    call.put_request(with_field(whole, field, rest))


def with_field(message: Any, field: str, value: Any) -> Any:
    """A message with another value in one field."""
    changed = copy(message)
    setattr(changed, field, value)
    return changed


# requests that only read


def offset_fetch(call: Call, hit: Hit, code: ErrorCode) -> InjectedError | None:
    """The partitions that are meant, or the groups where the fault names no topics."""
    if hit.topics is None and call.version < GROUPS_VERSION:
        return into_whole(call, code)
    injected_into(call).amend.append(lambda response: fail_offsets(call, response, code, hit))
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


def find_coordinator(call: Call, hit: Hit, code: ErrorCode) -> InjectedError | None:
    if call.version < COORDINATORS_VERSION:
        return into_whole(call, code)
    return in_place_of(call, hit, code, "coordinators", "key")


def describe_groups(call: Call, hit: Hit, code: ErrorCode) -> InjectedError | None:
    return in_place_of(call, hit, code, "groups", "group_id")


def in_place_of(call: Call, hit: Hit, code: ErrorCode, entries: str, key: str) -> InjectedError:
    """Put the error in place of the entries of the groups that are meant."""
    failed = error_response(call.request, call.version, ApiError(code))
    by_group = {getattr(one, key): one for one in getattr(failed, entries)}

    def amend(response: Any) -> None:
        setattr(
            response,
            entries,
            [
                by_group.get(getattr(one, key), one) if getattr(one, key) in (hit.groups or ()) else one
                for one in getattr(response, entries)
            ],
        )

    injected_into(call).amend.append(amend)
    return PARTLY


def describe_configs(call: Call, hit: Hit, code: ErrorCode) -> InjectedError:
    def amend(response: Any) -> None:
        for one in response.results:
            if one.resource_type == TOPIC_RESOURCE_TYPE and is_meant(hit, one.resource_name):
                one.error_code, one.error_message, one.configs = code, code.meaning, []

    injected_into(call).amend.append(amend)
    return PARTLY


def is_meant(hit: Hit, name: str | None, index: int | None = None) -> bool:
    """Whether a topic is meant, or one of its partitions."""
    if hit.topics is None:
        return True
    if name is None or name not in hit.topics:
        return False
    indexes = hit.topics[name]
    return index is None or indexes is None or index in indexes


INTO_PART: dict[int, Callable[[Call, Hit, ErrorCode], InjectedError | None]] = {
    8: by_partition("topics", "partitions", "topics"),
    9: offset_fetch,
    10: find_coordinator,
    15: describe_groups,
    19: by_partition("topics", None, "topics"),
    20: delete_topics,
    28: by_partition("topics", "partitions", "topics"),
    32: describe_configs,
    33: alter_configs,
    37: by_partition("topics", None, "results"),
    42: delete_groups,
    44: alter_configs,
    45: by_partition("topics", "partitions", "responses"),
    OFFSET_DELETE: by_partition("topics", "partitions", "topics"),
    69: describe_groups,
    75: describe_topic_partitions,
    77: describe_groups,
    89: describe_groups,
    90: describe_groups,
}
"""Who puts an error into a part of which API's answer; an API that is not here has it as a whole."""
