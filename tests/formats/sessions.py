"""A session of Spark that knows Delta and Iceberg by their released packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.on_spark import JARS, session_with


def session_with_formats(more: Mapping[str, str] | None = None) -> Any:
    """A session with the settings of both formats, and ``more``."""
    from kafka_rack.pipeline.output.formats import package_of, settings_of
    from kafka_rack.wire_tables.stored import DELTA, ICEBERG

    settings = settings_of(DELTA)
    settings |= settings_of(ICEBERG, settings)
    packages = [package for kind in (DELTA, ICEBERG) if (package := package_of(kind))]
    return session_with(packages, {**settings, **(more or {})})


def jars_of(spark: Any) -> list[str]:
    """What such a session was given and has fetched, as files."""
    given = spark.sparkContext.getConf().get("spark.jars", "") or ""
    found = {Path(path).name: path.removeprefix("file://") for path in given.split(",") if path}
    return list((found | {jar.name: str(jar) for jar in sorted((JARS / "jars").glob("*.jar"))}).values())
