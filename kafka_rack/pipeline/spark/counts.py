"""Counts by name as one of Spark's accumulators."""

from __future__ import annotations

from pyspark.accumulators import AccumulatorParam


class CountsAccumulator(AccumulatorParam[dict[str, int]]):
    """Adds dictionaries of numbers."""

    def zero(self, value: dict[str, int]) -> dict[str, int]:
        return {}

    def addInPlace(self, value1: dict[str, int], value2: dict[str, int]) -> dict[str, int]:  # noqa: N802 - Spark's name
        for name, number in value2.items():
            value1[name] = value1.get(name, 0) + number
        return value1
