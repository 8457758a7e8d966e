from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.groups.modern.topics import GroupTopics
from mockbroker.state.errors import ApiError
from mockbroker.streams_groups.topology import Status, StatusCode, Subtopology, Topology, _Numbers, by_id, configure
from protocol.error_codes import ErrorCode

Info = Subtopology.TopicInfo
TOGETHER = Subtopology.CopartitionGroup(source_topics=[0], repartition_source_topics=[0])


def topics(counts: Mapping[str, int]) -> GroupTopics:
    there: dict[str, Any] = {name: SimpleNamespace(partitions=[None] * count) for name, count in counts.items()}
    cluster: Any = SimpleNamespace(topics=there, topic_by_id={}, brokers={}, version=0)
    return GroupTopics(cluster)


def sub(number: int, *sources: str, reads: tuple[Info, ...] = (), **fields: Any) -> Subtopology:
    return Subtopology(
        subtopology_id=str(number), source_topics=list(sources), repartition_source_topics=list(reads), **fields
    )


def test_a_repartition_topic_is_as_wide_as_what_it_is_made_from_and_so_on_down():
    chain = Topology(
        subtopologies=[
            sub(2, reads=(Info(name="second"),), state_changelog_topics=[Info(name="counts")]),
            sub(1, reads=(Info(name="first"),), repartition_sink_topics=["second"]),
            sub(0, "narrow", "wide", repartition_sink_topics=["first"]),
        ]
    )
    found = configure(chain, topics({"narrow": 2, "wide": 7}))
    assert {name: topic.partitions for name, topic in found.missing.items()} == {"first": 7, "second": 7, "counts": 7}
    assert {name: one.tasks for name, one in found.subtopologies.items()} == {"0": 7, "1": 7, "2": 7}
    assert [one.is_stateful for one in found.subtopologies.values()] == [False, False, True]


def test_a_repartition_topic_with_a_number_of_its_own_keeps_it():
    told = Topology(
        subtopologies=[
            sub(0, "in", repartition_sink_topics=["own"]),
            sub(1, reads=(Info(name="own", partitions=9, replication_factor=2),)),
        ]
    )
    found = configure(told, topics({"in": 3}))
    assert (found.missing["own"].partitions, found.missing["own"].replication_factor) == (9, 2)
    assert found.subtopologies["1"].tasks == 9


def test_a_repartition_topic_that_is_joined_is_as_wide_as_the_topic_beside_it():
    told = Topology(
        subtopologies=[
            sub(0, "in", repartition_sink_topics=["by-key"]),
            sub(1, "table", reads=(Info(name="by-key"),), copartition_groups=[TOGETHER]),
        ]
    )
    assert configure(told, topics({"in": 3, "table": 5})).missing["by-key"].partitions == 5


@pytest.mark.parametrize(
    ("subtopologies", "there", "status"),
    [
        (
            [sub(0, "e", "d", "c", "b", "a")],
            {"c": 1},
            Status(StatusCode.MISSING_SOURCE_TOPICS, "Source topics a, b, d and 1 additional topics are missing."),
        ),
        (
            [sub(0, "a", "b", copartition_groups=[Subtopology.CopartitionGroup(source_topics=[0, 1])])],
            {"a": 1, "b": 2},
            Status(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                "Following topics do not have the same number of partitions: [{a=1, b=2}]",
            ),
        ),
        (
            [
                sub(0, "a", repartition_sink_topics=["r"]),
                sub(1, "a", reads=(Info(name="r", partitions=4),), copartition_groups=[TOGETHER]),
            ],
            {"a": 3},
            Status(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                "Number of partitions [4] of repartition topic [r] doesn't match number of partitions [3] of the"
                " source topic.",
            ),
        ),
        (
            [sub(0, "a", state_changelog_topics=[Info(name="c")])],
            {"a": 3, "c": 2},
            Status(
                StatusCode.INCORRECTLY_PARTITIONED_TOPICS,
                "Existing topic c has different number of partitions: expected 3, found 2",
            ),
        ),
        (
            [sub(0, "a", state_changelog_topics=[Info(name="c")])],
            {"a": 3},
            Status(StatusCode.MISSING_INTERNAL_TOPICS, "Internal topics are missing: c"),
        ),
    ],
    ids=["sources", "unequal", "number of its own", "existing", "internal"],
)
def test_what_stands_in_the_way_is_told_as_kafka_tells_it(subtopologies, there, status):
    found = configure(Topology(subtopologies=subtopologies), topics(there))
    assert (found.problem, found.is_ready) == (status, False)


@pytest.mark.parametrize(
    "subtopologies",
    [
        [sub(0, reads=(Info(name="r"),), repartition_sink_topics=["r"])],
        [sub(0, "a", reads=(Info(name="r"),))],
        [sub(0)],
    ],
    ids=["loop", "written by nobody", "no input"],
)
def test_a_topology_whose_numbers_nothing_can_give_is_refused(subtopologies):
    with pytest.raises(ApiError) as refused:
        configure(Topology(subtopologies=subtopologies), topics({"a": 1}))
    assert refused.value.code == ErrorCode.STREAMS_INVALID_TOPOLOGY


def in_rounds(topology: Topology, there: Mapping[str, int]) -> dict[str, int] | None:
    """The widths of repartition topics as Kafka decides on them, over all subtopologies again and again; None: never.

    Source: RepartitionTopics.setRepartitionSourceTopicPartitionCount, Apache Kafka 4.4.
    """
    order = list(by_id(topology).values())
    counts = {info.name: info.partitions for one in order for info in one.repartition_source_topics if info.partitions}
    while True:
        is_open = has_moved = False
        for one in order:
            for sink in one.repartition_sink_topics:
                if sink in counts:
                    continue
                known = [counts.get(info.name) for info in one.repartition_source_topics]
                known += [there.get(name) for name in one.source_topics]
                most = max((count for count in known if count is not None), default=None)
                if most is None:
                    is_open = True
                else:
                    counts[sink], has_moved = most, True
        if not is_open:
            return counts
        if not has_moved:
            return None


@given(st.data())
def test_widths_are_those_that_kafka_finds_in_rounds(data):
    names = [f"between-{number}" for number in range(6)]
    there = {"in-0": 1, "in-1": 5, "in-2": 3}
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    subtopologies = [
        sub(
            number,
            *data.draw(st.lists(st.sampled_from(sorted(there)), max_size=2, unique=True)),
            reads=tuple(
                Info(name=name, partitions=data.draw(st.sampled_from([0, 0, 0, 2]))) for name in data.draw(some)
            ),
            repartition_sink_topics=data.draw(some),
        )
        for number in range(data.draw(st.integers(1, 6)))
    ]
    topology = Topology(subtopologies=subtopologies)
    expected = in_rounds(topology, there)
    numbers = _Numbers(topology, topics(there))
    sources = {info.name for one in subtopologies for info in one.repartition_source_topics}
    if expected is None or sources - expected.keys():
        with pytest.raises(ApiError):
            numbers._repartition_counts()
    else:
        assert numbers._repartition_counts() == expected
