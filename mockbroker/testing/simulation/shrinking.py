"""Makes a failing plan small: fewer faults, fewer clients, a shorter storm, as long as it fails in the same way.

A plan that was made smaller draws from the same seed, but what happens in it is not what happened before with less in
it: each candidate is carried out anew, and kept if it fails with one of the kinds of problems that there were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mockbroker.testing.simulation.plan import SimulationPlan
from mockbroker.testing.simulation.run import Result

MAX_RUNS = 60
Item = TypeVar("Item")


class Shrinking:
    """The smallest result so far, and how many runs were spent on it.

    Args:
        failing: what to begin with.
        simulate: carries out a plan.
        max_runs: how many at most.
    """

    def __init__(self, failing: Result, simulate: Callable[[SimulationPlan], Result], max_runs: int = MAX_RUNS) -> None:
        self.smallest, self._simulate, self._left = failing, simulate, max_runs
        self._kinds = {problem.kind for problem in failing.problems}

    def run(self) -> Result:
        """The smallest result that fails in the same way."""
        self._shorten()
        self._drop_faults()
        self._drop_clients()
        self._drop_faults()
        self._shorten()
        return self.smallest

    def _fails(self, plan: SimulationPlan) -> bool:
        """Whether a plan fails in the same way; if so it is the smallest."""
        if not self._left or plan == self.smallest.plan:
            return False
        self._left -= 1
        result = self._simulate(plan)
        if self._kinds.isdisjoint(problem.kind for problem in result.problems):
            return False
        self.smallest = result
        return True

    def _shorten(self) -> None:
        storm_ms = self.smallest.plan.storm_ms
        for part in (8, 4, 2):
            if self._fails(self.smallest.plan.keeping(storm_ms=storm_ms // part)):
                return

    def _drop_faults(self) -> None:
        """Leave out halves, then quarters and so on, then one by one."""

        def keep(numbers: list[int]) -> bool:
            return self._fails(self.smallest.plan.keeping(faults=numbers))

        drop_chunks([one.number for one in self.smallest.plan.faults], keep)

    def _drop_clients(self) -> None:
        def keep(numbers: list[int]) -> bool:
            return self._fails(self.smallest.plan.keeping(clients=numbers))

        drop_chunks([one.number for one in self.smallest.plan.clients], keep)


def drop_chunks(items: list[Item], keep: Callable[[list[Item]], bool]) -> list[Item]:
    """The items that are left once no chunk can be dropped, from halves down to single ones; ``keep`` says whether
    what would be left is enough.

    >>> drop_chunks([1, 2, 3, 4, 5, 6, 7, 8], lambda left: {3, 8} <= set(left))
    [3, 8]
    """
    size = max(1, (len(items) + 1) // 2)
    while items:
        start = 0
        while start < len(items):
            left = items[:start] + items[start + size :]
            if keep(left):
                items = left
            else:
                start += size
        if size == 1:
            break
        size = max(1, size // 2)
    return items
