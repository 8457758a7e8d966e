"""What all tests share, those of docstrings outside tests/ among them: which run in one process, and in which order.

Several processes (``--numprocesses=auto --dist=loadscope``, as `make test` has it) share the tests out by file, the
longest first; all that run on the session of Spark that a process keeps are one portion, so that only one keeps it, and
so are those in a browser. Files of few long tests are shared out test by test. There are two processes more than cores,
as half the time of tests that run real clients, Spark or a browser is time in which these wait.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

SPARK_MISSING = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]

NEEDING_SPARK = ["kafka_rack/pipeline", "kafka_rack/wire_tables/arrow.py"]

WITH_ANY_SPARK = [
    "tests/pipeline/test_failed_starts.py",
    "tests/pipeline/test_filters_handed_over.py",
    "tests/pipeline/test_spark_connect.py",
    "tests/pipeline/test_spark_submit.py",
]
"""What `make newest-spark` asks of the newest Spark beside tests that run everywhere; where named, it is collected."""

collect_ignore = ["tests/interop/transactors", *WITH_ANY_SPARK, *(NEEDING_SPARK if SPARK_MISSING else [])]
"""Programs that tests run, what has a step of its own in CI, and what cannot be imported."""

ON_SPARKS_SESSION = ("tests/pipeline/", "kafka_rack/pipeline/")
WITH_SPARK_OF_THEIR_OWN = ("tests/pipeline/test_cluster.py", "tests/pipeline/test_stream.py")
IN_A_BROWSER = "tests/browser/"
LONG_TEST_BY_TEST = (
    "tests/interop/test_examples.py",
    "tests/interop/test_matrix.py",
    "tests/interop/test_certify.py",
    "tests/interop/test_museum.py",
    "tests/interop/test_certify_writers.py",
    "tests/interop/test_demo.py",
)
"""Each test of these runs programs of its own, from ten seconds on, and has nothing in common with the next."""

LONGEST_FIRST = (
    *LONG_TEST_BY_TEST,
    *WITH_SPARK_OF_THEIR_OWN,
    *ON_SPARKS_SESSION,
    IN_A_BROWSER,
    "tests/property/",
    "tests/interop/",
    "tests/conformance/",
    "tests/",
)


def pytest_configure() -> None:
    """Programs that tests start hear Ctrl-C, also where tests run in a shell's background, in which it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> list[str]:
    if not SPARK_MISSING:
        return []
    return [f"pipeline doctests left out: {', '.join(SPARK_MISSING)} missing (pip install --editable '.[spark]')"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector away from what is collected: it lives as long as the process does.

    To walk over 16,000 tests and their modules again and again takes a quarter of the time that collecting them takes,
    and half a second of each test that calls for the collector.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where processes share the tests out, the longest come first, so that none is left with them at the end."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: turn_of(item.nodeid))


def turn_of(nodeid: str) -> int:
    """The place of a test's folder among those that come first.

    >>> turn_of("tests/pipeline/test_decode.py::test_it") < turn_of("tests/unit/test_docs.py::test_it")
    True
    """
    return next((turn for turn, start in enumerate(LONGEST_FIRST) if nodeid.startswith(start)), len(LONGEST_FIRST))


def portion_of(nodeid: str) -> str:
    """The portion of the tests that one process runs as a whole.

    >>> portion_of("tests/unit/test_docs.py::test_it[one]")
    'tests/unit/test_docs.py'
    >>> portion_of("tests/pipeline/test_decode.py::test_it")
    'spark'
    >>> portion_of("tests/browser/test_dashboard_looks.py::test_it")
    'browser'
    >>> portion_of("tests/interop/test_museum.py::test_it[one]")
    'tests/interop/test_museum.py::test_it[one]'
    """
    file = nodeid.partition("::")[0]
    if file in LONG_TEST_BY_TEST:
        return nodeid
    if file.startswith(IN_A_BROWSER):
        return "browser"
    return "spark" if file.startswith(ON_SPARKS_SESSION) and file not in WITH_SPARK_OF_THEIR_OWN else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """A process a core, and two more where there are tests that wait for others; xdist's own variable goes before."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if "not spark" in config.getoption("markexpr") else cores + 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give tests out by ``portion_of``."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # they are in order already

    class ByPortion(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return portion_of(nodeid)

    return ByPortion(config, log)
