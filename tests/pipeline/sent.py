"""What workers without any packages are sent: this package and what it needs, in the archive of docs/pipeline.md.

The page has pip fill a folder; here the files are those that are installed already.
"""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
OURS = ("kafka_rack", "mockbroker", "protocol")
NEEDED = (
    *("construct", "cramjam", "google-crc32c", "lz4", "msgspec", "zstandard", "rich", "markdown-it-py", "mdurl"),
    *("pygments", "numpy", "pyarrow", "pandas", "python-dateutil", "six"),
)
"""Of what this package requires, what the jobs import: nothing of the mock cluster's alone, and pyspark is Spark's."""
NEEDS = "needs"
"""The folder that the archive is unpacked into, beside each executor."""


def needs_zip(folder: Path) -> Path:
    """Write the archive into a folder."""
    path = folder / f"{NEEDS}.zip"
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for name in NEEDED:
            for file in distribution(name).files or ():
                if ".." not in file.parts and not {"__pycache__", "tests", "include"}.intersection(file.parts):
                    archive.write(str(file.locate()), str(file))
        for package in OURS:
            for file in (ROOT / package).rglob("*"):
                if file.is_file() and "__pycache__" not in file.parts:
                    archive.write(file, file.relative_to(ROOT))
    return path


def settings_of(archive: Path) -> dict[str, str]:
    """The settings that have Spark send it."""
    return {"spark.archives": f"{archive}#{NEEDS}", "spark.executorEnv.PYTHONPATH": NEEDS}


def write_job(folder: Path) -> Path:
    """The program of the page that `spark-submit` runs, as a file."""
    found = re.search(r"```python\n(# job\.py\n.*?)```", PAGE, re.DOTALL)
    assert found is not None
    path = folder / "job.py"
    path.write_text(found[1], encoding="utf-8")
    return path
