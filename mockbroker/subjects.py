"""The subjects of a request: topics with their partitions, and groups.

Most of them follow from the declarations: ``topics[].partitions[].partition_index``, ``group_id``. Finding them decodes
the request, so call it only when needed. Some APIs have a function beside their handler, such as Fetch, whose subjects
are all partitions of its session, not only those that the request changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker.api import api_of
from mockbroker.api_parts import KEYS, fields_of, item_of, lists_of
from protocol.registry import message_class

if TYPE_CHECKING:
    from mockbroker.call import Call

TOPIC_RESOURCE_TYPE = 2
TOPIC_LISTS = ("topics", "topic_data", "topic_names", "topic_partitions", "resources")
PARTITION_LISTS = ("partitions", "partition_data", "partition_indexes")
GROUPS = ("group_id", "groups", "group_ids", "groups_names")
TOPIC_NAMES = ("name", "topic", "topic_name", "resource_name")


class Subjects(NamedTuple):
    """The subjects of one request.

    ``topics`` has the partitions of each topic in the request's order; none if the request names the topic as a whole.
    Topics named by id are listed under their name; unknown ids are omitted. ``all_topics``: the request is for every
    existing topic, as Metadata may be; those are not listed.
    """

    topics: dict[str, tuple[int, ...]]
    groups: tuple[str, ...] = ()
    all_topics: bool = False


NOTHING = Subjects({})


class TopicList(NamedTuple):
    """A list of topics in a record: the fields with a topic's name, with its partitions, and with their number.

    ``name`` is None if the list contains the names themselves, "" if topics have only an id; ``partitions`` is "" if
    topics are named as a whole, ``number`` if the list contains the numbers themselves.
    """

    field: str
    name: str | None
    partitions: str
    number: str


class Names(NamedTuple):
    """The fields of a request's record that name topics and groups; ``nested`` has the lists of records with some."""

    topics: tuple[TopicList, ...]
    groups: tuple[str, ...]
    nested: tuple[tuple[str, Names], ...]


def subjects_of(call: Call) -> Subjects:
    """The subjects of a call's request, found once per call.

    Raises ProtocolError: the request cannot be read.
    """
    found: Subjects | None = call.subjects
    if found is None:
        api, found = api_of(call.api_key), NOTHING
        if api is not None and (api.subjects or any(names_in(api.request, call.version))):
            found = (api.subjects or named)(call, call.request)
        call.subjects = found
    return found


def named(call: Call, request: Any) -> Subjects:
    """The subjects that the fields of a request name, by its declaration."""
    names = names_in(message_class(call.api_key, "request"), call.version)
    topics: dict[str, list[int]] = {}
    groups: list[str] = []
    all_topics = collect(call, request, names, topics, groups)
    return Subjects({name: tuple(indexes) for name, indexes in topics.items()}, tuple(groups), all_topics)


def with_session(
    call: Call, request: Any, session: Iterable[tuple[str | bytes, int]], forgotten: Iterable[tuple[str | bytes, int]]
) -> Subjects:
    """The partitions of a session that a request does not remove, then those that it names."""
    topics: dict[str, dict[int, None]] = {}
    fresh, gone = named(call, request), set(forgotten)
    for key, index in session:
        name = key if isinstance(key, str) else name_of_id(call, key)
        if name is not None and (key, index) not in gone:
            topics.setdefault(name, {})[index] = None
    for name, indexes in fresh.topics.items():
        topics.setdefault(name, {}).update(dict.fromkeys(indexes))
    return Subjects({name: tuple(indexes) for name, indexes in topics.items()}, fresh.groups)


def nothing_named(_call: Call, _request: Any) -> Subjects:
    """No subjects, for requests whose topics are not their subjects."""
    return NOTHING


def collect(call: Call, record: Any, names: Names, topics: dict[str, list[int]], groups: list[str]) -> bool:
    """Add what a record names; return True if it names all topics."""
    all_topics = False
    for listed in names.topics:
        elements = getattr(record, listed.field)
        all_topics |= elements is None
        for topic in elements or ():
            if getattr(topic, "resource_type", TOPIC_RESOURCE_TYPE) != TOPIC_RESOURCE_TYPE:
                continue
            name = topic if listed.name is None else topic_name(call, topic, listed.name)
            if name is not None:
                indexes = topics.setdefault(name, [])
                if listed.partitions:
                    own = getattr(topic, listed.partitions)
                    indexes += [getattr(one, listed.number) for one in own] if listed.number else own
    for field in names.groups:
        found = getattr(record, field)
        groups += [found] if isinstance(found, str) else found or ()
    for field, inner in names.nested:
        for element in getattr(record, field) or ():
            all_topics |= collect(call, element, inner, topics, groups)
    return all_topics


def topic_name(call: Call, topic: Any, field: str = "name") -> str | None:
    """The name of a topic that a request names by its name or by its id; None for an id that no topic has."""
    name: str | None = getattr(topic, field) if field else None
    if name:
        return name
    return name_of_id(call, getattr(topic, "topic_id", b""))


def name_of_id(call: Call, topic_id: bytes) -> str | None:
    """The name of the topic with this id; None if no topic has it."""
    known = call.cluster.topic_by_id.get(topic_id)
    return None if known is None else known.name


@cache
def names_in(record: Any, version: int) -> Names:
    """The fields of a request's record that name topics and groups, in a version.

    >>> from protocol.apis.group_offsets import OffsetCommitRequest
    >>> names_in(OffsetCommitRequest, 8)[:2]
    ((TopicList(field='topics', name='name', partitions='partitions', number='partition_index'),), ('group_id',))
    """
    fields = [field.name for field in fields_of(record, version)]
    lists = {field.name: item_of(record, field.name) for field in lists_of(record, version)}
    records = {name: item for name, item in lists.items() if isinstance(item, type)}
    topics = tuple(topic_lists(lists, version))
    found = {one.field for one in topics}
    nested = {name: names_in(item, version) for name, item in records.items() if name not in found}
    return Names(
        topics,
        tuple(name for name in fields if name in GROUPS and name not in records),
        tuple((name, inner) for name, inner in nested.items() if any(inner)),
    )


def topic_lists(lists: dict[str, Any], version: int) -> Iterator[TopicList]:
    """The lists of topics among a record's lists."""
    for name, item in lists.items():
        if name not in TOPIC_LISTS:
            continue
        if not isinstance(item, type):
            yield TopicList(name, None, "", "")
            continue
        fields = [field.name for field in fields_of(item, version)]
        own = next((field for field in fields if field in TOPIC_NAMES), "")
        partitions = next((field for field in fields if field in PARTITION_LISTS), "")
        number = ""
        if partitions and isinstance(inner := item_of(item, partitions), type):
            number = next(field.name for field in fields_of(inner, version) if field.name in KEYS)
        if own or name != "topic_partitions":  # by id, those are the partitions that a group's member owns
            yield TopicList(name, own, partitions, number)
