"""Runs a bug's scenario with one version of the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mockbroker.testing.certify.checks import FAIL, NOT_SEEN, PASS, CertifyCheck, checks_of
from mockbroker.testing.certify.course import run
from mockbroker.testing.certify.facts import WireFacts
from mockbroker.testing.certify.plan import CertifyPlan
from tests.interop.museum.bugs import READS_ONCE, Bug

RACKS = ("a", "b", "c")
BUDGET_S = 300.0
QUIET_S = 4.0


def replay(bug: Bug, version: str, say: Callable[[str], None]) -> CertifyCheck:
    """The verdict on the bug's check after its scenario with a version of its client, ``bug.bad`` or ``bug.good``.

    Raises: ToolMissingError: the client cannot be had. ProgramError: it did nothing.
    """
    plan = CertifyPlan(bug.command(version), RACKS, budget_s=BUDGET_S, quiet_s=QUIET_S, steps=bug.steps)
    facts = asyncio.run(run(plan, say))
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
