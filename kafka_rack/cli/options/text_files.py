"""Files of text that a user names: prices, and where clients are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_rack.cli import UsageError
from kafka_rack.errors import InputError

if TYPE_CHECKING:
    from kafka_rack.locality.rack_rules import RackRules

Read = TypeVar("Read")


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
    """A JSON file's content.

    Raises: UsageError: it is missing or is no JSON; the message says where.
    """
    import json
    from pathlib import Path

    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(no_json(path, error)) from error


def no_json(where: str, error: Exception) -> str:
    """Why a text was not read as JSON, in one line."""
    import json

    if isinstance(error, json.JSONDecodeError):
        return f"{where}, line {error.lineno} column {error.colno}: {error.msg}"
    if isinstance(error, UnicodeDecodeError):
        return f"{where}: is no UTF-8 text"
    if isinstance(error, RecursionError):
        return f"{where}: lists or objects are nested too deeply"
    return f"{where}: holds a number of more digits than can be read"
