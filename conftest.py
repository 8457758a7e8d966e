"""Common to all tests and to examples in docstrings: what a bare pytest collects, in which order and portions.

Several processes (``--numprocesses=3 --dist=loadscope``) take portions of the tests, the longest first as recorded in
tests/durations.json. A portion is a file; all tests on the shared Spark session are one portion, so are those in a
browser, and each test of a file of few long tests is a portion of its own.
"""

from __future__ import annotations

import gc
import json
import signal
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule

SPARK_MISSING = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]

NEEDING_SPARK = ["kafka_rack/pipeline", "kafka_rack/wire_tables/arrow.py"]

WITH_ANOTHER_SPARK = ("tests/pipeline/test_locality_command.py",)
OF_OTHER_SUITES = (
    *(f"tests/{folder}/test_*.py" for folder in ("browser", "cluster", "formats", "interop", "native", "object_store")),
    *WITH_ANOTHER_SPARK,
)
"""Files that a bare pytest leaves out: suites of `make nightly` name them."""

collect_ignore = ["tests/interop/transactors", *(NEEDING_SPARK if SPARK_MISSING else [])]
"""Programs that tests run, and what cannot be imported."""

ON_SPARKS_SESSION = ("tests/pipeline/", "kafka_rack/pipeline/")
IN_A_BROWSER = "tests/browser/"
LONG_TEST_BY_TEST = (
    "tests/interop/test_certify.py",
    "tests/interop/test_certify_writers.py",
    "tests/interop/test_demo.py",
    "tests/interop/test_examples.py",
    "tests/interop/test_matrix.py",
    "tests/interop/test_museum.py",
    "tests/pipeline/test_locality_command.py",
)
"""Each test of these runs programs of its own, from ten seconds on, and shares nothing with the next."""

DURATIONS = Path(__file__).parent / "tests" / "durations.json"
MIN_RECORDED_S = 1.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations", action="store_true", help="write how long each portion took to tests/durations.json"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let programs that tests start be interrupted: a shell ignores SIGINT for what runs in its background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("record_durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(DurationRecorder())


def pytest_report_header() -> list[str]:
    if not SPARK_MISSING:
        return []
    return [f"pipeline doctests left out: {', '.join(SPARK_MISSING)} missing (pip install --editable '.[spark]')"]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return None
    path = collection_path.relative_to(config.rootpath).as_posix()
    return any(fnmatch(path, pattern) for pattern in OF_OTHER_SUITES) or None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects docstrings of modules that have an example.

    ``--doctest-modules`` imports and searches every module, seven of ten in vain: two fifths of the collection's time.
    """
    if file_path.suffix != ".py" or file_path.name == "__main__.py" or b">>> " not in file_path.read_bytes():
        return None
    return DoctestModule.from_parent(parent, path=file_path)


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
    """Where processes share the tests out, the longest portions come first, so that no process is left with one."""
    if hasattr(config, "workerinput"):
        seconds = recorded_durations()
        items.sort(key=lambda item: -seconds.get(portion_of(item.nodeid), 0.0))


def recorded_durations() -> dict[str, float]:
    """Portion of the tests -> the seconds that it took when durations were last recorded."""
    return json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}


class DurationRecorder:
    """Adds up what each portion takes; writes it at the end, with what earlier runs recorded for other portions."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        portion = portion_of(report.nodeid)
        self._seconds[portion] = self._seconds.get(portion, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        merged = sorted((recorded_durations() | self._seconds).items())
        rows = {portion: round(seconds, 1) for portion, seconds in merged if seconds >= MIN_RECORDED_S}
        DURATIONS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


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
    return "spark" if file.startswith(ON_SPARKS_SESSION) and file not in WITH_ANOTHER_SPARK else file


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
