from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.state.patterns import PatternError, compiled, name_test


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_wildcards_match_as_the_expression_with_any_letters_does(pattern, text):
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
    assert bool(name_test([pattern])(text)) == expected


def test_a_hostile_text_is_matched_in_one_pass():
    assert not name_test(["app-*-eu-*-eu-*-x"])("app-" + "-eu-" * 100_000)


def test_an_expression_that_backtracks_elsewhere_is_matched_in_one_pass():
    assert compiled("(a+)+$").fullmatch("a" * 100_000 + "!") is None


@pytest.mark.parametrize("pattern", ["[a-", "(?=a)", "(?:.{0,900}){40}"])
def test_what_re2_has_not_or_what_takes_too_much_memory_is_refused(pattern):
    with pytest.raises(PatternError):
        compiled(pattern)
