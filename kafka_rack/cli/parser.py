"""The parser of the command and of its subcommands: one line of error, and what was probably meant."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

WRONG_USAGE = 2
SHOWN_CHOICES = 12
"""Of more than these an error names only the nearest."""


SAID_CHOICES = re.compile(
    r"expected (?:module:Class or |all or )?(?:one of |some of )?"
    r"([\w.*+-]+(?:(?:, | or )[\w.*+-]+)+)\b.*, got '?([^',]+)'?$"
)
"""Errors name what would be right, and what was given, in this form."""


class HelpFormatter(argparse.RawTextHelpFormatter):
    """As wide as the terminal. argparse would ask shutil, and load it and its compressors with each command.

    Lines are where the text has them as long as they fit; what is too long is broken between words. Lines that are
    indented are examples and tables, and stay as they are above the options.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns() - 2)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return [short for line in text.splitlines() for short in broken(line, width)]

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        paragraph: list[str] = []
        for line in [*text.splitlines(), ""]:
            if line and not line.startswith(" "):
                paragraph.append(line)
                continue
            fits = all(len(one) <= width for one in paragraph)
            lines += paragraph if fits else broken(" ".join(paragraph), width)
            lines.append(line)
            paragraph = []
        return "".join(f"{indent}{line}\n" for line in lines[:-1])


def broken(line: str, width: int) -> list[str]:
    """A line in as many as it needs, each with the first one's blanks before it; of a table those of its last column.

    >>> broken("one two three", 9)
    ['one two', 'three']
    >>> broken("  name  one two three", 15)
    ['  name  one two', '        three']
    """
    from textwrap import wrap  # here, as only a help needs it

    found = re.match(r" +(?:\S+  +)?", line)
    under = " " * (found.end() if found else 0)
    return wrap(line, width, subsequent_indent=under, break_long_words=False, break_on_hyphens=False) or [""]


class Parser(argparse.ArgumentParser):
    """Reports wrong usage in one line, exit code 2, with the option or the value that was probably meant."""

    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        if " required: " in message or message.endswith(" is required"):
            message += self._misspelt_option()
        sys.stderr.write(f"{self.prog}: {message} (see {self.prog} --help)\n")
        raise SystemExit(WRONG_USAGE)

    def parse_args(  # type: ignore[override] # its overloads say no more than this
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        words = self.given = list(sys.argv[1:] if args is None else args)
        found, unknown = self.parse_known_args(words, namespace)
        if unknown:
            asked = parser_of(self, words)
            hint = did_you_mean(unknown[0].partition("=")[0], options_of(asked))
            asked.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found

    def _misspelt_option(self) -> str:
        """The option that was probably meant by the first word that looks like one and is none."""
        known = [*options_of(self)]
        words = (word.partition("=")[0] for word in self.given if word.startswith("--"))
        strange = next((word for word in words if not any(one.startswith(word) for one in known)), None)
        return f", got {strange}{did_you_mean(strange, known)}" if strange else ""

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """A value, or an error in our words; argparse names Python's types."""
        if action.type not in (int, float):
            return super()._get_value(action, arg_string)
        try:
            return action.type(arg_string)
        except ValueError:
            number = "a whole number" if action.type is int else "a number"
            raise argparse.ArgumentError(action, f"expected {number}, got {arg_string!r}") from None

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


def parser_of(parser: argparse.ArgumentParser, words: Iterable[str]) -> argparse.ArgumentParser:
    """The parser that reads the last of these words: that of the subcommand that they name, if any."""
    for word in words:
        under = next((one for one in arguments_of(parser) if isinstance(one, argparse._SubParsersAction)), None)
        if under is None:
            break
        parser = under.choices.get(word, parser)
    return parser


def parsers_below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of all its subcommands."""
    yield parser
    for action in arguments_of(parser):
        if isinstance(action, argparse._SubParsersAction):
            for one in action.choices.values():
                yield from parsers_below(one)


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options and arguments of a parser, without those of its subcommands."""
    yield from parser._actions


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The options of a parser that its help names."""
    for action in arguments_of(parser):
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


def with_suggestion(text: str) -> str:
    """An error's text, and what was probably meant where it says what would be right.

    >>> with_suggestion("group.protocol: expected classic or consumer, got 'consumr'")
    "group.protocol: expected classic or consumer, got 'consumr'; did you mean consumer?"
    >>> with_suggestion("--port: expected 1 or more, got 0")
    '--port: expected 1 or more, got 0'
    """
    found = SAID_CHOICES.search(text)
    return text + did_you_mean(found[2], re.split(r", | or ", found[1])) if found else text


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
