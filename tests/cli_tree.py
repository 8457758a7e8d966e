"""Every command of the command line, for lints and tests that read all parsers."""

from __future__ import annotations

from collections.abc import Iterator

import click

from kafka_rack.cli.command import top


def commands(group: click.Group = top, path: str = "kafka-rack") -> Iterator[tuple[str, click.Command]]:
    """Each command below a group with the words that call it, groups before their commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        yield f"{path} {name}", found
        if isinstance(found, click.Group):
            yield from commands(found, f"{path} {name}")


def options_of(command: click.Command) -> list[click.Option]:
    """The options of a command, without --help."""
    return [param for param in command.params if isinstance(param, click.Option)]
