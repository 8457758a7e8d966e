"""The parser of the command and of its subcommands: one line of error, and what was probably meant."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

WRONG_USAGE = 2
SHOWN_CHOICES = 12
"""Of more than these an error names only the nearest."""


class HelpFormatter(argparse.RawTextHelpFormatter):
    """As wide as the terminal. argparse would ask shutil, and load it and its compressors with each command."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns() - 2)


class Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line, exit code 2, with the option or the value that was probably meant."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        raise SystemExit(WRONG_USAGE)

    def parse_args(  # type: ignore[override] # its overloads say no more than this
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        found, unknown = self.parse_known_args(words, namespace)
        if unknown:
            asked = parser_of(self, words)
            hint = did_you_mean(unknown[0].partition("=")[0], options_of(asked))
            asked.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse what is none of an argument's choices, in our words; argparse lists them all."""
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        hint = did_you_mean(str(value), choices)
        if len(choices) <= SHOWN_CHOICES:
            expected = f"expected {alternatives(choices)}, got {value!r}"
        else:
            expected = f"{value!r} is none of its {len(choices)} values"
        raise argparse.ArgumentError(action, f"{expected}{hint}")


class OldName(argparse.Action):
    """An option by the name that it had: it does what it did, says its new name on stderr, and is not in the help.

    Args:
        new_name: the option as it is called now.
    """

    def __init__(self, option_strings: Sequence[str], dest: str, *, new_name: str, **details: Any) -> None:
        super().__init__(option_strings, dest, help=argparse.SUPPRESS, **details)
        self.new_name = new_name

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        sys.stderr.write(f"{parser.prog}: note: {option_string} is called {self.new_name} now\n")
        setattr(namespace, self.dest, values)


def parser_of(parser: argparse.ArgumentParser, words: Iterable[str]) -> argparse.ArgumentParser:
    """The parser that reads the last of these words: that of the subcommand that they name, if any."""
    for word in words:
        under = next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)
        if under is None:
            break
        parser = under.choices.get(word, parser)
    return parser


def parsers_below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of all its subcommands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers_below(one)


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser that its help names."""
    for action in parser._actions:
        if action.help != argparse.SUPPRESS:
            yield from action.option_strings


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """A question to put behind an error; empty where nothing known is near.

    >>> did_you_mean("certfy", ["serve", "certify"])
    '; did you mean certify?'
    >>> did_you_mean("--color", ["--format"])
    ''
    """
    from difflib import get_close_matches  # here, as only an error needs it

    near = get_close_matches(given, list(known), n=1, cutoff=0.7)
    return f"; did you mean {near[0]}?" if near else ""


def alternatives(words: Sequence[str]) -> str:
    """
    >>> alternatives(["a", "b", "c"])
    'a, b or c'
    """
    *some, last = words
    return f"{', '.join(some)} or {last}" if some else last


def terminal_columns() -> int:
    """The columns of the terminal, or as many as COLUMNS says; 80 where there is none."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80
