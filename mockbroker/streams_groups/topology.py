"""A topology checked against existing topics: missing topics, and partition counts of internal topics.

Source: InternalTopicManager, RepartitionTopics, ChangelogTopics, CopartitionedTopicsEnforcer and StreamsTopology,
Apache Kafka 4.4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from heapq import heappop, heappush
from typing import Any, NamedTuple

from msgspec import structs

from kafka_rack.java import hash_order, string_hash
from mockbroker.groups.modern.topics import GroupTopics
from mockbroker.state.errors import ApiError
from protocol.apis.streams_group import StreamsGroupHeartbeatResponse
from protocol.embedded.streams_group_log import StreamsGroupTopologyValue
from protocol.error_codes import ErrorCode

Topology = StreamsGroupTopologyValue
Subtopology = Topology.Subtopology
TopicInfo = Subtopology.TopicInfo
Status = StreamsGroupHeartbeatResponse.Status
SHOWN_TOPICS = 3


class StatusCode(IntEnum):
    """The status codes in heartbeat responses."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


def status(code: int, detail: str) -> Status:
    """A status in a heartbeat response."""
    return Status(status_code=code, status_detail=detail)


class ConfiguredSubtopology(NamedTuple):
    """A subtopology whose internal topics have partition counts, and the number of its tasks."""

    tasks: int
    declared: Subtopology

    @property
    def is_stateful(self) -> bool:
        return bool(self.declared.state_changelog_topics)

    @property
    def inputs(self) -> list[str]:
        """The input topics of its tasks, in Kafka's order."""
        repartition = sorted(topic.name for topic in self.declared.repartition_source_topics)
        return hash_order([*self.declared.source_topics, *repartition], string_hash)


@dataclass(slots=True, frozen=True)
class ConfiguredTopology:
    """A topology with partition counts; ``subtopologies`` is None if topics leave them unknown.

    ``missing`` are the internal topics to create; ``problem`` is the status that blocks the assignment.
    """

    epoch: int
    subtopologies: Mapping[str, ConfiguredSubtopology] | None = None
    missing: Mapping[str, TopicInfo] = field(default_factory=dict)
    problem: Status | None = None

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _TopicProblemError(Exception):
    """The topics do not meet the topology's requirements; its argument is a status."""


def by_id(topology: Topology) -> dict[str, Subtopology]:
    """The subtopologies in Kafka's order of iteration."""
    found = {one.subtopology_id: one for one in topology.subtopologies}
    return {name: found[name] for name in hash_order(found, string_hash)}


def are_equal(one: Topology, other: Topology) -> bool:
    """True if two topologies are equal, regardless of the order of subtopologies."""
    return one.epoch == other.epoch and by_id(one) == by_id(other)


def inputs_of(one: Any) -> list[str]:
    """The topics that a subtopology in a record or request reads."""
    return [*one.source_topics, *(topic.name for topic in one.repartition_source_topics)]


def changelogs_of(one: Any) -> list[str]:
    """The topics that store the state of a subtopology in a record or request."""
    return [topic.name for topic in one.state_changelog_topics]


def required_topics(topology: Topology) -> list[str]:
    """All topics of a topology except those that are only written, in Kafka's order of iteration."""
    names = [name for one in by_id(topology).values() for name in (*inputs_of(one), *changelogs_of(one))]
    return hash_order(names, string_hash)


def readers_of_topics(topology: Topology) -> dict[str, str]:
    """The id of the subtopology that reads a topic, by the topic's name."""
    return {topic: name for name, one in by_id(topology).items() for topic in inputs_of(one)}


def configure(topology: Topology, topics: GroupTopics) -> ConfiguredTopology:
    """Compute a topology's partition counts from existing topics.

    Raises ApiError: STREAMS_INVALID_TOPOLOGY if the counts cannot be computed, whatever the topics.
    """
    try:
        return _Numbers(topology, topics).configured()
    except _TopicProblemError as error:
        return ConfiguredTopology(topology.epoch, problem=error.args[0])


