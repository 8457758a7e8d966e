"""Bugs to plant in the cluster's own code, each a switch: what a simulation is worth shows in how soon it finds them.

``python -m tests.simulation.planted_bugs`` measures how many seeds each takes; ``--bug NAME`` for one of them; with
``--count`` how many of the seeds find it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from unittest.mock import patch

from mockbroker.state.groups.classic.group import ClassicGroup
from mockbroker.state.groups.consumer.group import ConsumerGroup
from mockbroker.state.groups.coordinator import Groups
from mockbroker.state.logs.log import Log
from mockbroker.state.logs.log_transactions import LogTransactions
from mockbroker.state.logs.producers import PartitionProducers
from mockbroker.state.replicas.replication import NO_LEADER, Replication
from mockbroker.state.share import acknowledging
from mockbroker.state.share.coordinator import ShareCoordinator
from mockbroker.state.share.in_flight import InFlightState
from mockbroker.state.share.partition import SharePartition
from mockbroker.testing.simulation.plan import SHARE_LOCK_MS, plan_of
from mockbroker.testing.simulation.run import Result, simulate

MAX_SEEDS = 50
FOUND_BY = {
    "high-watermark-ahead": 0,
    "isr-too-early": 29,
    "producers-forgotten": 0,
    "producers-not-recovered": 0,
    "stable-offset-ignores-open": 0,
    "aborted-list-misses-one": 0,
    "fenced-commit-accepted": 7,
    "former-member-commits": 13,
    "aborted-offsets-count": 0,
    "share-state-not-kept": 4,
    "share-lock-too-short": 4,
    "share-lock-not-renewed": 25,
    "share-deliveries-not-counted": 4,
}
"""Bug -> the seed that found it first when this was last measured; its test tries that seed first."""


def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> AbstractContextManager[Any]:
    """``owner.name`` is what ``make`` gives for the one there was."""
    return patch.object(owner, name, make(getattr(owner, name)))


def high_watermark_ahead() -> AbstractContextManager[Any]:
    """The high watermark moves before the in-sync replicas have the records."""

    def make(settle: Any) -> Any:
        def hasty(self: Any, partition: Any, states: Any, **how: Any) -> None:
            if partition.leader != NO_LEADER:
                states.high_watermark = max(states.high_watermark, partition.log.end_offset)
            settle(self, partition, states, **how)

        return hasty

    return replaced(Replication, "_settle", make)


def isr_too_early() -> AbstractContextManager[Any]:
    """A follower is let into the ISR before it has caught up."""
    return replaced(Replication, "_caught_up", lambda _: lambda self, partition, online: online)


def producers_forgotten() -> AbstractContextManager[Any]:
    """A new leader knows nothing of the producers that wrote to the old one."""

    def make(leader_changed: Any) -> Any:
        def forgetful(self: Any, partition: Any, now_ms: int) -> None:
            leader_changed(self, partition, now_ms)
            partition._producers = PartitionProducers()

        return forgetful

    return replaced(Replication, "leader_changed", make)


def producers_not_recovered() -> AbstractContextManager[Any]:
    """A restart reads nothing about producers from the log, so a batch that is sent again is written again."""
    return replaced(Log, "recover_producers", lambda _: lambda log: PartitionProducers())


def stable_offset_ignores_open() -> AbstractContextManager[Any]:
    """The last stable offset ignores open transactions."""
    return replaced(LogTransactions, "last_stable_offset", lambda _: lambda self, end_offset: end_offset)


def aborted_list_misses_one() -> AbstractContextManager[Any]:
    """A fetch of committed records leaves out the last aborted transaction."""

    def make(aborted_between: Any) -> Any:
        return lambda self, offset, upper_bound: aborted_between(self, offset, upper_bound)[:-1]

    return replaced(LogTransactions, "aborted_between", make)


def fenced_commit_accepted() -> AbstractContextManager[Any]:
    """Offsets are taken from whoever names a group, in whatever generation."""
    return patch.multiple(
        ClassicGroup,
        accept_commit=lambda self, *args, **how: None,
        accept_transactional_commit=lambda self, *args: None,
    )


def former_member_commits() -> AbstractContextManager[Any]:
    """A group of the consumer protocol takes offsets from whoever names it, in whatever epoch."""
    return patch.multiple(
        ConsumerGroup,
        accept_commit=lambda self, *args, **how: None,
        accept_transactional_commit=lambda self, *args: None,
    )


def aborted_offsets_count() -> AbstractContextManager[Any]:
    """Offsets that an aborted transaction was to commit are committed."""

    def make(end_transaction: Any) -> Any:
        return lambda self, producer_id, *, committed: end_transaction(self, producer_id, committed=True)

    return replaced(Groups, "end_transaction", make)


def share_state_not_kept() -> AbstractContextManager[Any]:
    """The share coordinator keeps nothing of what members accept, so a new leader gives it out again."""
    return replaced(ShareCoordinator, "write", lambda _: lambda self, key, written: None)


def share_lock_too_short() -> AbstractContextManager[Any]:
    """Members lose what they acquired long before its time."""

    def make(lock_until: Any) -> Any:
        return lambda self, now_ms: lock_until(self, now_ms - SHARE_LOCK_MS * 3 // 4)

    return replaced(SharePartition, "lock_until", make)


def share_deliveries_not_counted() -> AbstractContextManager[Any]:
    """A record that is given out again has the delivery count that it had."""

    def make(acquire: Any) -> Any:
        def hasty(self: Any, member_id: str, lock_until_ms: int) -> None:
            acquire(self, member_id, lock_until_ms)
            self.delivery_count -= 1

        return hasty

    return replaced(InFlightState, "acquire", make)


def share_lock_not_renewed() -> AbstractContextManager[Any]:
    """A member is told that its lock is renewed, and loses what it has acquired as if it were not."""

    def make(take: Any) -> Any:
        def forgetful(partition: Any, member_id: Any, first: int, last: int, state: Any, kind: int, *rest: Any) -> None:
            if kind != acknowledging.RENEW:
                take(partition, member_id, first, last, state, kind, *rest)

        return forgetful

    return replaced(acknowledging, "take", make)


PLANTED: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "high-watermark-ahead": high_watermark_ahead,
    "isr-too-early": isr_too_early,
    "producers-forgotten": producers_forgotten,
    "producers-not-recovered": producers_not_recovered,
    "stable-offset-ignores-open": stable_offset_ignores_open,
    "aborted-list-misses-one": aborted_list_misses_one,
    "fenced-commit-accepted": fenced_commit_accepted,
    "former-member-commits": former_member_commits,
    "aborted-offsets-count": aborted_offsets_count,
    "share-state-not-kept": share_state_not_kept,
    "share-lock-too-short": share_lock_too_short,
    "share-lock-not-renewed": share_lock_not_renewed,
    "share-deliveries-not-counted": share_deliveries_not_counted,
}


def first_failure(name: str, seeds: range) -> Result | None:
    """The first run of these seeds that shows a planted bug."""
    with PLANTED[name]():
        for seed in seeds:
            result = simulate(plan_of(seed))
            if not result.is_right:
                return result
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bug", choices=tuple(PLANTED), action="append", help="all of them")
    parser.add_argument("--first", type=int, default=0, help="the seed to begin with; 0")
    parser.add_argument("--seeds", type=int, default=MAX_SEEDS, help=f"how many to try at most; {MAX_SEEDS}")
    parser.add_argument("--count", action="store_true", help="try all seeds, and count those that find the bug")
    arguments = parser.parse_args()
    missed = 0
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    for name in arguments.bug or PLANTED:
        begun = time.process_time()
        if arguments.count:
            failing = [seed for seed in seeds if first_failure(name, range(seed, seed + 1))]
            missed += not failing
            print(f"{name}: {len(failing)} of {len(seeds)} seeds: {', '.join(map(str, failing))}", flush=True)
            continue
        found = first_failure(name, seeds)
        took = f"{time.process_time() - begun:.1f} s"
        if found is None:
            missed += 1
            print(f"{name}: not found by {arguments.seeds} seeds, {took}", flush=True)
            continue
        kinds = ", ".join(dict.fromkeys(problem.kind for problem in found.problems))
        number = found.plan.seed - arguments.first + 1
        print(f"{name}: seed {found.plan.seed}, number {number}, {took}: {kinds}", flush=True)
        print(f"    {found.problems[0].text}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
