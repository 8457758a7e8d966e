"""docs/cli.md, the reference of every command; ``python -m tests.cli_page > docs/cli.md`` writes it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

import click

from kafka_rack.cli import COMMANDS, EXIT_CODES
from kafka_rack.cli.command import Command, top
from tests.cli_tree import commands, options_of

HEAD = f"""# Command line

This page is generated from the commands. `kafka-rack COMMAND --help` prints the same. {EXIT_CODES} Results go to
standard output: a table for people, JSON with `--format json`. An error is one line on standard error.

Completion: `eval "$(kafka-rack completion bash)"` in `~/.bashrc`; `zsh` and `fish` work the same way.
"""


def page() -> str:
    """The page: an overview, then a chapter for each section, a heading for each command."""
    found = dict(commands(top))
    parts = [HEAD, *overview()]
    for title, names in COMMANDS.items():
        parts.append(f"## {title}\n")
        for path, command in found.items():
            if path.split()[1] in names:
                parts += chapter(path, command)
    return "\n".join(parts)


def overview() -> Iterator[str]:
    yield "| | command | |\n|---|---|---|"
    for title, names in COMMANDS.items():
        for at, (name, text) in enumerate(names.items()):
            yield f"| {title if at == 0 else ''} | [`{name}`](#kafka-rack-{name}) | {text} |"
    yield ""


def chapter(path: str, command: click.Command) -> Iterator[str]:
    """A command: how it is called, its text, its options by section, its variables."""
    yield f"{'#' * (len(path.split()) + 1)} {path}\n"
    context = click.Context(command, info_name=path, max_content_width=100)
    if not isinstance(command, click.Group):
        yield f"```\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```\n"
    yield text_of(command)
    options: dict[str, list[click.Option]] = {}
    for option in options_of(command):
        options.setdefault(getattr(option, "section", "Options"), []).append(option)
    for title, listed in options.items():
        yield f"| {title} | |\n|---|---|"
        for option in listed:
            name, text = option.get_help_record(context) or ("", "")
            yield f"| `{escaped(name)}` | {escaped(text)} |"
        yield ""
    if isinstance(command, Command) and command.environment:
        yield "Each option has an environment variable: `KAFKA_RACK_` and its name in capitals, `-` as `_`.\n"


def text_of(command: click.Command) -> str:
    """The command's text; its examples are a block of code."""
    paragraphs = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n")
    return "\n".join(f"{block(one) if chr(10) + '  ' in one else one}\n" for one in paragraphs)


def block(paragraph: str) -> str:
    head, *lines = paragraph.splitlines() if not paragraph.startswith(" ") else ["", *paragraph.splitlines()]
    return "\n".join([head, "```", *(line.removeprefix("  ") for line in lines), "```"]).lstrip("\n")


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page())
