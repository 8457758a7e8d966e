"""Brings a log's directory into order when it is opened: what an unclean end has left, and what is damaged.

After an unclean end each batch is checked from the segment on that has the recovery point. The first that is torn or
whose checksum is wrong is cut off with all behind it, unless it lies before the recovery point: what has reached the
disk once is not given up, and a damaged batch among it stays, to be refused whenever somebody reads it. Indexes of what
was checked are made anew. Source: LogLoader and LogSegment.recover, Apache Kafka 4.4, which gives up more.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kafka_rack.plurals import counted
from mockbroker.adapters.storage.batch_scan import Scan, ScannedBatch, scan
from mockbroker.adapters.storage.files import Files
from mockbroker.adapters.storage.index_files import TIME_ENTRY, IndexWriter, is_sound
from mockbroker.adapters.storage.names import (
    CLEANED,
    DELETED,
    INDEX,
    INDEX_SUFFIXES,
    LOG,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    UNFINISHED,
    file_name,
    offset_of,
)

NO_TIMESTAMP = NO_EPOCH = -1


@dataclass(slots=True)
class OpenedSegment:
    """A segment as it was found: its batches, and when its file was last written, in ms since 1970."""

    base_offset: int
    size: int
    batches: list[ScannedBatch]
    modified_ms: int
    index: IndexWriter


@dataclass(slots=True)
class RecoveredLog:
    """What stood in a directory.

    ``faults`` says what is damaged, ``repairs`` what was done; ``cut_bytes`` were cut off. ``rebuilt_from`` is the base
    offset of the first segment that was checked, None if none was.
    """

    segments: list[OpenedSegment] = field(default_factory=list)
    cut_bytes: int = 0
    batches_checked: int = 0
    faults: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    rebuilt_from: int | None = None

    @property
    def end_offset(self) -> int:
        """The offset behind the last batch."""
        if not self.segments:
            return 0
        last = self.segments[-1]
        return last.batches[-1].last_offset + 1 if last.batches else last.base_offset

    def message(self, name: str) -> str | None:
        """What was found and done, in a line; None where a log was as it should be.

        >>> RecoveredLog(batches_checked=1).message("orders-0")
        'orders-0: 0 segments of 0 bytes, 1 batch checked; it ends at offset 0'
        """
        if not (self.batches_checked or self.faults or self.repairs):
            return None
        size = sum(segment.size for segment in self.segments)
        segments, batches = counted(len(self.segments), "segment"), counted(self.batches_checked, "batch", "batches")
        parts = [f"{segments} of {size} bytes, {batches} checked"]
        return f"{name}: " + "; ".join((*parts, *self.faults, *self.repairs)) + f"; it ends at offset {self.end_offset}"


def recover_directory(
    directory: Path, files: Files, *, clean: bool, recovery_point: int, interval_bytes: int
) -> RecoveredLog:
    """Bring a directory into order, and say what is in it. Raises OSError, StorageError."""
    found = RecoveredLog()
    if not directory.is_dir():
        return found
    _finish_swaps(directory, files, found)
    bases = sorted(_offsets(directory, LOG))
    _remove_orphans(directory, files, set(bases), found)
    first_checked = None if clean else max((base for base in bases if base <= recovery_point), default=0)
    for place, base_offset in enumerate(bases):
        following = bases[place + 1] if place + 1 < len(bases) else None
        check = first_checked is not None and base_offset >= first_checked
        segment, is_cut = _open_segment(
            directory, files, found, base_offset, following, interval_bytes, recovery_point if check else None
        )
        found.segments.append(segment)
        if check and found.rebuilt_from is None:
            found.rebuilt_from = base_offset
        if is_cut and following is not None:
            _remove_segments(directory, files, bases[place + 1 :], found)
            break
    _remove_stray_snapshots(directory, files, found)
    return found


def _open_segment(
    directory: Path,
    files: Files,
    found: RecoveredLog,
    base_offset: int,
    following: int | None,
    interval_bytes: int,
    recovery_point: int | None,
) -> tuple[OpenedSegment, bool]:
    """A segment, and whether its end was cut off; checked where a recovery point is given."""
    path = directory / file_name(base_offset, LOG)
    status = path.stat()
    size = status.st_size
    scanned = _scanned(path, base_offset, recovery_point)
    batches, is_cut = scanned.batches, False
    found.batches_checked += len(batches) if recovery_point is not None else 0
    for position in scanned.damaged:
        found.faults.append(f"the batch at byte {position} of {path.name} is damaged, and is not served")
    if scanned.fault is not None:
        if following is not None and recovery_point is None:
            first = batches[-1].last_offset + 1 if batches else base_offset
            rest = ScannedBatch(
                scanned.size, size - scanned.size, first, max(first, following - 1), NO_TIMESTAMP, NO_EPOCH
            )
            batches.append(rest)
            found.faults.append(
                f"{rest.size} bytes from byte {rest.position} of {path.name} on are damaged, and are not served "
                f"({scanned.fault})"
            )
        else:
            is_cut = True
            found.cut_bytes += size - scanned.size
            found.repairs.append(f"{size - scanned.size} bytes cut off {path.name} ({scanned.fault})")
            files.truncate(path, scanned.size)
            files.sync(path)
            size = scanned.size
    index = _index(directory, files, found, base_offset, size, batches, interval_bytes, recovery_point is not None)
    return OpenedSegment(base_offset, size, batches, status.st_mtime_ns // 1_000_000, index), is_cut


def _scanned(path: Path, base_offset: int, recovery_point: int | None) -> Scan:
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return scan(b"", base_offset)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return scan(data, base_offset, check=recovery_point is not None, flushed_to=recovery_point or 0)


def _index(
    directory: Path,
    files: Files,
    found: RecoveredLog,
    base_offset: int,
    size: int,
    batches: list[ScannedBatch],
    interval_bytes: int,
    anew: bool,
) -> IndexWriter:
    """What goes on with a segment's indexes, which are made anew if asked for, or if they cannot be right."""
    paths = [directory / file_name(base_offset, suffix) for suffix in (INDEX, TIME_INDEX)]
    if not anew:
        try:
            offsets, times = (path.read_bytes() for path in paths)
        except FileNotFoundError:
            found.repairs.append(f"indexes of {base_offset} made, which were missing")
        else:
            if is_sound(offsets, times, size):
                newest = TIME_ENTRY.unpack_from(times, len(times) - TIME_ENTRY.size)[0] if times else NO_TIMESTAMP
                return IndexWriter(base_offset, interval_bytes, newest)
            found.repairs.append(f"indexes of {base_offset} made anew, which were damaged")
    index = IndexWriter(base_offset, interval_bytes)
    for batch in batches:
        index.add(batch.position, batch.size, batch.last_offset, batch.max_timestamp)
    index.finish()
    entries = index.take()
    for path, data in zip(paths, (entries.offsets, entries.times), strict=True):
        files.replace(path, data)
    return index


