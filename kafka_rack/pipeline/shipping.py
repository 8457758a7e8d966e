"""This package as a zip, for workers that do not have it installed."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

PACKAGES = ("protocol", "kafka_rack", "mockbroker")


def package_zip(target: str | Path) -> str:
    """Write the packages' sources into a zip; gives its path, for ``SparkContext.addPyFile``."""
    root = Path(__file__).resolve().parents[2]
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    with ZipFile(path, "w", ZIP_DEFLATED) as packed:
        for package in PACKAGES:
            for source in sorted((root / package).rglob("*.py")):
                packed.write(source, source.relative_to(root).as_posix())
    return str(path)
