"""What kafka-rack pipeline decode prints of what it wrote."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="the job imports Spark: pip install --editable '.[dev]'")

from kafka_rack.cli.pipeline.decode import as_text
from kafka_rack.pipeline.decode import DecodeSummary


def test_one_of_a_kind_is_said_in_the_singular():
    summary = DecodeSummary("out", ["a.jsonl"], {"frames": 1, "problems": 1}, {"Fetch": (1, 90)})
    said = as_text(summary).splitlines()
    assert said[0] == "1 frame, 90 B of 1 file"
    assert "1 place could not be read: see the table problems" in said