def _finish_swaps(directory: Path, files: Files, found: RecoveredLog) -> None:
    """Carry through, or take back, a compaction that was broken off; remove what was about to be removed."""
    for one in list(directory.iterdir()):
        if one.name.endswith((DELETED, UNFINISHED)) and not one.name.endswith(".checkpoint" + DELETED):
            files.remove(one)
    begun = _suffixed(directory, CLEANED)
    unfinished_from = min((offset for _, offset in begun), default=None)
    for path, _ in begun:
        files.remove(path)
    swaps = []
    for path, offset in _suffixed(directory, SWAP):
        if unfinished_from is not None and offset >= unfinished_from:
            files.remove(path)
        else:
            swaps.append(path)
    for path in swaps:
        base_offset = offset_of(path.name, LOG + SWAP)
        if base_offset is None:
            continue
        batches = _scanned(path, base_offset, None).batches
        end_offset = batches[-1].last_offset + 1 if batches else base_offset
        for suffix in SEGMENT_SUFFIXES:
            for old in _offsets(directory, suffix):
                if base_offset <= old < end_offset:
                    files.remove(directory / file_name(old, suffix))
        found.repairs.append(f"the compaction up to offset {end_offset} finished, which was broken off")
    for path in swaps:
        files.rename(path, path.with_name(path.name.removesuffix(SWAP)))


def _suffixed(directory: Path, way: str) -> list[tuple[Path, int]]:
    """The files of segments that are on their way, with their base offsets."""
    found = []
    for one in directory.iterdir():
        for suffix in SEGMENT_SUFFIXES:
            offset = offset_of(one.name, suffix + way)
            if offset is not None:
                found.append((one, offset))
    return sorted(found)


def _remove_orphans(directory: Path, files: Files, bases: set[int], found: RecoveredLog) -> None:
    for suffix in INDEX_SUFFIXES:
        for offset in _offsets(directory, suffix):
            if offset not in bases:
                files.remove(directory / file_name(offset, suffix))
                found.repairs.append(f"{file_name(offset, suffix)} removed, which has no segment")


def _remove_segments(directory: Path, files: Files, bases: Iterable[int], found: RecoveredLog) -> None:
    """Remove segments behind one whose end was cut off."""
    for base_offset in bases:
        path = directory / file_name(base_offset, LOG)
        found.cut_bytes += path.stat().st_size
        found.repairs.append(f"{path.name} removed, which comes behind that")
        for suffix in (*SEGMENT_SUFFIXES, SNAPSHOT):
            files.remove(directory / file_name(base_offset, suffix))


def _remove_stray_snapshots(directory: Path, files: Files, found: RecoveredLog) -> None:
    """Keep the snapshots at the beginnings of segments and the latest one, none of them behind the log's end."""
    end_offset = found.end_offset
    offsets = sorted(_offsets(directory, SNAPSHOT))
    latest = max((offset for offset in offsets if offset <= end_offset), default=None)
    bases = {segment.base_offset for segment in found.segments}
    for offset in offsets:
        if offset > end_offset or (offset not in bases and offset != latest):
            files.remove(directory / file_name(offset, SNAPSHOT))


def _offsets(directory: Path, suffix: str) -> list[int]:
    return [offset for one in directory.iterdir() if (offset := offset_of(one.name, suffix)) is not None]
