"""Runs a bug's scenario with one version of the client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from mockbroker.testing.certify.checks import FAIL, NOT_SEEN, PASS, CertifyCheck, checks_of
from mockbroker.testing.certify.course import CertifyCourse, Say
from mockbroker.testing.certify.facts import WireFacts
from mockbroker.testing.certify.plan import CertifyPlan
from tests.interop.museum.bugs import READS_ONCE, Bug

RACKS = ("a", "b", "c")
BUDGET_S = 300.0
QUIET_S = 4.0
LONG_READING = 15
"""How many times all partitions go on by some records while nothing happens."""


class BugCourse(CertifyCourse):
    """A course of the steps that show a bug."""

    def __init__(self, plan: CertifyPlan, say: Say, bug: Bug) -> None:
        super().__init__(plan, say)
        self.bug = bug

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        known = {"outage": self._outage, "reading": self._read_on, "replicas": self._move_replicas}
        return [known[name] for name in self.bug.steps]

    async def _read_on(self) -> None:
        """Let the program work for a while, with nothing amiss."""
        for _ in range(LONG_READING):
            await self._go_on("reading", "records though nothing happens", quiet_s=QUIET_S * 3)


def replay(bug: Bug, version: str, say: Callable[[str], None]) -> CertifyCheck:
    """The verdict on the bug's check after its scenario with a version of its client, ``bug.bad`` or ``bug.good``.

    Raises: ToolMissingError: the client cannot be had. ProgramError: it did nothing.
    """
    plan = CertifyPlan(bug.command(version), RACKS, budget_s=BUDGET_S, quiet_s=QUIET_S)
    facts = asyncio.run(BugCourse(plan, say, bug).run())
    if bug.check == READS_ONCE:
        return reads_once(facts)
    return next(check for check in checks_of(facts) if check.id == bug.check)


def reads_once(facts: WireFacts) -> CertifyCheck:
    """While nothing happens no record is fetched again. No check of a certificate: a rebalance may bring some again."""
    question = "does it read each record once"
    if not facts.delivered:
        return CertifyCheck(READS_ONCE, question, 1, NOT_SEEN, "nothing was fetched")
    again = facts.delivered_again.total()
    text = f"of {facts.fed:,} records fed {again:,} were fetched again"
    return CertifyCheck(READS_ONCE, question, 1, FAIL if again else PASS, text)
