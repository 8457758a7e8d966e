"""What other languages' tests need: fetched once, and not missed in silence."""

from __future__ import annotations

import shutil

import pytest

from tests.interop import fetched
from tests.interop.fetched import ToolMissingError, needs_programs, skipped_without_tools


@pytest.fixture
def without_programs(monkeypatch, tmp_path):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(fetched, "FOLDER", tmp_path)


@pytest.mark.usefixtures("without_programs")
@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_a_missing_java_skips_a_test_with_what_to_install_and_fails_it_in_ci(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with (
        pytest.raises(outcome, match=r"java is not installed \(Debian, Ubuntu: apt-get install"),
        skipped_without_tools(),
    ):
        needs_programs("java", "mvn")


def test_a_folder_is_filled_once_and_a_failure_says_why(monkeypatch, tmp_path):
    monkeypatch.setattr(fetched, "FOLDER", tmp_path)
    monkeypatch.setattr(fetched, "PAUSES_S", ())
    script = ["sh", "-c", "cat given >>found"]
    for _ in range(2):
        folder = fetched.fetched("some", "found", script, {"given": "text"})
        assert (folder / "found").read_text() == "text"
    with pytest.raises(ToolMissingError, match="sh could not fetch other: no way"):
        fetched.fetched("other", "found", ["sh", "-c", "echo no way >&2; exit 1"])


def test_what_fails_for_a_moment_is_fetched_by_a_further_try(monkeypatch, tmp_path):
    monkeypatch.setattr(fetched, "FOLDER", tmp_path)
    monkeypatch.setattr(fetched, "PAUSES_S", (0.0, 0.0))
    folder = fetched.fetched("some", "found", ["sh", "-c", "echo . >>tries; [ $(wc -l <tries) = 3 ] && touch found"])
    assert (folder / "tries").read_text() == ".\n" * 3
