"""Captures cut into blocks that workers read on their own.

A large file that is not compressed is cut anywhere if its recorder has written checkpoints: workers find the first one
of their part by themselves. Any other is walked once, headers only, and each block is given what reading up to its
start had brought: open connections, requests that wait, names and leaders. So the cuts never show in the rows.
"""

from __future__ import annotations

import gc
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from kafka_rack.storage import location
from kafka_rack.wire_capture.captures import Options, ResumePoint, beginning, brokers_told, read_frames
from kafka_rack.wire_capture.files import CaptureFile
from kafka_rack.wire_capture.filters import FrameFilters
from kafka_rack.wire_capture.forms import form_of
from kafka_rack.wire_capture.frames import Problem
from kafka_rack.wire_capture.learning import learn_from

MIN_BLOCK_BYTES = 1 << 12
DEFAULT_BLOCK_BYTES = (16 << 20, 128 << 20)
"""From and to, where nobody says. Each block costs a file for every table, so more than needed are slower."""
DEFAULT_CORES = 16


class CaptureBlock(msgspec.Struct):
    """Bytes ``start`` to before ``end`` of a file; ``place`` is a pickled ResumePoint, None at a file's beginning.

    ``refused``: why nothing can be read, for a file that is no capture. ``by_checkpoints``: in the place of ``end``,
    and of ``start`` with ``from_checkpoint``, stands the first checkpoint there or later; nothing behind the file's
    size is read, and of ``wanted`` times at least. ``told``: what all of a file of packets tells of the brokers.
    ``place_path``: where ``place`` has been written, if it was planned by workers.
    """

    file: CaptureFile
    start: int
    end: int
    place: bytes | None = None
    refused: str | None = None
    by_checkpoints: bool = False
    from_checkpoint: bool = False
    wanted: FrameFilters | None = None
    told: bytes | None = None
    place_path: str | None = None

    def opened(self) -> ResumePoint | None:
        if self.by_checkpoints:
            return ResumePoint(self.start, self.by_checkpoints, self.from_checkpoint, self.wanted)
        packed_place = location(self.place_path).read_bytes() if self.place_path is not None else self.place
        place: ResumePoint | None = None if packed_place is None else pickle.loads(packed_place)  # noqa: S301 - our own
        if place is not None and self.told is not None:
            place.hear_of_brokers(pickle.loads(self.told))  # noqa: S301 - our own
        return place


PlanLarge = Callable[[CaptureFile, int], list[CaptureBlock] | None]
"""Who gives the blocks of a file of packets of a size, or None."""


