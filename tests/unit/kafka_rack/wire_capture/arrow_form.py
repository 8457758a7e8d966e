"""Captures of lines as Arrow."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_rack.wire_capture import recording
from kafka_rack.wire_capture.conversion import Converted, to_arrow
from kafka_rack.wire_capture.files import find_files

FILE_ID = "0123456789abcdef" * 2


def as_arrow(source: Path, target: Path, *, batch_bytes: int = 20_000, every_bytes: int = 30_000) -> Converted:
    """Write a capture of lines as Arrow, with a checkpoint every so many bytes of it."""
    (file,), _ = find_files([str(source)])
    with pytest.MonkeyPatch.context() as patch, target.open("wb") as opened:
        patch.setattr(recording, "CHECKPOINT_BYTES", every_bytes)
        patch.setattr(recording, "CHECKPOINT_SHARE", 0)
        return to_arrow(file, opened, FILE_ID, batch_bytes=batch_bytes)
