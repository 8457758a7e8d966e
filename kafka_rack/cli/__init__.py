"""The ``kafka-rack`` command: one module a subcommand, each loaded only when it runs.

Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 done and something was found, 130 interrupted. Errors are one
line on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

from kafka_rack.cli.parser import WRONG_USAGE, HelpFormatter, Parser, did_you_mean, with_suggestion
from kafka_rack.printable import PrintableOutput, printable

DONE, FAILED, FINDINGS, INTERRUPTED = 0, 1, 3, 130
"""With WRONG_USAGE, which is 2, what every subcommand ends with; FINDINGS: it did its work, and what it looked for or
judges is there, or does not hold."""
EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 something was found, 130 interrupted."

# Subcommand -> what it does, in the words of the help. Its module in ``commands`` has this name, with `_` for `-`, and
# gives ``add_arguments(parser)`` and ``run(arguments) -> exit code``.
COMMANDS = {
    "serve": "run a cluster with racks, for any Kafka client",
    "proxy": "the same laboratory before a real cluster",
    "ctl": "look at a running cluster, change it, ask who served whom",
    "demo": "three racks, real clients, one rack stopped and back: who served whom",
    "certify": "is a program rack-aware? run it, one process a rack, and grade what the wire shows",
    "check": "find records in captures that were lost, duplicated, reordered, or read though aborted",
    "what-if": "a capture under other settings: bytes, money, rebalances, load before and after",
    "locality": "bytes and money across racks in captures, and what was avoidable",
    "place": "place replicas over racks",
    "reassign": "propose where replicas should move, and start it",
    "assign": "assign partitions to consumers",
    "availability": "what an outage costs",
    "decode": "Kafka messages from bytes to JSON",
    "encode": "Kafka messages from JSON to bytes",
    "messages": "every message, its versions and fields, or how versions differ",
    "inspect": "a live cluster's racks, over the wire",
    "audit": "what is wrong with a cluster's racks",
    "topics": "create topics over racks on a live cluster, or describe them",
    "rolling-upgrade": "KIP-36's upgrade broker by broker: who writes, sends and reads what",
    "pipeline": "Spark jobs over captures",
    "completion": "what makes bash, zsh or fish complete all of this",
}


PAINTING = frozenset({"decode"})
"""Those that write colours, and show what they read as text of their own."""


class NoOutput(StringIO):
    """Stands for a standard output that was closed before we began: nothing is kept."""

    def write(self, text: str) -> int:
        return len(text)


class UsageError(Exception):
    """A wrong argument that only the subcommand can see; one line."""


class CommandError(Exception):
    """Work that failed for a reason that can be told in one line."""

    exit_code = FAILED


class InterruptedWork(CommandError):
    """Work that Ctrl-C or SIGTERM has ended, and what became of it in one line."""

    exit_code = INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    open_standard_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = next((word for word in given if not word.startswith("-")), None)
    if name in COMMANDS and given[0] == name and available(name):
        return run(name, given[1:])
    if name is not None and given[0] == name:
        sys.stderr.write(
            f"kafka-rack: there is no command {name!r}{did_you_mean(name, COMMANDS)} (see kafka-rack --help)\n"
        )
        return WRONG_USAGE
    top = Parser(
        prog="kafka-rack",
        description="A laboratory for Kafka's rack awareness.",
        epilog=epilog(),
        formatter_class=HelpFormatter,
    )
    top.add_argument("--version", action="version", version=version())
    commands = top.add_subparsers(metavar="COMMAND", title="commands")
    for command, meaning in COMMANDS.items():
        if available(command):
            commands.add_parser(command, help=meaning, add_help=False)
    if not given:
        top.print_help(sys.stderr)
        return WRONG_USAGE
    top.parse_args(given)
    raise AssertionError("a subcommand would have run")


def run(name: str, given: Sequence[str]) -> int:
    """Run one subcommand."""
    printed: Any = sys.stdout if sys.stdout is not None else NoOutput()
    command = name
    try:
        module = import_module(module_name(name))
        arguments = parser_for(name, module).parse_args(given)
        command = f"{name} {arguments.job}" if name == "pipeline" else name
        sys.stdout = printed if name in PAINTING else PrintableOutput(printed)
        return int(module.run(arguments))
    except UsageError as error:
        sys.stderr.write(f"kafka-rack {command}: {printable(with_suggestion(str(error)))}\n")
        return WRONG_USAGE
    except CommandError as error:
        sys.stderr.write(f"kafka-rack {command}: {printable(with_suggestion(str(error)))}\n")
        return error.exit_code
    except BrokenPipeError:
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write(f"kafka-rack {command}: interrupted\n")
        return INTERRUPTED
    finally:
        sys.stdout = printed


def parser_for(name: str, module: Any) -> Parser:
    """The parser of one subcommand."""
    says_exit_codes = "Exit codes: " in module.__doc__
    parser = Parser(
        prog=f"kafka-rack {name}",
        description=module.__doc__,
        epilog=epilog(None if says_exit_codes else EXIT_CODES),
        formatter_class=HelpFormatter,
    )
    module.add_arguments(parser)
    return parser


def epilog(text: str | None = EXIT_CODES) -> str:
    """What stands below a command's help: exit codes, and where the pages are that it names."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib loads too much
    folders = (f"{here}{os.sep}docs", f"{os.path.dirname(here)}{os.sep}docs")  # noqa: PTH120
    pages = next((f"docs/ is\n  {folder}" for folder in folders if os.path.isdir(folder)), None)  # noqa: PTH112
    return "\n\n".join(part for part in (text, pages) if part)


def open_standard_streams() -> None:
    """Have something open where a standard stream was closed before we began, so that no socket takes its place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free


def available(name: str) -> bool:
    """Whether this version has the subcommand."""
    return find_spec(module_name(name)) is not None


def module_name(name: str) -> str:
    return f"{__name__}.commands.{name.replace('-', '_')}"


def version() -> str:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed_version

    try:
        return f"kafka-rack {installed_version('kafka-rack')}"
    except PackageNotFoundError:
        return "kafka-rack, not installed"
