"""Many recorded cases in one test: all of them run, and the failure names each that differs.

A test a case costs every process of a run its share of the collection, and reading the cases as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Cases = Iterable[tuple[str, tuple[Any, ...]]]
"""Each case's name, and the arguments of the check."""


def for_each(cases: Callable[[], Cases]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Makes a check of one case into a test of all; they are read when it runs."""

    def made(check: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(check)
        def test() -> None:
            hold(cases(), check)

        del test.__wrapped__  # pytest would read its arguments
        return test

    return made


def hold(cases: Cases, check: Callable[..., None]) -> None:
    """Checks every case.

    Raises: BaseExceptionGroup: the failures of all that fail, each with its case's name.
    """
    failures: list[BaseException] = []
    failed: list[str] = []
    count = 0
    for name, arguments in cases:
        count += 1
        try:
            check(*arguments)
        except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001 - raised below with the others
            failure.add_note(f"case: {name}")
            failures.append(failure)
            failed.append(name)
    assert count, "no cases"
    if failures:
        raise BaseExceptionGroup(f"{len(failed)} of {count} cases fail: {'; '.join(failed)}", failures)
