"""Captures of format 1 as format 2 has them."""

from __future__ import annotations

import json
from base64 import b64decode

import pytest

from kafka_rack.wire_capture import recording
from kafka_rack.wire_capture.recording import Recording


def with_checkpoints(lines: bytes, every_bytes: int) -> bytes:
    """The same lines, and a checkpoint as soon as there are so many bytes behind the last one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "CHECKPOINT_BYTES", every_bytes)
        patch.setattr(recording, "CHECKPOINT_SHARE", 0)
        recorded, written = Recording(), []
        for line in lines.splitlines(keepends=True):
            found = json.loads(line)
            if found.get("ev") == "capture":
                line = json.dumps({**found, "format": 2}, separators=(",", ":")).encode() + b"\n"  # noqa: PLW2901
            written.append(line)
            if "dir" in found:
                data = b64decode(found["data"])
                recorded.frame(found["t"], found["conn"], found["dir"] == "req", data, len(line))
            else:
                recorded.event(line)
            checkpoint = recorded.checkpoint(found.get("t", 0))
            if checkpoint is not None:
                written.append(checkpoint)
    return b"".join(written)
