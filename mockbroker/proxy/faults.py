"""Errors for some partitions of a request before a real cluster: what is not to happen is not sent.

Our own handlers refuse each partition that a fault means as they look it up. Here such a partition is taken out of the
request, and its error put beside what the real broker answers of the others. A fetch in a session goes on whole, since
the session is the real broker's, and has its answer changed.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

from mockbroker.call import Call, InjectedFaults
from mockbroker.handlers.error_responses import error_response
from mockbroker.state.errors import ApiError
from mockbroker.subjects import subjects_of, topic_name
from protocol.error_codes import ErrorCode, error_name
from protocol.registry import message_class

PRODUCE, FETCH, SHARE_FETCH = 0, 1, 78
NO_ACKS = 0
TOPIC_ID_VERSION = 13
READS = (FETCH, SHARE_FETCH)
BY_ID = (FETCH, SHARE_FETCH, 79)
NO_OFFSET = -1
NO_SESSION = -1
"""The epoch of a fetch that is in no session and begins none."""


class Shape(NamedTuple):
    """Where the topics and partitions of an API's request and answer stand."""

    topics: str
    partitions: str
    number: str
    answered_topics: str
    answered_partitions: str
    answered_index: str
    name: str = "name"


SHAPES = {
    PRODUCE: Shape("topic_data", "partition_data", "index", "responses", "partition_responses", "index"),
    FETCH: Shape("topics", "partitions", "partition", "responses", "partitions", "partition_index", "topic"),
    2: Shape("topics", "partitions", "partition_index", "topics", "partitions", "partition_index"),
    21: Shape("topics", "partitions", "partition_index", "topics", "partitions", "partition_index"),
    23: Shape("topics", "partitions", "partition", "topics", "partitions", "partition", "topic"),
    SHARE_FETCH: Shape("topics", "partitions", "partition_index", "responses", "partitions", "partition_index"),
    79: Shape("topics", "partitions", "partition_index", "responses", "partitions", "partition_index"),
}


class Sending(NamedTuple):
    """What becomes of a request: ``request`` goes on, None where nothing of it does; ``answer`` is given in its place.

    ``closes`` says why the connection ends instead, behind what goes on, where the protocol has no answer.
    """

    request: Any
    answer: Any = None
    closes: str | None = None


def sending_of(call: Call) -> Sending:
    """What of a call goes on to the real broker under the faults that met it. Raises ProtocolError."""
    injected = call.injected
    assert injected is not None
    if not injected.partition_errors and injected.every_partition is None:
        return Sending(call.request)
    shape, whole = SHAPES[call.api_key], call.request
    failed, rest = split(call, injected, shape)
    if call.api_key in READS:
        return sending_of_read(call, injected, shape, failed, rest)
    if not failed:
        return Sending(whole)
    if call.api_key == PRODUCE and whole.acks == NO_ACKS:
        reason = f"produce with acks=0 failed: {', '.join(map(error_name, sorted(failed)))}"
        return Sending(with_topics(whole, shape, rest) if rest else None, closes=reason)
    answer = failed_answer(call, shape, failed)
    if not rest:
        return Sending(None, answer)
    injected.amend.insert(0, lambda true: merge(true, answer, shape))
    return Sending(with_topics(whole, shape, rest))


def sending_of_read(
    call: Call, injected: InjectedFaults, shape: Shape, failed: dict[int, list[Any]], rest: list[Any]
) -> Sending:
    """A fetch: answered here where it is about nothing else and in no session; else its answer is changed.

    Outside of a session the rest goes on alone, so that it has the room for records to itself. What goes on does not
    wait for records, since there is something to be told.
    """
    whole = call.request
    epoch = whole.session_epoch if call.api_key == FETCH else whole.share_session_epoch
    is_alone = call.api_key == FETCH and epoch <= 0 and not rest
    is_apart = call.api_key == FETCH and epoch == NO_SESSION
    if epoch > 0:
        failed = failed_in_session(call, injected)
    answer = failed_answer(call, shape, failed)
    if failed and is_alone:
        return Sending(None, answer)

    def amend(true: Any) -> None:
        if getattr(true, "error_code", 0):
            return
        drop_meant(call, true, injected, shape)
        merge(true, answer, shape)

    injected.amend.insert(0, amend)
    if not failed:
        return Sending(whole)
    quick = with_topics(whole, shape, rest if is_apart else whole.topics)
    quick.max_wait_ms = 0
    return Sending(quick)


