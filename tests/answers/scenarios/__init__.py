"""Scenarios: what is asked of a real Kafka while it is recorded, and of ours in every test run. One module a family.

A scenario is a function that is given a `Story` (tests/answers/story.py; its methods say all that can be done). The
same function runs against Kafka and against ours, so it never knows an answer: it asks, and steps with names are kept.

    from tests.answers.scenarios import scenario
    from tests.answers.story import Story, mine

    @scenario("delete groups v{version}", versions="DeleteGroups")     # one scenario a version that Kafka 4.4 has
    def delete_groups(story: Story, version: int) -> None:
        topic = story.topic("t", partitions=2)            # set-up: made, known to all brokers; "delete-groups-v1.t"
        group = story.named("g")                          # "delete-groups-v1.g"
        right = story.coordinator(group)                  # found, and ready
        commit = {"groupId": group, "topics": [{"name": topic.name,
                  "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]}
        story.quiet("OffsetCommit", 7, commit, to=right)  # set-up too: asked, not kept
        wanted = {"groupsNames": [group]}
        story.ask("not the coordinator", "DeleteGroups", version, wanted, to=story.not_coordinator(group))
        story.ask("one", "DeleteGroups", version, wanted, to=right)
        story.ask("again", "DeleteGroups", version, wanted, to=right)
        story.ask("all that are left", "ListGroups", 4, {}, to=right, only=mine(story, "groups"))

    @scenario("fetch/waits")                              # without versions: once
    def waits(story: Story) -> None:
        topic = story.topic("t")
        wanted = {...}
        pending = story.begin("until there is something", "Fetch", 12, wanted, to=topic.leader(0), on="reader")
        story.wait(100)
        story.produced(topic, b"a record")
        pending.answer()                                  # kept now

- `versions` names the API whose versions of Kafka 4.4 the scenario runs with; `versions=("Fetch", 4, 12)` takes only
  those. Fields that a version does not have are left out of the request: write the newest form.
- Records: `story.batch(b"value", (b"key", b"value"), at=5, codec=..., producer_id=...)`; times: `story.time(ms)`.
- Brokers 0, 1, 2 are in racks a, b, c. `story.stop(2)` and `story.start(2)` need a family of their own, since all
  scenarios of a family share one real cluster.
- A module may have `SETTINGS = {"group.max.size": "2"}`: broker settings of the family, beside those of `BASE`.
- A module may have `USERS = ["ann"]`: `story.ask(..., on="as ann")` asks as User:ann, who has logged in.
- Random values and times get names by the field's name (tests/answers/normal.py): add your API's there.
- `story.until(lambda: ...)` looks until something holds; `story.settle()` waits for the metadata at all brokers.

Record: `python -m tests.answers record --family delete_groups` writes fixtures/answers/kafka-4.4/delete_groups.jsonl.gz
from two fresh clusters; steps that differ between the two are dropped and printed. Then
`python -m tests.answers compare --family delete_groups` shows where ours differs. tests/conformance/test_answers.py
compares all in each run; tests/answers/excuses.py has what may differ, and why.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.answers.versions import VERSIONS

BASE = {
    "default.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
    "group.consumer.assignment.interval.ms": "0",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "1",
}
"""Settings of every recorded cluster, and of ours beside it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One story of a family: ``run(story)`` tells it."""

    name: str
    family: str
    run: Callable[[Any], None]


_FOUND: dict[str, list[Scenario]] = {}


def scenario(
    name: str, versions: str | tuple[str, int, int] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a scenario of a function; with ``versions`` one for each, whose name has ``{version}`` in it."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        family = function.__module__.rpartition(".")[2]
        found = _FOUND.setdefault(family, [])
        if versions is None:
            found.append(Scenario(name, family, function))
            return function
        for version in versions_of(versions):

            def run(story: Any, version: int = version) -> None:
                function(story, version)

            found.append(Scenario(name.format(version=version), family, run))
        return function

    return add


def versions_of(versions: str | tuple[str, int, int]) -> range:
    """The versions of an API that Kafka 4.4 has, or those of them from one to another."""
    if isinstance(versions, str):
        low, high = VERSIONS[versions]
        return range(low, high + 1)
    api, lowest, highest = versions
    low, high = VERSIONS[api]
    return range(max(low, lowest), min(high, highest) + 1)


def families() -> list[str]:
    """The modules here, by name."""
    return sorted(one.name for one in pkgutil.iter_modules(__path__))


def scenarios_of(family: str) -> list[Scenario]:
    """The scenarios of a family, in the order of its module."""
    importlib.import_module(f"{__name__}.{family}")
    return _FOUND[family]


def settings_of(family: str) -> dict[str, str]:
    """The broker settings that a family is recorded with."""
    module = importlib.import_module(f"{__name__}.{family}")
    return BASE | getattr(module, "SETTINGS", {})


def users_of(family: str) -> list[str]:
    """Who logs in in a family's scenarios, ``on="as ann"``; nobody unless the module has ``USERS``."""
    module = importlib.import_module(f"{__name__}.{family}")
    return list(getattr(module, "USERS", ()))


def all_scenarios() -> Iterator[Scenario]:
    for family in families():
        yield from scenarios_of(family)
