"""Options that may stand in the environment: KAFKA_RACK_BROKERS=6 for --brokers 6.

The command line wins. A variable with the prefix that is no option's is an error, as a misspelt option is.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any

from kafka_rack.cli import UsageError
from kafka_rack.cli.parser import did_you_mean

PREFIX = "KAFKA_RACK_"
CONTROL = "KAFKA_RACK_CONTROL"  # `kafka-rack ctl` finds the control API by it
CONTROL_TOKEN = f"{CONTROL}_TOKEN"  # what the control API asks for, and `kafka-rack ctl` shows
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off", "")
FROM_OUTSIDE = re.compile(r"KAFKA_RACK_(SERVICE_(HOST|PORT)\w*|PORT_\d+_\w+|NAME|ENV_\w+)")
"""What Kubernetes and linked containers set for a service that is called kafka-rack; KAFKA_RACK_PORT=tcp://... too."""
ATTRIBUTE = "environment"  # of the parsed arguments: variable -> action


def option_of(parser: argparse.ArgumentParser) -> Callable[..., None]:
    """What adds an option to the parser, and its variable to the option's help.

    An option that was not given is None until ``fill_in``.
    """
    actions: dict[str, argparse.Action] = {}
    parser.set_defaults(**{ATTRIBUTE: actions})

    def option(flag: str, **details: Any) -> None:
        variable = variable_of(flag)
        details["help"] += f" [{variable}]"
        actions[variable] = parser.add_argument(flag, default=None, **details)

    return option


def variable_of(flag: str) -> str:
    """
    >>> variable_of("--control-port")
    'KAFKA_RACK_CONTROL_PORT'
    """
    return PREFIX + flag.removeprefix("--").replace("-", "_").upper()


def fill_in(arguments: argparse.Namespace, variables: Mapping[str, str]) -> None:
    """Set what the command line has not said: from the variables, else [] and False where an option repeats or is bare.

    Raises: UsageError: a variable that there is not, or an invalid value.
    """
    actions: dict[str, argparse.Action] = getattr(arguments, ATTRIBUTE)
    given = {name: text for name, text in variables.items() if name.startswith(PREFIX) and is_ours(name, text)}
    for name in given:
        if name not in actions and name not in (CONTROL, CONTROL_TOKEN):
            raise UsageError(f"{name}: expected the variable of an option, got another{did_you_mean(name, actions)}")
    for name, action in actions.items():
        if getattr(arguments, action.dest) is not None:
            continue
        if name in given:
            setattr(arguments, action.dest, value_of(name, action, given[name]))
        elif is_list(action):
            setattr(arguments, action.dest, [])
        elif action.nargs == 0:
            setattr(arguments, action.dest, False)


def is_ours(name: str, text: str) -> bool:
    """Whether a variable is meant for us, and not for those who look for a service of this name."""
    return FROM_OUTSIDE.fullmatch(name) is None and not (name == f"{PREFIX}PORT" and "://" in text)


def value_of(name: str, action: argparse.Action, text: str) -> Any:
    """The value that a variable's text stands for. Raises UsageError."""
    if is_list(action):
        return pieces_of(text, pairs=action.metavar == "KEY=VALUE")
    if action.nargs == 0:
        if text.lower() not in (*YES, *NO):
            raise UsageError(f"{name}: expected 1 or 0, got {text!r}")
        return text.lower() in YES
    if action.choices is not None and text not in action.choices:
        raise UsageError(f"{name}: expected {' or '.join(action.choices)}, got {text!r}")
    if action.type is int:
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"{name}: expected a whole number, got {text!r}") from None
    return text


def pieces_of(text: str, *, pairs: bool) -> list[str]:
    """What stands between commas. Of ``pairs`` a piece without ``=`` belongs to the value before it.

    >>> pieces_of("orders:6:3, payments", pairs=False)
    ['orders:6:3', 'payments']
    >>> pieces_of("num.partitions=6,sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256", pairs=True)
    ['num.partitions=6', 'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256']
    """
    pieces: list[str] = []
    for piece in text.split(","):
        if pairs and "=" not in piece and pieces:
            pieces[-1] += f",{piece}"
        elif piece.strip():
            pieces.append(piece.strip())
    return pieces


def is_list(action: argparse.Action) -> bool:
    return isinstance(action, argparse._AppendAction)
