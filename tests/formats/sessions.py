"""A session of Spark that knows Delta and Iceberg by their released packages."""

from __future__ import annotations

from typing import Any

from kafka_rack.pipeline.tables import DELTA, ICEBERG, PACKAGES, SETTINGS
from tests.on_spark import session_with


def session_with_formats() -> Any:
    """A session with the settings of both formats."""
    extensions = ",".join(SETTINGS[kind]["spark.sql.extensions"] for kind in (DELTA, ICEBERG))
    return session_with([*PACKAGES.values()], {**SETTINGS[DELTA], "spark.sql.extensions": extensions})
