"""Writes files atomically, so that no reader sees a partial one."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from kafka_rack.cli import CommandError


def write_whole(path: str, text: str, *, make_folders: bool = False) -> Path:
    """Write a file beside its place, then put it there; gives where it is.

    Raises: CommandError: it cannot be written; then nothing is left beside it.
    """
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if make_folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from error
    return target
