"""What people are shown: colours where a terminal has them, tables that fit it, and texts that are only texts."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from kafka_rack.cli.output.console import PLAIN_WIDTH, Screen, painted
from kafka_rack.cli.output.tables import table
from kafka_rack.printable import PrintableOutput

EVIL = "a\x1b[2J[red]b[/]:smile:\u202e"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 60 columns, for ``shown_on``."""
    for name, value in {"COLUMNS": "60", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def shown_on(terminal):
    """stdout is the terminal, behind what escapes control characters, as commands have it."""
    return redirect_stdout(PrintableOutput(terminal))


def test_colours_reach_the_terminal_and_what_strangers_wrote_does_not_become_any(terminal):
    with shown_on(terminal):
        Screen().print(painted(("ok", "green"), f" {EVIL}"))
        Screen().print(f"plain {EVIL}")
        Screen().print_table([EVIL], [[EVIL], [painted((EVIL, "red"))]])
    shown = terminal.getvalue()
    assert "\x1b[32mok\x1b[0m" in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert shown.count("a\\x1b[2J[red]b[/]:smile:\\u202e") == 5


def test_no_color_takes_the_colours_away(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    with shown_on(terminal):
        Screen().print(painted(("ok", "green"), " it is"))
    assert terminal.getvalue() == "ok it is\n"


def test_a_pipe_gets_no_codes_and_as_many_columns_as_lines_are_long(capsys):
    Screen().print(painted(("ok", "green"), " " + "x " * 50))
    assert capsys.readouterr().out == "ok " + "x " * 50 + "\n"
    assert Screen().width == PLAIN_WIDTH


@pytest.mark.parametrize("name", ["rack", "東京都" * 20])
def test_a_table_wider_than_the_terminal_is_folded_and_loses_nothing(terminal, name):
    with shown_on(terminal):
        shown = table(["rack", "who", "bytes"], [[name, "consumer " * 9, 12], ["b", "x" * 70, 1234567]])
    assert max(map(len, shown.splitlines())) <= 60
    letters = sorted("".join(shown.split()))
    assert letters == sorted("".join(f"rack who bytes {name} b {'consumer' * 9} {'x' * 70} 12 1234567".split()))


def test_a_table_in_a_pipe_is_as_wide_as_it_is(capsys):
    assert table(["who", "n"], [["x" * 200, 1]]).splitlines() == ["who" + " " * 199 + "n", "x" * 200 + "  1"]


def test_columns_of_wide_signs_are_aligned():
    assert table(["rack", "n"], [["東京", 1], ["a", 22]]) == "rack   n\n東京   1\na     22"
