"""The message and the version that ``decode``, ``encode`` and ``messages`` are about."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

import protocol
from kafka_rack.cli import UsageError
from kafka_rack.cli.command import Decorator, option
from kafka_rack.cli.options.types import Name, WholeNumber, message_names, shown

version_option = option("--version", WholeNumber(), "Version of the message; default: the highest.")


def message_option(*, required: bool) -> Decorator[Any]:
    help_text = "Name of the message, such as MetadataRequest."
    return option("--message", Name("NAME", message_names), help_text, required=required)


def message_named(name: str) -> Any:
    """The message class. Raises UsageError with names near it: no message has this one."""
    try:
        return protocol.named_class(name)
    except protocol.UnsupportedVersionError:
        raise unknown_message(name) from None


def unknown_message(name: str) -> UsageError:
    """Says that no message has this name, and which it may have been meant for.

    >>> str(unknown_message("Fecth"))
    "expected the name of a message, got 'Fecth'; did you mean FetchRequest or FetchResponse?"
    """
    near = nearest_names(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `kafka-rack messages` lists them all"
    return UsageError(f"expected the name of a message, got {shown(name)!r}{hint}")


def nearest_names(name: str) -> list[str]:
    """Messages whose names, with or without Request and Response, are nearest; capitals do not count."""
    whole = {one.lower(): one for one in message_names()}
    if near := [whole[found] for found in get_close_matches(name.lower(), whole, n=3, cutoff=0.8)]:
        return near
    stems: dict[str, list[str]] = {}
    for lowered, one in whole.items():
        stems.setdefault(lowered.removesuffix("request").removesuffix("response"), []).append(one)
    found = get_close_matches(name.lower(), stems, n=1, cutoff=0.7)
    return sorted(stems[found[0]]) if found else []


def version_of(message: Any, version: int | None) -> int:
    """The version, or the highest. Raises UsageError: the message has no such version."""
    if version is None:
        return int(message.valid_versions.highest)
    if version not in message.valid_versions:
        raise UsageError(f"--version: expected {message.name}'s versions, {message.valid_versions}, got {version}")
    return version
