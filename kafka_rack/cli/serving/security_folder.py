"""The folder for clients' files of `kafka-rack serve --tls`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

PREFIX = "kafka-rack-security-"


class SecurityFolder(NamedTuple):
    """A folder, None where there is none; one that is temporary goes at the end."""

    name: str | None
    is_temporary: bool = False

    def remove(self) -> None:
        """Remove it if it is temporary."""
        if self.is_temporary and self.name is not None:
            import shutil

            shutil.rmtree(self.name, ignore_errors=True)


@contextmanager
def security_folder(given: str | None, *, tls: bool) -> Iterator[SecurityFolder]:
    """The configured folder, or a new one that only its owner can enter."""
    if given is not None or not tls:
        yield SecurityFolder(given)
        return
    import tempfile

    folder = SecurityFolder(tempfile.mkdtemp(prefix=PREFIX), is_temporary=True)
    try:
        yield folder
    finally:
        folder.remove()