def shown(names: Iterable[str]) -> str:
    """The first names, and the number of others.

    >>> shown(["a", "b", "c", "d", "e"])
    'a, b, c and 2 additional topics'
    """
    listed = list(names)
    more = f" and {len(listed) - SHOWN_TOPICS} additional topics" if len(listed) > SHOWN_TOPICS else ""
    return ", ".join(listed[:SHOWN_TOPICS]) + more


def invalid(problem: str) -> ApiError:
    return ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, problem)


def badly_partitioned(problem: str) -> _TopicProblemError:
    return _TopicProblemError(status(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, problem))


class _Numbers:
    """The actual and required partition counts of a topology's topics."""

    def __init__(self, topology: Topology, topics: GroupTopics) -> None:
        self.topology, self.topics = topology, topics
        self.subtopologies = by_id(topology)
        self.decided: dict[str, int] = {}

    def configured(self) -> ConfiguredTopology:
        sources = {name for one in self.subtopologies.values() for name in one.source_topics}
        missing = sorted(sources.difference(self.topics.by_name))
        if missing:
            detail = f"Source topics {shown(missing)} are missing."
            raise _TopicProblemError(status(StatusCode.MISSING_SOURCE_TOPICS, detail))
        self.decided.update(self._repartition_counts())
        self._enforce_copartitioning()
        self.decided.update(self._changelog_counts())
        found = {name: self._configured(self.subtopologies[name]) for name in sorted(self.subtopologies)}
        to_make = self._to_make(found)
        problem = None
        if to_make:
            problem = status(StatusCode.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {shown(to_make)}")
        return ConfiguredTopology(self.topology.epoch, found, to_make, problem)

    def count(self, name: str) -> int:
        """The partitions of a source topic: existing ones, or else the computed number."""
        topic = self.topics.by_name.get(name)
        return self.decided[name] if topic is None else len(topic.partitions)

    def _repartition_counts(self) -> dict[str, int]:
        """Partitions of repartition topics: the number of tasks of the subtopology that writes them.

        Kafka goes over all subtopologies in rounds, until one decides nothing. Here a subtopology has its turn again
        only if one of its inputs was decided.
        """
        counts = {
            topic.name: topic.partitions
            for one in self.subtopologies.values()
            for topic in one.repartition_source_topics
            if topic.partitions
        }
        order = list(self.subtopologies.values())
        readers = defaultdict(list)
        for at, one in enumerate(order):
            for topic in one.repartition_source_topics:
                readers[topic.name].append(at)
        turns = [(0, at) for at in range(len(order))]  # rounds and positions, a heap
        undecided = set(range(len(order)))
        while turns:
            turn, at = heappop(turns)
            inputs = self._known_inputs(order[at], counts) if at in undecided else []
            if not inputs:
                continue
            undecided.remove(at)
            tasks = max(inputs)
            for sink in order[at].repartition_sink_topics:
                if sink not in counts:
                    counts[sink] = tasks
                    for reader in readers[sink]:
                        heappush(turns, (turn if reader > at else turn + 1, reader))
        sources = [topic.name for one in order for topic in one.repartition_source_topics]
        unknown = {*sources, *(sink for one in order for sink in one.repartition_sink_topics)}.difference(counts)
        if unknown:
            raise invalid(
                f"Failed to compute number of partitions for repartition topics {shown(sorted(unknown))}."
                " There may be loops in the topology, or a repartition source topic that is never used as a sink topic."
            )
        return counts

    def _known_inputs(self, one: Subtopology, counts: Mapping[str, int]) -> list[int]:
        """The partitions of the topics that a subtopology reads, as far as they are known."""
        own = [counts[topic.name] for topic in one.repartition_source_topics if topic.name in counts]
        return [*map(self.count, one.source_topics), *own]

    def _enforce_copartitioning(self) -> None:
        infos = [topic for one in self.subtopologies.values() for topic in one.repartition_source_topics]
        fixed = {topic.name for topic in infos if topic.partitions}
        flexible = {topic.name for topic in infos if not topic.partitions}
        fixed_counts = set(map(self.count, fixed))
        for one in self.subtopologies.values():
            for group in one.copartition_groups:
                names = {one.source_topics[at] for at in group.source_topics}
                names |= {one.repartition_source_topics[at].name for at in group.repartition_source_topics}
                if names:
                    self.decided.update(self._copartitioned(sorted(names), fixed, flexible, fixed_counts))

    def _copartitioned(
        self, names: list[str], fixed: set[str], flexible: set[str], fixed_counts: set[int]
    ) -> dict[str, int]:
        """The partitions of the repartition topics among these: the same number for all."""
        own = {name: self.count(name) for name in names if name in fixed or name in flexible}
        others = {name: self.count(name) for name in names if name not in own}
        if others:
            if len(set(others.values())) > 1:
                raise unequal(others)
            count = next(iter(others.values()))
        elif fixed:
            count, *different = fixed_counts
            if different:
                raise unequal(own)
        else:
            count = max(own.values())
        for name in hash_order(own, string_hash):
            if name in fixed and own[name] != count:
                raise badly_partitioned(
                    f"Number of partitions [{own[name]}] of repartition topic [{name}] doesn't match number of"
                    f" partitions [{count}] of the source topic."
                )
        return dict.fromkeys(own, count)

    def _tasks(self, one: Subtopology) -> int:
        return max(self.count(name) for name in inputs_of(one))

    def _changelog_counts(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for one in self.subtopologies.values():
            if not inputs_of(one):
                raise invalid(f"No source topics found for subtopology {one.subtopology_id}")
            counts.update(dict.fromkeys(changelogs_of(one), self._tasks(one)))
        return counts

    def _configured(self, one: Subtopology) -> ConfiguredSubtopology:
        message: Any = one
        declared: Subtopology = structs.replace(
            message,
            source_topics=sorted(set(one.source_topics)),
            repartition_sink_topics=sorted(set(one.repartition_sink_topics)),
            repartition_source_topics=self._internal(one.repartition_source_topics),
            state_changelog_topics=self._internal(one.state_changelog_topics),
        )
        return ConfiguredSubtopology(self._tasks(one), declared)

    def _internal(self, topics: Iterable[Any]) -> list[TopicInfo]:
        """Each topic with its number of partitions, and its configs in Kafka's order."""
        found: dict[str, TopicInfo] = {}
        for topic in topics:
            configs = {one.key: one for one in topic.topic_configs}
            found[topic.name] = structs.replace(
                topic,
                partitions=topic.partitions or self.decided[topic.name],
                topic_configs=[configs[key] for key in hash_order(configs, string_hash)],
            )
        return list(found.values())

    def _to_make(self, found: Mapping[str, ConfiguredSubtopology]) -> dict[str, TopicInfo]:
        """The internal topics that do not exist, in Kafka's order; checks the partitions of those that exist."""
        required = {
            topic.name: topic
            for _, one in found.values()
            for topic in (*one.repartition_source_topics, *one.state_changelog_topics)
        }
        for name in required_topics(self.topology):
            existing = self.topics.by_name.get(name)
            if existing is not None and name in required and len(existing.partitions) != required[name].partitions:
                raise badly_partitioned(
                    f"Existing topic {name} has different number of partitions:"
                    f" expected {required[name].partitions}, found {len(existing.partitions)}"
                )
        return {name: required[name] for name in hash_order(required, string_hash) if name not in self.topics.by_name}


def unequal(counts: Mapping[str, int]) -> _TopicProblemError:
    listed = ", ".join(f"{name}={count}" for name, count in sorted(counts.items()))
    return badly_partitioned(f"Following topics do not have the same number of partitions: [{{{listed}}}]")
