"""The suites: every test file is in one, every pattern matches something, and a failed test counts as promised."""

from __future__ import annotations

import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.suites import runner
from tests.suites.runner import Result, Runner, closing_of, verdict
from tests.suites.table import NIGHTLY, SUITES, concerned, pytest_suite

ROOT = Path(__file__).resolve().parents[2]


def files_of_the_project():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return listed.splitlines()


def test_each_test_file_of_interop_is_in_one_suite():
    named = [test for suite in NIGHTLY for test in suite.tests if test.startswith("tests/interop/")]
    assert sorted(named) == sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/interop/test_*.py"))


@pytest.mark.parametrize("suite", NIGHTLY, ids=lambda suite: suite.name)
def test_each_pattern_of_a_suite_matches_a_file(suite):
    files = files_of_the_project()
    patterns = (*suite.concerns, *(test if test.endswith(".py") else f"{test}/*" for test in suite.tests))
    assert [pattern for pattern in patterns if not any(fnmatch(file, pattern) for file in files)] == []


def test_a_change_of_a_handler_concerns_the_clients_and_no_job():
    names = {suite.name for suite in concerned(["mockbroker/handlers/list_offsets.py"])}
    assert "clients" in names
    assert not names & {"spark", "object-store", "cluster", "formats", "browser", "docs"}


def test_a_change_of_the_set_up_concerns_all_but_what_runs_at_night():
    names = {suite.name for suite in NIGHTLY} - {"properties", "parts", "fuzz", "torture", "bench"}
    assert {suite.name for suite in concerned(["pyproject.toml"])} == names


SOMETIMES = """
from pathlib import Path
HERE = Path(__file__).parent

def test_passes_the_second_time():
    before = (HERE / "ran").exists()
    (HERE / "ran").touch()
    assert before

def test_passes(): pass
"""
NEVER = "def test_never_passes(): assert False"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a test file as a suite; returns its result."""
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def run_file(text, *, repeats_failed=True):
        (tmp_path / "test_it.py").write_text(text)
        suite = pytest_suite("it", "test_it.py", needs=(), options=("-p", "no:asyncio"))
        (result,) = Runner(repeats_failed=repeats_failed).run([suite])
        return result

    return run_file


def test_a_test_that_passes_when_repeated_is_flaky_and_the_run_is_green(run):
    result = run(SOMETIMES)
    assert (result.outcome, result.failed, len(result.flaky)) == ("ok, 1 flaky", [], 1)
    assert result.closing.startswith("1 failed, 1 passed in ")
    assert verdict([result]) == 0


def test_a_test_that_fails_again_makes_the_run_red(run):
    result = run(NEVER)
    assert (result.is_good, len(result.failed), result.flaky) == (False, 1, [])
    assert verdict([result]) == 1


def test_a_run_that_repeats_nothing_is_red_at_the_first_failure(run):
    assert not run(SOMETIMES, repeats_failed=False).is_good


def test_a_file_that_cannot_be_collected_makes_the_run_red(run):
    assert not run("import no_such_module_anywhere").is_good


def test_more_than_three_flaky_tests_make_the_run_red():
    results = [Result(name, "1f2e", exit_code=1, flaky=["a", "b"]) for name in ("clients", "racks")]
    assert all(result.is_good for result in results)
    assert (verdict(results[:1]), verdict(results)) == (0, 1)


def test_the_closing_line_is_the_last_that_counts_tests(tmp_path):
    log = tmp_path / "log"
    log.write_text("= 3 passed in 1.00s =\nfoo\n==== 12 passed, 1 skipped, 2 warnings in 61.50s (0:01:01) ====\nbye\n")
    assert closing_of(log) == "12 passed, 1 skipped, 2 warnings in 61.50s (0:01:01)"


def test_an_unknown_suite_is_refused_with_the_names_of_all():
    done = subprocess.run(
        [sys.executable, "-m", "tests.suites", "nightly", "clint"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == f"no suite clint; suites are {', '.join(SUITES)}\n"
