"""A test of many cases runs all of them, and its failure names those that fail."""

from __future__ import annotations

import pytest

from tests.cases import for_each


def test_every_case_runs_and_the_failure_names_those_that_fail():
    seen = []

    @for_each(lambda: [(str(number), (number,)) for number in range(5)])
    def check(number):
        seen.append(number)
        if number == 3:
            pytest.fail("three")
        assert number != 1

    with pytest.raises(BaseExceptionGroup, match="2 of 5 cases fail: 1; 3") as failed:
        check()
    assert seen == [0, 1, 2, 3, 4]
    assert [one.__notes__[-1] for one in failed.value.exceptions] == ["case: 1", "case: 3"]


def test_no_cases_are_a_failure():
    with pytest.raises(AssertionError, match="no cases"):
        for_each(list)(print)()
