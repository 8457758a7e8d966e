"""A directory in which every file is a hard link to the one of the same name in another."""

from __future__ import annotations

import os
from pathlib import Path

from mockbroker.adapters.storage.names import UNFINISHED


def link_all(source: Path, mirror: Path) -> None:
    """Have ``mirror`` hold the files of ``source``, as links, and no others. Raises OSError."""
    mirror.mkdir(parents=True, exist_ok=True)
    wanted = {one.name: one.stat().st_ino for one in os.scandir(source) if not one.name.endswith(UNFINISHED)}
    there = {one.name: one.stat(follow_symlinks=False).st_ino for one in os.scandir(mirror)}
    for name in there.keys() - wanted.keys():
        (mirror / name).unlink(missing_ok=True)
    for name in sorted(wanted):
        if there.get(name) == wanted[name]:
            continue
        temporary = mirror / (name + UNFINISHED)
        temporary.unlink(missing_ok=True)
        os.link(source / name, temporary)
        temporary.replace(mirror / name)
