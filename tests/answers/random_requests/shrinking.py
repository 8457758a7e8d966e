"""Leaves out of a plan what a difference does not take: turns, then entries of the last request's lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.answers.random_requests.differential import DifferingAnswer
from tests.answers.random_requests.plan import Plan, Turn
from tests.answers.random_requests.turns import lists_in

MAX_RUNS = 40


class Shrinking:
    """Tries smaller plans as long as they show the same cause."""

    def __init__(
        self,
        run: Callable[[Plan], DifferingAnswer | None],
        plan: Plan,
        found: DifferingAnswer,
        max_runs: int = MAX_RUNS,
    ) -> None:
        self._run, self._left = run, max_runs
        self.plan, self.found = plan.only(plan.turns[: found.turn + 1]), found

    def shrink(self) -> None:
        """Afterwards ``plan`` and ``found`` are the smallest that showed it."""
        turns = self.plan.turns
        if len(turns) > 2:
            self._holds(self.plan.only(turns[-1:]))
        size = max(1, (len(self.plan.turns) - 1) // 2)
        while size:
            self._without_runs_of(size)
            size //= 2
        while self._left and any(self._holds(plan) for plan in self._with_smaller_request()):
            pass

    def _without_runs_of(self, size: int) -> None:
        end = len(self.plan.turns) - 1
        while end > 0 and self._left:
            turns = self.plan.turns
            start = max(0, end - size)
            self._holds(self.plan.only((*turns[:start], *turns[end:])))
            end = min(start, len(self.plan.turns) - 1)

    def _with_smaller_request(self) -> Iterator[Plan]:
        *before, last = self.plan.turns
        for way in lists_in(self.found.exchange.request):
            yield self.plan.only((*before, replace(last, without=(*last.without, way))))

    def _holds(self, plan: Plan) -> bool:
        if not self._left:
            return False
        self._left -= 1
        try:
            found = self._run(plan)
        except Exception:  # noqa: BLE001 - a smaller plan may leave out what a later turn needs
            return False
        if found is None or found.cause != self.found.cause:
            return False
        turns: tuple[Turn, ...] = plan.turns[: found.turn + 1]
        self.plan, self.found = plan.only(turns), found
        return True
