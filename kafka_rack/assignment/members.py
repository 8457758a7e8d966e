"""The members of a group as input of an assignor, and their order in Java's maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any

from kafka_rack.errors import InputError
from kafka_rack.java import hash_order, in_string_order, string_hash

TopicPartition = tuple[str, int]
Assignment = dict[str, list[TopicPartition]]
"""member id -> its (topic, partition) pairs, sorted by topic (as Java compares strings), then partition."""


@dataclass(slots=True)
class Member:
    """One member of a consumer group, as its subscription describes it.

    Attributes:
        member_id: unique in the group.
        topics: its subscription, in its own order.
        rack: its client.rack; None or empty: none.
        instance_id: group.instance.id of a static member.
        owned: the partitions that it claims to own: topic -> partition numbers, in its order. For the group
            coordinator's assignors: its current target assignment.
        generation: its last stable generation; None: it sent none, or one below 0.
        user_data: the bytes of its assignor in the subscription.
    """

    member_id: str
    topics: Sequence[str]
    rack: str | None = None
    instance_id: str | None = None
    owned: Sequence[tuple[str, Sequence[int]]] = ()
    generation: int | None = None
    user_data: bytes | None = None
    topic_set: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.topic_set = _topic_set(tuple(self.topics))
        if self.generation is not None and self.generation < 0:
            self.generation = None

    @classmethod
    def from_plain(cls, member_id: str, plain: Any) -> Member:
        """Parse the plain form of ``kafka_rack.assignment.assign``.

        Raises: InputError, naming the member and the field.
        """
        where = f"members.{member_id}"
        if not isinstance(plain, Mapping):
            raise InputError(f"{where}: expected an object with topics, got {plain!r}")
        read = plain.get
        topics = read("topics")
        if not isinstance(topics, (list, tuple)) or not _all_strings(topics):
            raise InputError(f"{where}.topics: expected a list of topic names, got {topics!r}")
        for name in ("rack", "instance_id"):
            value = read(name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"{where}.{name}: {value!r} is no string")
        generation = read("generation")
        if generation is not None and not isinstance(generation, int):
            raise InputError(f"{where}.generation: {generation!r} is no number")
        owned = read("owned")
        if owned is None:
            owned = ()
        if not isinstance(owned, (list, tuple)):
            raise InputError(f"{where}.owned: expected a list of [topic, [partition, ...]], got {owned!r}")
        for entry in owned:
            _check_owned(entry, f"{where}.owned")
        user_data = read("user_data")
        return cls(
            member_id,
            topics,
            read("rack"),
            read("instance_id"),
            owned,
            generation,
            None if user_data is None else _user_data(user_data, where),
        )

    def owned_partitions(self) -> list[TopicPartition]:
        """The partitions that the member claims to own, flat, in its order."""
        return [(topic, partition) for topic, partitions in self.owned for partition in partitions]


def members_from_plain(members: Any) -> list[Member]:
    """The members of the plain form, in the iteration order of a Java HashMap filled in the listed order."""
    if not isinstance(members, Mapping):
        raise InputError(f"members: expected an object of member ids, got {members!r}")
    return in_hash_order([Member.from_plain(member_id, plain) for member_id, plain in members.items()])


def in_hash_order(members: Sequence[Member]) -> list[Member]:
    """Members in the iteration order of a HashMap by member id, filled in this order."""
    by_id = {member.member_id: member for member in members}
    return [by_id[member_id] for member_id in hash_order(by_id, string_hash)]


def static_first(members: Iterable[Member]) -> list[Member]:
    """Static members by instance id, then the others by member id: the order of range and round robin."""
    static: list[Member] = []
    others: list[Member] = []
    for member in members:
        (others if member.instance_id is None else static).append(member)
    return in_string_order(static, attrgetter("instance_id")) + by_member_id(others)


def by_member_id(members: Iterable[Member]) -> list[Member]:
    """Members by their ids, as Java sorts strings."""
    return in_string_order(members, attrgetter("member_id"))


def alike(members: Sequence[Member]) -> bool:
    """True if all members subscribe to the same topics."""
    return not members or {member.topic_set for member in members} == {members[0].topic_set}


def subscribed_topics(members: Iterable[Member]) -> list[str]:
    """Every topic that any member subscribes to, sorted as Java sorts strings."""
    return in_string_order(frozenset().union(*{member.topic_set for member in members}), str)


def pairs_of(topic: str, count: int) -> list[TopicPartition]:
    """The partitions of a topic as pairs."""
    return list(zip(repeat(topic, count), range(count), strict=True))


@lru_cache(maxsize=64)
def _topic_set(topics: tuple[str, ...]) -> frozenset[str]:
    """The topics as a set, cached: members of a group usually have the same topics and share the set and its hash."""
    return frozenset(topics)


def _all_strings(values: Sequence[object]) -> bool:
    try:
        "".join(values)  # type: ignore[arg-type]  # whether they are strings is the question
    except TypeError:
        return False
    return True


def _check_owned(entry: object, where: str) -> None:
    if not (
        isinstance(entry, list | tuple)
        and len(entry) == 2
        and isinstance(entry[0], str)
        and isinstance(entry[1], list | tuple)
        and all(type(partition) is int for partition in entry[1])
    ):
        raise InputError(f"{where}: expected [topic, [partition, ...]], got {entry!r}")


def _user_data(value: object, where: str) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, str):
            return bytes.fromhex(value)
    except ValueError:
        pass
    raise InputError(f"{where}.user_data: expected bytes in hex, got {value!r}")
