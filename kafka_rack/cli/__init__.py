"""The ``kafka-rack`` command: one module a command, loaded only when it runs (see ``command.Group``).

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 findings, 130 interrupted. An error is one line on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kafka_rack.printable import printable

DONE, FAILED, WRONG_USAGE, FINDINGS, INTERRUPTED = 0, 1, 2, 3, 130
"""FINDINGS: the command did its work, and found what it looks for, or a claim that does not hold."""
EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 findings, 130 interrupted."
COMPLETE = "_KAFKA_RACK_COMPLETE"
"""Shells set this variable when they ask for completions."""

COMMANDS = {
    "Run": {
        "serve": "Run a mock cluster with racks for any Kafka client.",
        "proxy": "Add racks, faults and a journal to a real cluster.",
        "demo": "Stop a rack under real clients; see which broker serves which client.",
        "ctl": "Look at a running cluster, change it, inject faults.",
    },
    "Test": {
        "certify": "Grade how rack-aware a client program is.",
        "check": "Find lost, duplicated or reordered records in captures.",
    },
    "Measure": {
        "locality": "Price the bytes that cross racks in captures.",
        "what-if": "Compare a capture with other settings: bytes, money, load.",
        "pipeline": "Run Spark jobs over many captures.",
    },
    "Plan": {
        "place": "Place replicas over racks.",
        "assign": "Assign partitions to consumers.",
        "reassign": "Propose where replicas should move, and start the move.",
        "availability": "Compute what an outage costs.",
        "audit": "Find what is wrong with a cluster's racks.",
        "inspect": "Show a live cluster's racks.",
        "topics": "Create, describe and change topics of a live cluster.",
        "rolling-upgrade": "Replay KIP-36's upgrade broker by broker.",
    },
    "Bytes": {
        "decode": "Decode Kafka messages to JSON.",
        "encode": "Encode JSON as Kafka messages.",
        "messages": "List messages, versions and fields.",
    },
}
"""Section -> command -> its help in one line. ``commands/what_if.py`` has the function ``what_if``, and so on."""
HIDDEN = ("completion",)
"""Commands that the help names in a sentence."""


class UsageError(click.UsageError):
    """A wrong argument that only the command can see; one line."""


class CommandError(click.ClickException):
    """Work that failed, for a reason of one line."""

    exit_code = FAILED
    ctx: click.Context | None = None


class InterruptedWork(CommandError):
    """Work that Ctrl-C or SIGTERM ended, and its state in one line."""

    exit_code = INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from kafka_rack.cli.command import top

    open_standard_streams()
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(top, {}, "kafka-rack", COMPLETE, instruction)
    try:
        with top.make_context("kafka-rack", list(sys.argv[1:] if arguments is None else arguments)) as context:
            return int(top.invoke(context))
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stderr.write(error.message + "\n")
        return WRONG_USAGE
    except click.ClickException as error:
        sys.stderr.write(f"{printable(error_line(error))}\n")
        return error.exit_code
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:
        return FAILED


def error_line(error: click.ClickException) -> str:
    """The error in one line: the command, the option or variable, the value met and the one expected."""
    context: click.Context | None = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "kafka-rack"
    if not isinstance(error, click.UsageError) or isinstance(error, UsageError):
        return f"{command}: {error.message}"
    param = error.param if isinstance(error, click.BadParameter) else None
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {error.possibilities[0]}?" if error.possibilities else ""
        text = f"no such option {error.option_name}{near}"
    elif isinstance(error, click.MissingParameter) and param is not None:
        text = f"{name_of(param, context)} is missing"
    elif param is not None:
        text = f"{name_of(param, context)}: {error.message[:1].lower()}{error.message[1:]}"
    else:
        text = f"{error.message[:1].lower()}{error.message[1:]}"
    return f"{command}: {text.removesuffix('.')} (see {command} --help)"


def name_of(param: click.Parameter, context: click.Context | None) -> str:
    """An option as it was typed, or the variable that it came from; an argument by its metavar."""
    if context is not None and param.name is not None:
        prefix = context.auto_envvar_prefix
        if prefix and context.get_parameter_source(param.name) is click.core.ParameterSource.ENVIRONMENT:
            return f"{prefix}_{param.name.upper()}"
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name


def open_standard_streams() -> None:
    """Open what the caller closed of the standard streams, so that no socket takes its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
