"""Text files of users: prices, and clients' racks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_rack.cli import UsageError
from kafka_rack.errors import InputError

if TYPE_CHECKING:
    from kafka_rack.locality.rack_rules import RackRules

Read = TypeVar("Read")
STANDARD_INPUT = "-"


def read_file(path: str, read: Callable[[str, str], Read]) -> Read:
    """A file that the user names, read by ``read(text, name)``. Raises UsageError."""
    from pathlib import Path  # here, since most clusters start without one

    try:
        return read(Path(path).read_text(encoding="utf-8"), path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: byte {error.start} is not UTF-8") from None
    except InputError as error:
        raise UsageError(str(error)) from None


def racks_file(path: str | None) -> RackRules | None:
    """The racks file that an option names; None without one. Raises UsageError."""
    if path is None:
        return None
    from kafka_rack.locality.rack_rules import RackRules

    return read_file(path, RackRules.read)


def read_json(path: str) -> Any:
    """The content of a JSON file, or of standard input for ``-``. Raises UsageError."""
    if path == STANDARD_INPUT:
        try:
            return parsed(sys.stdin.read(), "standard input")
        except UnicodeDecodeError as error:
            raise UsageError(f"standard input: byte {error.start} is not UTF-8") from None
    return read_file(path, parsed)


def parsed(text: str, where: str) -> Any:
    """A text of JSON, or of TOML if its name says so. Raises UsageError, which says where."""
    import json
    import tomllib

    try:
        return tomllib.loads(text) if where.lower().endswith(".toml") else json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{where}, line {error.lineno} column {error.colno}: {error.msg}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where}: {error}") from None
    except RecursionError:
        raise UsageError(f"{where}: lists or objects are nested too deeply") from None
    except ValueError:
        raise UsageError(f"{where}: holds a number of more digits than can be read") from None
