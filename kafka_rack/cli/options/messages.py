"""How ``decode`` and ``encode`` are told which message, and given their bytes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import IO, Any

import protocol
from kafka_rack.cli import CommandError, UsageError
from kafka_rack.cli.options.whole_numbers import shown
from kafka_rack.cli.parser import alternatives

MAX_BYTES = 256 << 20
"""Of one message: more than twice of what brokers take, unless told otherwise (``socket.request.max.bytes``)."""
PIECE_BYTES = 1 << 20
MAX_SHOWN_CHARACTERS = 40


def add_bytes_arguments(parser: argparse.ArgumentParser) -> None:
    """Bytes from --hex, a file, or standard input."""
    parser.add_argument("--hex", metavar="DIGITS", help="the bytes in hex; blanks are skipped")
    parser.add_argument("file", nargs="?", help="a file of raw bytes, - for standard input")


def read_bytes(arguments: argparse.Namespace) -> bytes:
    """What the user gave."""
    if (arguments.hex is None) == (arguments.file is None):
        raise UsageError("give the bytes once: --hex HEX, a FILE, or - for standard input")
    if arguments.hex is not None:
        try:
            return bytes.fromhex(arguments.hex)
        except ValueError:
            found = (
                arguments.hex
                if len(arguments.hex) <= MAX_SHOWN_CHARACTERS
                else f"{arguments.hex[:MAX_SHOWN_CHARACTERS]}..."
            )
            raise UsageError(f"--hex: expected pairs of hex digits, got {found!r}") from None
    if arguments.file == "-":
        return bounded(sys.stdin.buffer, "standard input")
    try:
        with Path(arguments.file).open("rb") as file:
            return bounded(file, arguments.file)
    except OSError as error:
        raise UsageError(f"{arguments.file}: {error.strerror}") from None


def bounded(file: IO[bytes], name: str) -> bytes:
    """All of a file, if that is no more than a message can be. Raises CommandError, OSError."""
    pieces, size = [], 0
    while piece := file.read(PIECE_BYTES):
        size += len(piece)
        if size > MAX_BYTES:
            raise CommandError(f"{name}: expected at most {MAX_BYTES >> 20} MiB, got more: that is no single message")
        pieces.append(piece)
    return b"".join(pieces)


def message_named(name: str) -> Any:
    """The message class. Raises UsageError with the names near it: no message has this one."""
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
    hint = f"; did you mean {alternatives(near)}?" if near else "; `kafka-rack messages` lists them all"
    return UsageError(f"expected the name of a message, got {shown(name)!r}{hint}")


def nearest_names(name: str) -> list[str]:
    """Messages whose names, with or without Request and Response, are nearest; capitals do not count."""
    from difflib import get_close_matches  # here, as only an error needs it

    whole = {one.name.lower(): one.name for one in protocol.messages()}
    if near := [whole[found] for found in get_close_matches(name.lower(), whole, n=3, cutoff=0.8)]:
        return near
    stems: dict[str, list[str]] = {}
    for lowered, one in whole.items():
        stems.setdefault(lowered.removesuffix("request").removesuffix("response"), []).append(one)
    found = get_close_matches(name.lower(), stems, n=1, cutoff=0.7)
    return sorted(stems[found[0]]) if found else []


def version_of(message: Any, given: int | None) -> int:
    """The version that is asked for, the highest where none is. Raises UsageError: the message has no such version."""
    if given is None:
        return int(message.valid_versions.highest)
    if given not in message.valid_versions:
        raise UsageError(f"--version: expected {message.name}'s versions, {message.valid_versions}, got {given}")
    return given
