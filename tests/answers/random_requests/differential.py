"""One plan on a real Kafka and on ours, and the first answer that is not the same."""

from __future__ import annotations

import itertools
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from mockbroker.call import Outcome
from tests.answers.comparison import differing_fields
from tests.answers.drivers import RealKafka, SimulatedCluster
from tests.answers.random_requests.plan import Plan
from tests.answers.random_requests.turns import Turns, number_of
from tests.answers.story import Exchange, Story
from tests.interop.java_brokers import RunningKafka

_RUNS = itertools.count(int(time.time()) % 100_000 * 1_000)


@dataclass(frozen=True, slots=True)
class DifferingAnswer:
    """The first answer of a run that is not the same: ``fields`` with Kafka's value and ours, ``before`` with all
    exchanges up to it, as Kafka answered."""

    before: tuple[Exchange, ...]
    fields: tuple[tuple[str, Any, Any], ...]

    @property
    def exchange(self) -> Exchange:
        return self.before[-1]

    @property
    def turn(self) -> int:
        return number_of(self.exchange.step)

    @property
    def cause(self) -> tuple[str, ...]:
        """What it is told once by: the API, the first field without its indexes, and both values."""
        field, kafka, ours = self.fields[0]
        name = field.translate(str.maketrans("", "", "0123456789"))
        return self.exchange.api, name, text_of(kafka), text_of(ours)


def text_of(value: Any) -> str:
    return str(value)[:40] if isinstance(value, (int, bool, str)) or value is None else type(value).__name__


class Both:
    """A real Kafka, and for each run a new cluster of ours beside it."""

    def __init__(self, kafka: RunningKafka, turns: type[Turns]) -> None:
        self.kafka, self.turns, self.requests = kafka, turns, 0

    def run(self, plan: Plan) -> DifferingAnswer | None:
        name = f"random-{os.getpid()}x{next(_RUNS)}"  # of its own: what earlier runs made is still at Kafka
        kafka = self._told_by_kafka(name, plan)
        ours = told_by_ours(self.turns, plan, name)
        self.requests += len(kafka)
        return first_difference(kafka, ours)

    def _told_by_kafka(self, name: str, plan: Plan) -> list[Exchange]:
        driver = RealKafka(self.kafka)
        turns = self.turns(Story(name, driver))
        try:
            turns.carry_out(plan)
        finally:
            with suppress(AssertionError):
                turns.end()
                remove_topics(turns.story)
            for broker, connection in list(driver.sockets):
                driver.close(broker, connection)
        return turns.story.kept


def told_by_ours(
    turns: type[Turns], plan: Plan, name: str = "random", failures: Failures | None = None
) -> list[Exchange]:
    """What a new cluster of ours answers; ``failures`` is told where a handler failed."""
    cluster = SimulatedCluster(turns.SETTINGS, "4.4")
    if failures is not None:
        cluster.sim.engine.path.observers.append(failures)
    story = Story(name, cluster)
    turns(story).carry_out(plan)
    return story.kept


@dataclass(slots=True)
class Failures:
    """An observer of calls: those at which our own code failed, which says more than the error -1 that it answers,
    for some requests Kafka's own code fails at too."""

    found: list[Outcome] = field(default_factory=list)

    def call_ended(self, outcome: Outcome) -> None:
        if outcome.error is not None:
            self.found.append(outcome)


def first_difference(kafka: list[Exchange], ours: list[Exchange]) -> DifferingAnswer | None:
    """By turns: where ours has asked something else, it was answered something else before."""
    for index, (one, other) in enumerate(zip(kafka, ours, strict=False)):
        given = json.loads(json.dumps(one.answer)), json.loads(json.dumps(other.answer))
        fields = tuple(differing_fields(*given)) if one.step == other.step else (("", one.step, other.step),)
        if fields:
            return DifferingAnswer(tuple(kafka[: index + 1]), fields)
    return None


def remove_topics(story: Story) -> None:
    """The run's topics, so that a Kafka that is asked for hours does not fill."""
    topics = story.quiet("Metadata", 10, {"topics": None, "allowAutoTopicCreation": False}, on="end")["topics"]
    mine = [one["name"] for one in topics if one["name"].startswith(f"{story.prefix}.")]
    if mine:
        story.quiet("DeleteTopics", 5, {"topicNames": mine, "timeoutMs": 10_000}, on="end")
