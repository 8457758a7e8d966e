"""Runs many seeds on all cores, and tells of each as it ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from multiprocessing import get_context

from mockbroker.testing.simulation.plan import PlanOptions, plan_of
from mockbroker.testing.simulation.run import Result, simulate


def run_seeds(seeds: Iterable[int], options: PlanOptions, *, processes: int = 1) -> Iterator[Result]:
    """The result of each seed, in the order in which they end; with one process that is the order of the seeds."""
    run = partial(run_seed, options=options)
    if processes <= 1:
        yield from map(run, seeds)
        return
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap_unordered(run, seeds)


def run_seed(seed: int, options: PlanOptions) -> Result:
    return simulate(plan_of(seed, options))