def split(call: Call, injected: InjectedFaults, shape: Shape) -> tuple[dict[int, list[Any]], list[Any]]:
    """The topics of a request with the partitions that are meant, by error, and with those that are not."""
    failed: dict[int, list[Any]] = {}
    rest: list[Any] = []
    for topic in getattr(call.request, shape.topics):
        name = topic_name(call, topic, shape.name) if hasattr(topic, shape.name) else known_name(call, topic)
        by_error: dict[int | None, list[Any]] = {}
        for one in getattr(topic, shape.partitions):
            code = None if name is None else injected.error_of(name, getattr(one, shape.number))
            by_error.setdefault(code, []).append(one)
        for code, partitions in by_error.items():
            part = copy(topic)
            setattr(part, shape.partitions, partitions)
            (rest if code is None else failed.setdefault(code, [])).append(part)
    return failed, rest


def failed_in_session(call: Call, injected: InjectedFaults) -> dict[int, list[Any]]:
    """The topics with the partitions that are meant, by error, out of all that a fetch's session has."""
    request = message_class(call.api_key, "request")
    number = SHAPES[call.api_key].number
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


def known_name(call: Call, topic: Any) -> str | None:
    """The name of a topic that has an id alone."""
    known = call.cluster.topic_by_id.get(topic.topic_id)
    return None if known is None else known.name


def with_topics(request: Any, shape: Shape, topics: list[Any]) -> Any:
    """A request about these topics."""
    changed = copy(request)
    setattr(changed, shape.topics, topics)
    return changed


def failed_answer(call: Call, shape: Shape, failed: dict[int, list[Any]]) -> Any:
    """An answer with an error for each partition that is meant; None where none is."""
    whole = None
    for code, topics in sorted(failed.items()):
        if call.api_key in BY_ID:
            answer = answer_by_id(call, topics, code)
        else:
            answer = error_response(with_topics(call.request, shape, topics), call.version, ApiError(ErrorCode(code)))
        if hasattr(answer, "error_code"):
            answer.error_code = 0
        if whole is None:
            whole = answer
        else:
            merge(whole, answer, shape)
    return whole


def answer_by_id(call: Call, topics: list[Any], code: int) -> Any:
    """An answer with an error for each partition, of the APIs whose refusals name no partitions that go by topic id."""
    response = message_class(call.api_key, "response")
    answer = response()
    for topic in topics:
        refused = answer_topic(response, topic)
        for one in topic.partitions:
            index = one.partition if call.api_key == FETCH else one.partition_index
            entry = response.Topic.Partition(partition_index=index, error_code=code)
            if call.api_key == FETCH:
                entry.high_watermark, entry.records = NO_OFFSET, b""
            refused.partitions.append(entry)
        answer.responses.append(refused)
    return answer


def answer_topic(response: Any, topic: Any) -> Any:
    """A topic of an answer, by the name or the id by which the request has it."""
    names = {"topic": topic.topic} if hasattr(topic, "topic") else {}
    return response.Topic(topic_id=topic.topic_id, partitions=[], **names)


def merge(answer: Any, other: Any, shape: Shape) -> None:
    """Put the partitions of another answer beside those of this one."""
    if other is None:
        return
    topics = getattr(answer, shape.answered_topics)
    for added in getattr(other, shape.answered_topics):
        same = next((topic for topic in topics if key_of(topic, shape) == key_of(added, shape)), None)
        if same is None:
            topics.append(added)
        else:
            getattr(same, shape.answered_partitions).extend(getattr(added, shape.answered_partitions))


def key_of(topic: Any, shape: Shape) -> tuple[str | None, bytes]:
    return getattr(topic, shape.name, None) or None, getattr(topic, "topic_id", b"")


def drop_meant(call: Call, answer: Any, injected: InjectedFaults, shape: Shape) -> None:
    """Take the partitions that are meant out of a real answer."""
    kept = []
    for topic in getattr(answer, shape.answered_topics):
        name = getattr(topic, shape.name, None) or known_name(call, topic)
        partitions = [
            one
            for one in getattr(topic, shape.answered_partitions)
            if name is None or injected.error_of(name, getattr(one, shape.answered_index)) is None
        ]
        if partitions:
            setattr(topic, shape.answered_partitions, partitions)
            kept.append(topic)
    setattr(answer, shape.answered_topics, kept)
