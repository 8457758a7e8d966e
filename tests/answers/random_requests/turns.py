"""What a family of random requests is made of: something made at first, and operations that ask one thing each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from tests.answers.random_requests.plan import Plan, Turn, Way
from tests.answers.scenarios import BASE
from tests.answers.story import Fields, Pending, Story

PATIENCE_MS = 5_000
"""How long an answer may take before it counts as none; the next request goes by a new connection then."""


class Turns:
    """The random requests of one family, under way in one story."""

    OPERATIONS: ClassVar[Mapping[str, float]]
    """Names of methods by weight. Each is given a Random, and asks once."""
    LENGTH: ClassVar[int] = 30
    """How many requests a run has."""
    SETTINGS: ClassVar[Mapping[str, str]] = BASE
    """Of the brokers."""
    USERS: ClassVar[Sequence[str]] = ()
    """Who logs in, as ``on="as ann"`` asks."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.label = ""
        self.without: tuple[Way, ...] = ()

    def begin(self, random: Random) -> None:
        """Make what the requests are about."""

    def end(self) -> None:
        """Take back what would show in the next run on the same Kafka; ours is always a new one."""

    def carry_out(self, plan: Plan) -> None:
        """Begin and take all turns."""
        self.begin(Random(plan.seed))
        for number, turn in enumerate(plan.turns):
            self.take(number, turn)

    def take(self, number: int, turn: Turn) -> None:
        random = Random(turn.seed)
        (operation,) = random.choices(list(self.OPERATIONS), list(self.OPERATIONS.values()))
        self.label, self.without = f"turn {number}: {operation}", turn.without
        getattr(self, operation)(random)

    def ask(
        self,
        api: str,
        version: int,
        request: Fields,
        *,
        to: int = 0,
        on: str = "main",
        only: Callable[[Any], Any] | None = None,
    ) -> Fields:
        """Ask, without what the turn is to leave out, and keep the answer; gives it as it came."""
        pending = self.story.begin(self.label, api, version, lessened(request, self.without), to=to, on=on, only=only)
        return self.answer_of(pending)

    def answer_of(self, pending: Pending) -> Fields:
        if pending.api == "Produce" and pending.request["acks"] == 0:
            return self.story.unanswered(pending)
        answer = pending.answer(PATIENCE_MS)
        if "~" in answer:
            self.story.driver.close(pending.broker, pending.connection)
        return answer


def number_of(step: str) -> int:
    """Which turn a kept step was: ``Fetch v3, turn 7: read`` is 7."""
    return int(step.partition(", turn ")[2].partition(":")[0])


def lists_in(value: Any, way: Way = ()) -> list[Way]:
    """Where the entries of all lists of a request stand, the outer before the inner.

    >>> lists_in({"a": 1, "b": [{"c": [5, 6]}]})
    [(1, 0), (1, 0, 0, 0), (1, 0, 0, 1)]
    """
    found: list[Way] = []
    if isinstance(value, dict):
        for index, one in enumerate(value.values()):
            found += lists_in(one, (*way, index))
    elif isinstance(value, list):
        found += [(*way, index) for index in range(len(value))]
        for index, one in enumerate(value):
            found += lists_in(one, (*way, index))
    return found


def lessened(request: Any, without: tuple[Way, ...]) -> Any:
    """A request without some entries of its lists, taken out one after the other.

    >>> lessened({"a": 1, "b": [{"c": [5, 6]}]}, ((1, 0, 0, 1),))
    {'a': 1, 'b': [{'c': [5]}]}
    """
    for way in without:
        request = taken_out(request, way)
    return request


def taken_out(value: Any, way: Way) -> Any:
    first, *rest = way
    if isinstance(value, dict):
        if first >= len(value):
            return value
        name = list(value)[first]
        return {**value, name: taken_out(value[name], tuple(rest))}
    if not isinstance(value, list) or first >= len(value):
        return value
    if not rest:
        return value[:first] + value[first + 1 :]
    return [*value[:first], taken_out(value[first], tuple(rest)), *value[first + 1 :]]
