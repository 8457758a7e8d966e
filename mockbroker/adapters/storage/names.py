"""The names of files in a log's directory. Source: LogFileUtils, Apache Kafka 4.4."""

from __future__ import annotations

from pathlib import Path

LOG, INDEX, TIME_INDEX, TXN_INDEX, SNAPSHOT = ".log", ".index", ".timeindex", ".txnindex", ".snapshot"
INDEX_SUFFIXES = (INDEX, TIME_INDEX, TXN_INDEX)
SEGMENT_SUFFIXES = (LOG, *INDEX_SUFFIXES)
DELETED, CLEANED, SWAP, UNFINISHED = ".deleted", ".cleaned", ".swap", ".tmp"
DIGITS = 20


def file_name(offset: int, suffix: str) -> str:
    """The name of one of the files of a segment.

    >>> file_name(7, ".log")
    '00000000000000000007.log'
    """
    return f"{offset:0{DIGITS}d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in the name of a file with this suffix; None for another.

    >>> offset_of("00000000000000000007.log", ".log"), offset_of("00000000000000000007.log.swap", ".log")
    (7, None)
    """
    digits = name.removesuffix(suffix)
    is_one = name.endswith(suffix) and len(digits) == DIGITS and digits.isascii() and digits.isdigit()
    return int(digits) if is_one else None


def remove_directory(directory: Path) -> None:
    """Remove a directory and the files in it. Raises OSError."""
    for one in directory.iterdir():
        one.unlink(missing_ok=True)
    directory.rmdir()
