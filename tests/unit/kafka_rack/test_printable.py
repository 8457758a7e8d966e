"""What came from elsewhere reaches terminals and logs as text alone."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_rack.cli.output.tables import table
from kafka_rack.printable import PrintableOutput, printable, printable_lines

EVIL = "a\x1b[2J\x1b]0;title\x07\r\nb\x9b1m\u202ec\u2028d"


@given(st.text(st.characters()))
def test_no_control_character_and_no_change_of_direction_is_left(text):
    left = {unicodedata.category(one) for one in printable(text)} & {"Cc", "Cs", "Zl", "Zp"}
    assert not left
    assert not set(printable(text)) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert set(printable_lines(text)) - set(printable(text)) <= {"\n"}


@pytest.mark.parametrize("text", ["", "orders", "rack a", "Zürich", "東京", "עברית", "🚆", "\\x1b"])
def test_all_other_text_stays_as_it_is(text):
    assert printable(text) == text


def test_a_table_has_as_many_lines_as_rows_whatever_they_hold():
    shown = table(["client", EVIL], [[EVIL, 1], ["plain", 2]])
    assert len(shown.splitlines()) == 3
    assert "\x1b" not in shown


def test_an_output_keeps_the_ends_of_lines_and_is_else_as_the_stream_behind_it():
    behind = io.StringIO()
    output = PrintableOutput(behind)
    print(EVIL, "end", file=output)
    output.writelines(["one\n", "two\x1b\n"])
    assert behind.getvalue() == printable_lines(f"{EVIL} end\none\ntwo\x1b\n")
    assert not output.isatty()
