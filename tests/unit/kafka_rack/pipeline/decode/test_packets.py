"""What Spark's workers do with the segments of a capture, without Spark."""

from __future__ import annotations

from random import Random

import pytest

from kafka_rack.pipeline.decode import packets


@pytest.mark.parametrize("spooled_bytes", [100, 1 << 20])
def test_chunks_come_in_the_files_order_from_memory_and_from_disk(monkeypatch, spooled_bytes):
    monkeypatch.setattr(packets, "SPOOLED_BYTES", spooled_bytes)
    chunks = [((0, number, part), bytes([number]) * (part * 7)) for number in range(9) for part in range(5)]
    mixed = Random(1).sample(chunks, len(chunks))
    assert list(packets.in_order(iter(mixed))) == chunks
