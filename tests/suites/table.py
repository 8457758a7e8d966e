"""The table of suites: what each runs, and which changed paths concern it.

A new test file of tests/interop gets its line here; tests/unit/test_suites.py holds that none is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

EVERYTHING = (
    ".ci/*",
    "Makefile",
    "conftest.py",
    "constraints.txt",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/suites/*",
)
"""A change of one of these concerns every suite."""
WIRE = ("protocol/*",)
CLUSTER = ("mockbroker/*.py", "mockbroker/core/*", "mockbroker/handlers/*", "mockbroker/state/*")
SOCKETS = ("mockbroker/adapters/*.py",)
CAPTURES = ("kafka_rack/wire_capture/*", "kafka_rack/wire_tables/*")
JOBS = (*CAPTURES, "kafka_rack/pipeline/*", "tests/on_spark.py", "tests/pipeline/steps.py")
CLIENTS = ("tests/interop/clients/*", "tests/interop/fetched.py", "tests/interop/client_process.py")
"""Patterns as fnmatch reads them: ``*`` matches slashes too."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A command, and when it runs.

    Attributes:
        command: its words; the word ``python`` is the interpreter that runs this module.
        concerns: patterns of the paths whose change makes `ci` run it.
        tests: what a suite of pytest runs; a change of these concerns it too.
        cores: how many of the two it keeps busy.
        needs: targets of the Makefile that install what it uses.
        at_night: `nightly` alone runs it.
    """

    name: str
    command: tuple[str, ...]
    concerns: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    cores: int = 1
    needs: tuple[str, ...] = ()
    at_night: bool = False

    def is_concerned_by(self, path: str) -> bool:
        """
        >>> SUITES["docs"].is_concerned_by("docs/faults.md"), SUITES["docs"].is_concerned_by("tests/unit/test_bench.py")
        (True, False)
        """
        patterns = (*EVERYTHING, *self.concerns, *self.tests, *(f"{one}/*" for one in self.tests))
        return not self.at_night and any(fnmatch(path, pattern) for pattern in patterns)


def pytest_suite(
    name: str,
    *tests: str,
    concerns: Sequence[str] = (),
    workers: int = 0,
    options: Sequence[str] = (),
    needs: Sequence[str] = ("java", "clients"),
    cores: int = 1,
    at_night: bool = False,
) -> Suite:
    """A suite of test files and folders, in this many processes; none means in pytest's own."""
    shared_out = (f"--numprocesses={workers}", "--dist=loadscope") if workers else ()
    command = ("python", "-m", "pytest", *shared_out, *options, *tests)
    return Suite(name, command, tuple(concerns), tests, cores, tuple(needs), at_night)


def interop(name: str, *subjects: str, concerns: Sequence[str], workers: int = 3) -> Suite:
    """A suite of the tests of real clients, by their subjects: ``faults`` is tests/interop/test_faults.py.

    Three processes keep one core busy, as clients wait for most of their time.
    """
    files = (f"tests/interop/test_{subject}.py" for subject in subjects)
    return pytest_suite(name, *files, concerns=(*CLIENTS, *concerns), workers=workers)


def target(name: str, *concerns: str, needs: Sequence[str] = (), at_night: bool = False, cores: int = 1) -> Suite:
    """A suite that is a target of the Makefile."""
    return Suite(name, ("make", "--no-print-directory", name), concerns, (), cores, tuple(needs), at_night)


RULES = [target(name) for name in ("types", "format", "lint", "imports")]
TEST = pytest_suite("test", workers=3, needs=("java",), cores=2)

