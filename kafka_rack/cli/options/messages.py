"""How ``decode`` and ``encode`` are told which message, and given their bytes."""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path
from typing import IO, Any

import protocol
from kafka_rack.cli import CommandError, UsageError

MAX_BYTES = 256 << 20
"""Of one message: more than twice of what brokers take, unless told otherwise (``socket.request.max.bytes``)."""
PIECE_BYTES = 1 << 20


def add_bytes_arguments(parser: argparse.ArgumentParser) -> None:
    """Bytes from --hex, a file, or standard input."""
    parser.add_argument("--hex", help="the bytes in hex; blanks are skipped")
    parser.add_argument("file", nargs="?", help="a file of raw bytes, - for standard input")


def read_bytes(arguments: argparse.Namespace) -> bytes:
    """What the user gave."""
    if (arguments.hex is None) == (arguments.file is None):
        raise UsageError("give the bytes once: --hex HEX, a FILE, or - for standard input")
    if arguments.hex is not None:
        try:
            return bytes.fromhex(arguments.hex)
        except ValueError as error:
            raise UsageError(f"--hex: {error}") from None
    if arguments.file == "-":
        return bounded(sys.stdin.buffer, "standard input")
    try:
        with Path(arguments.file).open("rb") as file:
            return bounded(file, arguments.file)
    except OSError as error:
        raise CommandError(f"{arguments.file}: {error.strerror}") from None


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
    """The message class, or a hint at the names near it."""
    try:
        return protocol.named_class(name)
    except protocol.UnsupportedVersionError as error:
        near = difflib.get_close_matches(name, [one.name for one in protocol.messages()], n=3)
        hint = f"; near it are {', '.join(near)}" if near else "; `kafka-rack messages` lists them"
        raise CommandError(f"{error}{hint}") from None
