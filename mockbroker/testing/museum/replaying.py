"""Runs a bug's scenario with one version of the client, and says whether it went as recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from mockbroker.testing.certify.checks import FAIL, PASS, CertifyCheck, check_of
from mockbroker.testing.certify.course import run
from mockbroker.testing.certify.facts import WireFacts
from mockbroker.testing.certify.plan import CertifyPlan
from mockbroker.testing.museum.bugs import Bug

RACKS = ("a", "b", "c")
BUDGET_S = 300.0
QUIET_S = 4.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """What one version did; ``expected`` is the recorded verdict of the bug's check."""

    version: str
    expected: str
    check: CertifyCheck
    facts: WireFacts

    @property
    def is_as_recorded(self) -> bool:
        return self.check.verdict == self.expected


def replay(bug: Bug, version: str, say: Callable[[str], None]) -> Replayed:
    """Run the bug's scenario with a version of its client, ``bug.bad`` or ``bug.good``.

    Raises: ToolMissingError: the client cannot be had. ProgramError: it did nothing.
    """
    plan = CertifyPlan(bug.command(version), RACKS, budget_s=BUDGET_S, quiet_s=QUIET_S, steps=bug.steps)
    facts = asyncio.run(run(plan, say))
    check = check_of(facts, bug.check)
    return Replayed(version, FAIL if version == bug.bad else PASS, check, facts)
