"""Docstring examples outside tests/: the pipeline's need the spark extra, and are left out by name without it."""

from __future__ import annotations

from importlib.util import find_spec

SPARK_MISSING = [name for name in ("pyspark", "pyarrow", "pandas") if find_spec(name) is None]

collect_ignore = ["kafka_rack/pipeline"] if SPARK_MISSING else []


def pytest_report_header() -> list[str]:
    if not SPARK_MISSING:
        return []
    return [f"pipeline doctests left out: {', '.join(SPARK_MISSING)} missing (pip install --editable '.[spark]')"]
