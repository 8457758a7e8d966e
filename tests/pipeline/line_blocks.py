"""A file of lines in parts, as a stream reads one that grows."""

from __future__ import annotations

import itertools
from pathlib import Path

from kafka_rack.wire_capture.blocks import CaptureBlock
from kafka_rack.wire_capture.files import CaptureFile


def line_blocks(file: CaptureFile, parts: int) -> list[CaptureBlock]:
    """Blocks of about the same size, each of whole lines."""
    data = Path(file.path).read_bytes()
    ends = {data.find(b"\n", len(data) * part // parts) + 1 or len(data) for part in range(1, parts)} | {len(data)}
    starts = [0, *sorted(ends)]
    return [CaptureBlock(file, start, end) for start, end in itertools.pairwise(starts)]
