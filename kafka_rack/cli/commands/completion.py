"""Print what makes a shell complete commands, options and their values: a script that never starts Python on TAB.

Examples:
  source <(kafka-rack completion bash)                                             in this bash; or in ~/.bashrc
  kafka-rack completion zsh > ~/.zfunc/_kafka-rack                                 a folder of $fpath, before compinit
  kafka-rack completion fish > ~/.config/fish/completions/kafka-rack.fish
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from kafka_rack.cli import COMMANDS, DONE, CommandError, available, module_name
from kafka_rack.cli.options.offered_values import offered_values
from kafka_rack.cli.parser import Parser, arguments_of, parsers_below
from kafka_rack.extras import pip_install

SHELLS = ("bash", "zsh", "fish")
FILE_WORDS = frozenset({"FILE", "CAPTURE", "IN", "JAR"})
DIRECTORY_WORDS = frozenset({"DIR"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that is to complete")


def run(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise CommandError(
            f"shtab, of the extra completion, is not installed: {pip_install('completion')} brings it"
        ) from None

    script = shtab.complete(whole_parser(), arguments.shell)
    sys.stdout.write(script if script.endswith("\n") else f"{script}\n")
    return DONE


def whole_parser() -> Parser:
    """One parser of every command, its arguments marked where a file, a folder or a known name is expected.

    It is for the scripts alone: what it offers as choices a command may take others beside.
    """
    top = Parser(prog="kafka-rack")
    top.add_argument("--version", action="store_true", help="print the version")
    commands = top.add_subparsers(title="commands")
    for name, meaning in COMMANDS.items():
        if available(name):
            import_module(module_name(name)).add_arguments(commands.add_parser(name, help=meaning))
    for parser in parsers_below(top):
        for action in arguments_of(parser):
            if action.choices is None and (names := offered_values(parser.prog, action)):
                action.choices = names
            mark_path(action)
    return top


def mark_path(action: argparse.Action) -> None:
    """Have files or folders completed where the argument's metavar says that it is one, as ``FILE | -`` does."""
    import shtab

    if action.choices is not None or not isinstance(action.metavar, str):
        return
    words = set(action.metavar.split())
    if words & FILE_WORDS:
        action.complete = shtab.FILE  # type: ignore[attr-defined] # where shtab looks for it
    elif words & DIRECTORY_WORDS:
        action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
