"""What may differ between Kafka's answers and ours, one entry a difference, each with its reason.

``scenario``, ``step`` and ``field`` are patterns as of a shell, with ``*``. An entry that excuses nothing any more
fails tests/conformance/test_answers.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.answers.comparison import Difference

PAGE = Path(__file__).resolve().parents[2] / "fixtures" / "answers" / "README.md"
HEADER = "| API | scenario | step | field | why |\n|---|---|---|---|---|\n"


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why a field of an answer may differ from Kafka's."""

    api: str
    scenario: str
    step: str
    field: str
    why: str

    def covers(self, found: Difference) -> bool:
        return (
            matches(self.api, found.api)
            and matches(self.scenario, found.scenario)
            and matches(self.step, found.step)
            and matches(self.field, found.field)
        )


EXCUSES: tuple[Excuse, ...] = (
    Excuse(
        api="AlterClientQuotas",
        scenario="4.1: quotas v1",
        step="*validate only",
        field="*",
        why="it is another entity that 4.1 was asked about",
    ),
    Excuse(
        api="DeleteRecords",
        scenario="4.1: delete records v2",
        step="*unknown*",
        field="*",
        why="it is another topic and another partition that 4.1 was asked about",
    ),
    Excuse(
        api="*",
        scenario="min isr",
        step="*",
        field="~waited",
        why="Kafka refuses once `offsets.commit.timeout.ms` is over, ours at once",
    ),
    Excuse(
        api="Produce",
        scenario="4.1: produce v*",
        step="*after acks 0",
        field="*baseOffset",
        why="the recorder of 4.1 wrote two records with acks 0",
    ),
    Excuse(
        api="PushTelemetry",
        scenario="*",
        step="*",
        field="errorCode",
        why="Kafka throttles a client that pushes too soon, ours remembers no clients",
    ),
)


def excuse_of(found: Difference) -> Excuse | None:
    """The first entry that covers a difference."""
    return next((one for one in EXCUSES if one.covers(found)), None)


def matches(pattern: str, text: str) -> bool:
    """Whether a text is as a pattern; ``*`` stands for any characters, all others for themselves.

    >>> matches("topics[[]*].name", "topics[0].name"), matches("topics[*].name", "topics[0].name")
    (False, True)
    """
    return compiled(pattern).fullmatch(text) is not None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


def rows() -> str:
    """Returns the rows of the table in fixtures/answers/README.md; ``python -m tests.answers excuses`` writes them."""
    return "\n".join(f"| {one.api} | `{one.scenario}` | `{one.step}` | `{one.field}` | {one.why} |" for one in EXCUSES)
