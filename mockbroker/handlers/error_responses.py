"""Answers to requests that fail as a whole: the error in each error field that the API has.

Some APIs have one error for the whole answer, others one for each topic, partition or group of the request; then each
of them gets it. The declarations and ``Errors`` of the handler's module say which.
Source: ``getErrorResponse`` of each API's request class, called by KafkaApis.handleError, Apache Kafka 4.4; for the
versions that 4.x dropped, 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from mockbroker.api import Api, Errors, served_api
from mockbroker.api_parts import Level, error_field, fields_of
from mockbroker.call import Call
from mockbroker.state.errors import ApiError
from protocol.error_codes import ErrorCode

Response = TypeVar("Response")


def error_response(request: Any, version: int, error: Exception) -> Any:
    """The response to a request that failed as a whole.

    Args:
        error: an ApiError, or any other exception, which becomes UNKNOWN_SERVER_ERROR.

    Returns: a response message; None if the broker can only close the connection (Produce with acks=0).

    >>> from protocol.apis.groups import ListGroupsRequest
    >>> error_response(ListGroupsRequest(), 4, ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    ListGroupsResponse(error_code=14)
    """
    api = served_api(type(request).api_key)
    found, answer = shown_error(error), api.response()
    if error_field(api.response, version):
        fail(answer, version, api.errors, found)
    if levels := api.failed_parts(version):
        setattr(answer, levels[0].answered, entries_for(api, request, version, found))
    return answer if api.errors.odd is None else api.errors.odd(request, answer, found, version)


@contextmanager
def reported(entry: Any) -> Iterator[None]:
    """Set an entry of an answer to the ApiError that the block raises, if any: its code, and its message if it has one.

    >>> from protocol.apis.topics import CreateTopicsResponse
    >>> with reported(topic := CreateTopicsResponse.Topic(name="orders")):
    ...     raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, "there is one")
    >>> topic.error_code, topic.error_message
    (36, 'there is one')
    """
    try:
        yield
    except ApiError as error:
        entry.error_code = int(error.code)
        if hasattr(entry, "error_message"):
            entry.error_message = error.message


def answer_parts(call: Call, request: Any, response_class: type[Response], answer: Callable[..., None]) -> Response:
    """The answer to a request whose parts, such as partitions or groups, are answered one by one.

    Args:
        answer: ``(call, entry, *elements)`` completes the entry of a part, which already has its keys; an ApiError
            becomes the part's error. ``elements`` are the elements of the request's lists that lead to the part: a
            topic and a partition, or a group.
    """
    api = served_api(call.api_key)
    levels, errors = api.parts(call.version), api.errors

    def complete(entry: Any, *elements: Any) -> None:
        try:
            answer(call, entry, *elements)
        except ApiError as error:
            fail(entry, call.version, errors, shown_error(error))

    return response_class(**{levels[0].answered: entries_of(request, levels, complete)})


def entries_of(
    record: Any, levels: Sequence[Level], complete: Callable[..., None], outer: tuple[Any, ...] = ()
) -> list[Any]:
    """The answer's entries for all elements of a request; ``complete(entry, *elements)`` fills the innermost in."""
    level, *further = levels
    entries = []
    for element in level.elements(record):
        entry = level.entry_of(element)
        if further:
            setattr(entry, further[0].answered, entries_of(element, further, complete, (*outer, element)))
        else:
            complete(entry, *outer, element)
        entries.append(entry)
    return entries


def entries_for(api: Api, request: Any, version: int, error: ApiError) -> list[Any]:
    """The answer's entries for all parts that the request names, each with the error."""
    return entries_of(request, api.parts(version), lambda entry, *_: fail(entry, version, api.errors, error))


def add_entries(entries: list[Any], added: Iterable[Any], levels: Sequence[Level]) -> None:
    """Add entries to an answer; partitions join those of the same topic."""
    level, *further = levels
    if not further:
        entries += added
        return
    known = {level.key_of(one): one for one in reversed(entries)}
    for entry in added:
        same = known.setdefault(level.key_of(entry), entry)
        if same is entry:
            entries.append(entry)
        else:
            name = further[0].answered
            add_entries(getattr(same, name), getattr(entry, name), further)


def by_topic(
    topic_class: Any, entries: Mapping[tuple[Any, int], Any], key: str = "name", partitions: str = "partitions"
) -> list[Any]:
    """The topics of an answer, each once, from its partitions' entries by topic and partition.

    Args:
        key: the field with a topic's name or id.
        partitions: the field with its partitions.
    """
    topics: dict[Any, list[Any]] = {}
    for (topic, _), entry in entries.items():
        topics.setdefault(topic, []).append(entry)
    return [topic_class(**{key: topic, partitions: found}) for topic, found in topics.items()]


def each_topic_once(call: Call, topics: Iterable[Any]) -> list[Any]:
    """The topics of an answer, each once, with the partitions of all its entries."""
    found: list[Any] = []
    add_entries(found, topics, served_api(call.api_key).parts(call.version))
    return found


def fail(record: Any, version: int, errors: Errors, error: ApiError) -> None:
    """Set a record of an answer to an error: its code, its message, and the other fields as ``Errors.failed`` says."""
    if name := error_field(type(record), version):
        since, older = errors.older.get(error.code, (0, 0))
        setattr(record, name, int(error.code) if version >= since else older)
    for field in fields_of(type(record), version):
        if field.name == "error_message":
            value = None if errors.words == "nothing" else error.message
            if errors.words == "meaning":
                value = value or ErrorCode(error.code).meaning
        elif field.name in errors.failed:
            value = errors.failed[field.name]
        else:
            continue
        if value is not None or version in field.nullable:
            setattr(record, field.name, value)


def shown_error(error: Exception) -> ApiError:
    """The error that a client sees: UNKNOWN_SERVER_ERROR has no message, which is for the log.

    Source: ApiError.fromThrowable.
    """
    if isinstance(error, ApiError) and error.code != ErrorCode.UNKNOWN_SERVER_ERROR:
        return error
    return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
