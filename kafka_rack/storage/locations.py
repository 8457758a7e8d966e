"""A path or URL as something that can be read and written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TypeAlias

from kafka_rack.storage.remote import RemotePath
from kafka_rack.storage.settings import StorageSettings, current_settings

Location: TypeAlias = Path | RemotePath
URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://")


def location(given: str | os.PathLike[str] | RemotePath, settings: StorageSettings | None = None) -> Location:
    """What a user or Spark means; settings are those of ``use_settings`` unless given.

    >>> location("file:///trace"), location("trace/a.jsonl"), location("s3a://bucket/trace/")
    (PosixPath('/trace'), PosixPath('trace/a.jsonl'), RemotePath('s3a://bucket/trace'))

    Raises: ValueError: a URL of a scheme that workers cannot reach, or without a bucket.
    """
    if isinstance(given, RemotePath):
        return given
    text = os.fspath(given)
    if named_url(text):
        return RemotePath.parse(text, current_settings() if settings is None else settings)
    if isinstance(given, Path):
        return given
    return Path(text.removeprefix("file://") if text.startswith("file:///") else text.removeprefix("file:"))


def named_url(given: str) -> bool:
    """Whether a text is a URL of something that is not a folder or file of this machine.

    >>> named_url("s3a://bucket/trace"), named_url("file:///trace"), named_url("trace/x.jsonl")
    (True, False, False)
    """
    found = URL.match(given)
    return found is not None and found["scheme"] != "file"


def matching(folder: Location, pattern: str) -> list[Location]:
    """What lies below a folder and matches a pattern as of ``Path.glob``, in order."""
    if isinstance(folder, Path):
        return list(sorted(folder.glob(pattern)))  # noqa: C413 - a list of the wider type
    return list(sorted(folder.glob(pattern)))  # noqa: C413
