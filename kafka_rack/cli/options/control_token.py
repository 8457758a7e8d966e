"""The token of the control API: `kafka-rack serve` requires it, `kafka-rack ctl` sends it.

It comes from KAFKA_RACK_CONTROL_TOKEN or from a file. No option takes the token itself: every user of a machine can
read command lines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from kafka_rack.cli import CommandError, UsageError

CONTROL = "KAFKA_RACK_CONTROL"
"""The variable in which `kafka-rack ctl` finds the control API."""
CONTROL_TOKEN = f"{CONTROL}_TOKEN"
FILE_VARIABLE = f"{CONTROL_TOKEN}_FILE"
MAX_FILE_BYTES = 4096
ONLY_OWNER = 0o600


class ServedToken(NamedTuple):
    """The token that a control API requires, None for none; and whether it is new, so that no client knows it."""

    text: str | None
    is_new: bool = False


def served_token(file: str | None, variables: Mapping[str, str], host: str) -> ServedToken:
    """The required token: of the variable, of the file, which is written if it is missing, or a new one.

    On loopback there is none by default. Raises UsageError, CommandError.
    """
    from mockbroker.adapters.control.access import RULE, TOKEN, is_loopback, new_token

    given = variables.get(CONTROL_TOKEN)
    token = ServedToken(given)
    if given is None and file is not None:
        with suppress(FileExistsError):
            write_new(file, made := new_token())
            token = ServedToken(made, is_new=True)
        if not token.is_new:
            token = ServedToken(read_token(file))
    elif given is None and not is_loopback(host):
        token = ServedToken(new_token(), is_new=True)
    if token.text is not None and TOKEN.fullmatch(token.text) is None:
        where = CONTROL_TOKEN if given is not None else f"--control-token-file {file}"
        raise UsageError(f"{where}: expected {RULE}, got {len(token.text)} characters")
    return token


def shown_token(file: str | None, variables: Mapping[str, str]) -> str | None:
    """The token to send to a control API, None for none. Raises UsageError: no such file."""
    if file is None and CONTROL_TOKEN in variables:
        return variables[CONTROL_TOKEN]
    file = file or variables.get(FILE_VARIABLE)
    return read_token(file) if file else None


def read_token(file: str) -> str:
    """The token in a file. Raises UsageError."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - pathlib takes its time to load
            return opened.read(MAX_FILE_BYTES).decode("ascii", errors="replace").strip()
    except OSError as error:
        raise UsageError(f"cannot read the token in {file}: {error.strerror}") from None


def write_new(path: str, token: str) -> None:
    """Write a token that only this user may read. Raises FileExistsError; CommandError: it cannot be written."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)  # noqa: PTH100, PTH103, PTH120 - the same
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ONLY_OWNER)
    except FileExistsError:
        raise
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    with os.fdopen(number, "w") as file:
        file.write(token + "\n")
