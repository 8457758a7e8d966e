"""A disk that is full, and one that cannot be written: one line says so, and the earlier tables are whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.object_store.places import CAPTURE, SECOND
from tests.on_spark import complaints
from tests.pipeline.plain import plain_tables, tables_of
from tests.progress import run

ROOT = Path(__file__).resolve().parents[2]
MOUNTED = """
mount -t tmpfs -o size=128m none "$1" && cp -a "$2"/. "$1" && shift 2 || exit 70
case $ROOM in
    none) dd if=/dev/zero of="$FOLDER/filler" bs=4k 2>/dev/null ;;
    read-only) mount -o remount,ro "$FOLDER" || exit 70 ;;
esac
"$@"
code=$?
rm -f "$FOLDER"/filler*
cp -a "$FOLDER" "$KEPT"
exit $code
"""
"""A disk of its own for one command, seen by nobody else: what was there, no room, and at the end what is there."""


def can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    return not subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode


@pytest.mark.skipif(not can_mount(), reason="a disk of its own needs root: unshare --mount")
@pytest.mark.parametrize(
    ("room", "said"),
    [
        ("none", "No space left on device; expected room for what is written, make some or choose another folder"),
        ("read-only", "Read-only file system; expected a folder that can be written, choose another"),
    ],
)
def test_earlier_tables_are_whole_and_one_line_says_what_is_wrong(tmp_path, room, said):
    captures, before, disk, kept = (tmp_path / name for name in ("in", "before", "disk", "kept"))
    for folder in (captures, before, disk):
        folder.mkdir()
    (captures / "a.jsonl").write_bytes(SECOND)
    old = plain_tables(captures, before)
    (captures / "b.jsonl").write_bytes(CAPTURE)
    command = [sys.executable, "-m", "kafka_rack.cli", "pipeline", "decode", captures, "--out", disk]
    command += ["--master", "local[1]", "--driver-memory", "600m", "--quiet"]
    environment = {**os.environ, "ROOM": room, "FOLDER": str(disk), "KEPT": str(kept)}
    done = run(["unshare", "--mount", "sh", "-c", MOUNTED, "sh", disk, before, *command], cwd=ROOT, env=environment)
    assert (done.returncode, done.stdout, complaints(done.stderr).count("\n")) == (1, "", 1), done.stderr
    assert done.stderr.startswith(f"kafka-rack pipeline decode: {disk}")
    assert said in done.stderr
    assert tables_of(kept, captures) == old