def plan(
    files: Sequence[CaptureFile],
    options: Options,
    *,
    partitions: int | None = None,
    block_bytes: int | None = None,
    cores: int = DEFAULT_CORES,
    filters: FrameFilters | None = None,
    plan_large: PlanLarge | None = None,
) -> list[list[CaptureBlock]]:
    """Blocks, and which of them go together; at most ``partitions`` lists, each in the files' order.

    With ``partitions`` blocks get so small that there is one for each, as far as the files can be cut; without
    ``block_bytes`` they are as large as keeps ``cores`` busy, within ``DEFAULT_BLOCK_BYTES``.

    Args:
        plan_large: gives the blocks of a file of packets, or None to have it walked here.
    """
    total = sum(file.size for file in files)
    if block_bytes is None:
        block_bytes = block_bytes_for(total, cores)
    if partitions is not None:
        block_bytes = max(MIN_BLOCK_BYTES, min(block_bytes, -(-total // partitions)))
    with without_collecting():
        blocks = [block for file in files for block in cut(file, options, block_bytes, filters, plan_large)]
    return packed(blocks, partitions if partitions is not None else len(blocks), block_bytes)


def block_bytes_for(total: int, cores: int = DEFAULT_CORES) -> int:
    """How large blocks are by default, by how much there is to read, and by how many.

    Each core has as many as every other, so that none waits for the last.
    """
    least, most = DEFAULT_BLOCK_BYTES
    rounds = max(-(-total // (cores * most)), 1)
    return max(-(-total // (cores * rounds)), least)


@contextmanager
def without_collecting() -> Iterator[None]:
    """Frames and rows hold no circles, and looking for some takes a fifth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def packed(blocks: Sequence[CaptureBlock], most: int, block_bytes: int) -> list[list[CaptureBlock]]:
    """Neighbours together, as evenly as their sizes allow, so that small files do not each cost a task."""
    total = sum(block.end - block.start for block in blocks)
    share = max(-(-total // max(most, 1)), block_bytes // 2 if most >= len(blocks) else 0, 1)
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


def cut(
    file: CaptureFile,
    options: Options,
    block_bytes: int,
    filters: FrameFilters | None = None,
    plan_large: PlanLarge | None = None,
) -> Iterator[CaptureBlock]:
    """A file's blocks."""
    if not file.splittable or file.size <= block_bytes * 3 // 2:
        yield CaptureBlock(file, 0, file.size)
        return
    if file.kind != "packets" and form_of(file.kind).has_checkpoints(file.path):
        yield from cut_by_checkpoints(file, 0, block_bytes, filters)
        return
    planned = plan_large(file, block_bytes) if plan_large is not None and file.kind == "packets" else None
    if planned is not None:
        yield from planned
        return
    place = beginning(file, options)
    if file.kind == "packets":
        blocks = list(cut_from(file, place, options, block_bytes, file.size, filters))
        told = pickle.dumps(brokers_told(place.state.known, options))
        for block in blocks:
            block.told = told
        yield from blocks
        return
    limited = filters is not None and filters.limit_time
    yield from cut_from(file, place, options, block_bytes, file.size, filters, walk_last=limited)


def cut_by_checkpoints(
    file: CaptureFile, start: int, block_bytes: int, filters: FrameFilters | None = None
) -> Iterator[CaptureBlock]:
    """The blocks from ``start``, a line's start, to the end of a file with checkpoints, of which nothing is read."""
    begin, wanted = start, filters if filters is not None and filters.limit_time else None
    while begin < file.size:
        end = begin + block_bytes
        if end + block_bytes // 2 >= file.size:
            end = file.size
        yield CaptureBlock(file, begin, end, by_checkpoints=True, from_checkpoint=begin > start, wanted=wanted)
        begin = end


def cut_from(
    file: CaptureFile,
    place: ResumePoint,
    options: Options,
    block_bytes: int,
    end: int,
    filters: FrameFilters | None = None,
    *,
    walk_last: bool = True,
) -> Iterator[CaptureBlock]:
    """The blocks from a place to ``end``, walking there; at last ``place`` stands at ``end``.

    Who needs neither that nor the last block's times leaves out ``walk_last``. Blocks without any frame in the time
    that filters want are left out.
    """
    while place.start < end:
        start, packed_place = place.start, pickle.dumps(place)
        last = start + block_bytes * 3 // 2 >= end
        if last and not walk_last:
            yield CaptureBlock(file, start, end, packed_place)
            return
        times = walk(file, place, options, end if last else start + block_bytes)
        if place.start <= start or last:
            last, place.start = True, end
        if filters is None or times is None or filters.may_want(*times):
            yield CaptureBlock(file, start, place.start, packed_place)


def walk(file: CaptureFile, place: ResumePoint, options: Options, end: int) -> tuple[int, int] | None:
    """Bring a place to the first start of a line or packet at ``end`` or later; gives the first and last time."""
    times: list[int] = []
    problems: list[Problem] = []  # told by the worker that reads the same again
    known = place.state.known
    for frame in read_frames(file, place, options, problems, end):
        learn_from(frame, known)
        if frame.index >= 0:
            times.append(frame.ts)
    known.full_at.clear()
    return (min(times), max(times)) if times else None