NIGHTLY = [
    interop(
        "clients",
        *("matrix", "java", "event_loops", "record_formats", "serve", "capture", "capture_page", "fetched"),
        "virtual_time",
        concerns=(*WIRE, *CLUSTER, *SOCKETS, "mockbroker/adapters/tls/*", "docs/capture.md"),
    ),
    interop(
        "racks",
        *(
            "diskless",
            "diskless_profiles",
            "rack_assignors",
            "rack_assignors_real",
            "rack_uniform",
            "live_group",
            "java_group",
        ),
        *("journal_verdicts", "lagging_followers", "outages", "what_if", "consistency"),
        concerns=(
            *("kafka_rack/*.py", "kafka_rack/assignment/*", "kafka_rack/locality/*", "kafka_rack/what_if/*"),
            *("kafka_rack/placement/*", "kafka_rack/wire_tables/*"),
            *("kafka_rack/consistency/*", "mockbroker/core/journal/*", "mockbroker/state/replicas/*"),
            *("mockbroker/handlers/metadata*.py", "mockbroker/handlers/fetch.py", "mockbroker/handlers/leadership.py"),
        ),
    ),
    interop(
        "groups",
        *("groups", "consumer_protocol", "share_groups", "streams", "coordinator_logs"),
        concerns=("*group*.py", "*/groups/*", "*/share_groups/*", "*share*.py", "*coordinator*.py"),
    ),
    interop(
        "transactions",
        *("transactions", "transactions_beside_kafka"),
        concerns=("*transaction*.py", "*/transactions/*", "mockbroker/state/logs/*"),
    ),
    interop(
        "security",
        *("logins", "token_logins", "tls_beside_kafka", "tls_clients", "sasl_beside_kafka", "tokens_beside_kafka"),
        *("signed_tokens_beside_kafka", "names_beside_java", "command_config"),
        concerns=("*/security/*", "*/tls/*", "*sasl*", "*scram*", "*token*", "*access*", "*acl*", "*authenti*"),
    ),
    interop(
        "proxied",
        *("proxy_beside_changing_kafka", "proxy_beside_kafka", "proxy_security", "franz_go_suite"),
        concerns=("*proxy*", "*/proxy/*"),
    ),
    interop(
        "certify",
        *("certify", "certify_before_kafka", "certify_server", "certify_writers", "museum"),
        concerns=("*/certify/*", "*/museum/*", "*certify*", "*certified*"),
    ),
    interop(
        "directories",
        *("dump_log", "killed_cluster"),
        concerns=("mockbroker/data_directories/*", "mockbroker/state/image.py", "mockbroker/state/logs/*"),
    ),
    interop(
        "beside-java",
        *("java_assignors", "java_placement", "java_codec"),
        concerns=("kafka_rack/placement/*", "kafka_rack/assignment/*", "kafka_rack/java*.py", "protocol/*"),
    ),
    interop(
        "commands",
        *("admin", "admin_tools", "tools", "tools_beside_kafka", "commands", "configs", "examples"),
        *("demo", "rolling_upgrade", "zookeeper_mode"),
        concerns=("kafka_rack/cli/*", "*/configs/*", "*/zookeeper/*", "examples/*"),
    ),
    interop("faults", "faults", "faults_java", concerns=("mockbroker/core/faults/*",)),
    pytest_suite(
        "spark",
        *("tests/pipeline/test_locality_command.py", "tests/pipeline/test_truth.py"),
        concerns=JOBS,
        workers=2,
        needs=("java",),
        cores=2,
    ),
    target("newest-spark", *JOBS, needs=("java",)),
    pytest_suite("formats", "tests/formats", concerns=JOBS, needs=("java",)),
    pytest_suite("object-store", "tests/object_store", concerns=("kafka_rack/pipeline/*.py",)),
    pytest_suite("cluster", "tests/cluster", concerns=("kafka_rack/pipeline/*.py",)),
    pytest_suite(
        "browser",
        "tests/browser",
        concerns=("mockbroker/adapters/dashboard/*", "mockbroker/adapters/control/*"),
        needs=("chromium",),
    ),
    target("notebook", "examples/notebooks/*", "kafka_rack/*/__init__.py", needs=("notebook-ready",)),
    Suite(
        "native",
        ("python", "-m", "tests.native"),
        ("native/*", "protocol/*", *CAPTURES),
        ("tests/native", "tests/unit/protocol"),
        cores=2,
    ),
    target("docs", "docs/*", "website/*", "README.md", needs=("docs-ready",)),
    target("wheel", "kafka_rack/__init__.py", "README.md", needs=("release-ready",)),
    pytest_suite(
        "properties",
        *("tests/property", "tests/unit/protocol"),
        *("tests/conformance/test_golden.py", "tests/conformance/test_oracles.py"),
        options=("--hypothesis-profile=nightly",),
        workers=2,
        needs=(),
        cores=2,
        at_night=True,
    ),
    Suite("parts", ("python", "-m", "tests.parts"), cores=2, at_night=True),
    target("fuzz", at_night=True),
    target("torture", at_night=True, cores=2),
    target("bench", at_night=True, cores=2),
]
"""In the order in which they start."""

SUITES = {suite.name: suite for suite in (*RULES, TEST, *NIGHTLY)}


def concerned(paths: Iterable[str]) -> list[Suite]:
    """The suites that a change of these paths concerns, in the order in which they start.

    >>> [suite.name for suite in concerned(["docs/faults.md"])]
    ['docs']
    """
    given = list(paths)
    return [suite for suite in NIGHTLY if any(map(suite.is_concerned_by, given))]
