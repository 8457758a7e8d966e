"""kafka-rack completion: click's scripts for shells."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from kafka_rack.cli import COMPLETE, DONE
from kafka_rack.cli.command import Arguments, argument, command, top

SHELLS = ("bash", "zsh", "fish")


@command()
@argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(arguments: Arguments) -> int:
    """Print a script with which bash, zsh or fish complete commands, options and their values.

    Examples:
      eval "$(kafka-rack completion bash)"                      in ~/.bashrc
      eval "$(kafka-rack completion zsh)"                       in ~/.zshrc, after compinit
      kafka-rack completion fish > ~/.config/fish/completions/kafka-rack.fish
    """
    shell = get_completion_class(arguments.shell)
    assert shell is not None
    sys.stdout.write(shell(top, {}, "kafka-rack", COMPLETE).source())
    return DONE
