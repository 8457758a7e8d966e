"""A cluster of two workers decodes as one process does, with this package shipped to them as a zip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kafka_rack.pipeline.reading import decode_paths
from kafka_rack.pipeline.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]


def test_two_workers_decode_what_one_process_does(captures, tmp_path):
    arguments = [str(captures), str(tmp_path / "out"), str(tmp_path / "package.zip")]
    done = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.cluster_program", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    rows = decode_paths([str(captures)])
    assert found["tables"] == {table: count for table in TABLES if (count := sum(1 for _ in rows.of(table)))}
    assert found["workers"] == 2
    assert all("package.zip" in home for home in found["homes"])
