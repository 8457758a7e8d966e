"""The parts of captures that tasks read: whole files, or the new lines of a file that a stream follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from kafka_rack.wire_capture.files import CaptureFile


class CaptureBlock(msgspec.Struct):
    """The lines of a file that begin at ``start`` or later and before ``end``; of other files all of it.

    ``refused``: why nothing can be read, for a file that is no capture.
    """

    file: CaptureFile
    start: int
    end: int
    refused: str | None = None


def whole_files(files: Iterable[CaptureFile]) -> list[CaptureBlock]:
    """A block for each file."""
    return [CaptureBlock(file, 0, file.size) for file in files]


def packed(blocks: Sequence[CaptureBlock], most: int) -> list[list[CaptureBlock]]:
    """At most ``most`` groups of neighbours, as even as their sizes allow; each block alone where there are fewer."""
    if len(blocks) <= most:
        return [[block] for block in blocks]
    share = max(-(-sum(block.end - block.start for block in blocks) // most), 1)
    groups: list[list[CaptureBlock]] = []
    filled = 0
    for block in blocks:
        size = block.end - block.start
        if not groups or (filled + size / 2 > share and len(groups) < most):
            groups.append([])
            filled = 0
        groups[-1].append(block)
        filled += size
    return groups
