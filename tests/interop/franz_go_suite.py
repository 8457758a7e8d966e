"""The tests that franz-go's authors have for their client beside a real cluster, run beside ours.

They come with the module, and nobody who wrote them has ever seen this project: what they hold of a broker is what
they met in Kafka. Those of long chains are left out, as they take minutes.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tests.interop.certified_clients import FRANZ_GO
from tests.interop.fetched import fetched, needs_programs
from tests.progress import run

MODULE = "github.com/twmb/franz-go"
FILES = {
    "go.mod": f"module suite\n\ngo 1.21\n\nrequire {MODULE} {FRANZ_GO}\n",
    "suite.go": f'package suite\n\nimport _ "{MODULE}/pkg/kgo"\n',
}
BUILD = f"""\
go mod tidy
go list -m -f '{{{{.Dir}}}}' {MODULE} > sources
go test -c -o building {MODULE}/pkg/kgo
mv building kgo.test
"""
CHAINS = "ETL|Etl"
"""Of half a million records, and of groups whose members vanish: minutes in which little is to be seen."""
QUIET_S = 300.0  # some wait for sessions to expire
RESULT = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+)", re.MULTILINE)
TOO_NEW = "TestIssueProduceBrokerTooOldFailsRecords"
"""Skips itself where Produce goes without version 2, as real Kafka 4 and ours have it."""
WITH_CLUSTER = frozenset(
    {
        "TestPing",
        "TestIssue325",
        "TestIssue337",
        "TestIssue434",
        "TestIssue523",
        "TestIssue648",
        "TestIssue810",
        "TestIssue865",
        "TestSCRAMAuth",
        "TestSCRAMAuthBadCredentials",
        "TestConsumeRegex",
        "Test848RegexBrokerResolves",
        "TestPauseIssue489",
        "TestPauseIssueOct2023",
        "TestShareGroup",
        "TestShareGroupAckOnClose",
        "TestShareGroupOffsetsAdmin",
        "TestClient_Produce",
        "TestClient_ProduceLargeMessages",
        "TestAddRemovePartitions",
        "TestDirectPartitionPurge",
        "TestGroupSimple",
    }
)
"""Most of the tests that ask a cluster."""


class SuiteOutcome(NamedTuple):
    """Names of tests by what became of them, and all that was printed."""

    passed: frozenset[str]
    skipped: frozenset[str]
    failed: frozenset[str]
    printed: str


def suite() -> Path:
    """The folder of the compiled tests. Raises ToolMissingError."""
    needs_programs("go")
    digest = sha256("\0".join([BUILD, *FILES.values()]).encode()).hexdigest()[:12]
    return fetched(f"franz-go-suite-{digest}", "kgo.test", ["sh", "-ec", BUILD], FILES)


def outcome(folder: Path, servers: str, logins: str, user: str, *options: str) -> SuiteOutcome:
    """Run the tests.

    Args:
        servers: of a cluster of three brokers that makes topics when they are asked for.
        logins: of one where ``user``, as ``NAME:PASSWORD``, logs in by SCRAM-SHA-256.
        options: of Go's test programs, as ``-test.run``.
    """
    given = {
        "KGO_SEEDS": servers,
        "KGO_TEST_SCRAM_SEEDS": logins,
        "KGO_TEST_SCRAM": user,
        "KGO_LOG_LEVEL": "none",
    }
    sources = Path((folder / "sources").read_text().strip()) / "pkg" / "kgo"  # one of them reads these
    command = [folder / "kgo.test", "-test.v", f"-test.skip={CHAINS}", *options]
    printed = run(command, cwd=sources, env={**os.environ, **given}, quiet_s=QUIET_S).stdout
    found = [match.groups() for match in RESULT.finditer(printed)]
    passed, failed, skipped = (frozenset(name for end, name in found if end == one) for one in ("PASS", "FAIL", "SKIP"))
    return SuiteOutcome(passed, skipped, failed, printed)
