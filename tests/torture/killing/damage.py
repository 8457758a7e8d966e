"""What a power cut does to the ends of files: half a write behind the last whole one, and bits that never arrived.

Only what no client was told to be safe is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

from protocol.records import BatchHeader, CorruptRecordError, iter_batches

MAX_TAIL_BYTES = 200
NEWEST = "*.log"


def tear(data: Path, rng: Random) -> list[str]:
    """Add to the ends of some logs the beginning of a batch that came no further, or bytes that are nothing.

    Gives what was done, a line each.
    """
    done = []
    for path in newest_segments(data):
        if rng.random() < 0.5:
            continue
        whole = path.read_bytes()
        batches = whole_batches(whole)
        kind = rng.choice(["half a batch", "zeros", "noise"])
        if kind == "half a batch" and batches:
            last = batches[-1]
            tail = whole[last.position : last.position + rng.randrange(1, last.size)]
        elif kind == "zeros":
            tail = bytes(rng.randrange(1, MAX_TAIL_BYTES))
        else:
            tail = rng.randbytes(rng.randrange(1, MAX_TAIL_BYTES))
        append(path, tail)
        done.append(f"{path.relative_to(data)}: {len(tail)} bytes behind {len(whole)}, {kind}")
        if rng.random() < 0.3:
            index = path.with_suffix(rng.choice([".index", ".timeindex"]))
            if index.exists():
                append(index, rng.randbytes(rng.randrange(1, 30)))
                done.append(f"{index.relative_to(data)}: more bytes")
    return done


def flip(data: Path, topic: str, safe: Mapping[int, int], rng: Random) -> list[str]:
    """Flip a bit in some batch of a topic that begins behind what was acknowledged.

    Args:
        safe: the first offset of each partition that nobody was told to be kept.
    """
    done = []
    for path in newest_segments(data):
        name, _, partition = path.parent.name.rpartition("-")
        if name != topic:
            continue
        whole = path.read_bytes()
        loose = [one for one in whole_batches(whole) if one.base_offset >= safe.get(int(partition), 0)]
        if not loose:
            continue
        batch = rng.choice(loose)
        place = batch.position + rng.randrange(batch.size)
        with path.open("r+b") as file:
            file.seek(place)
            file.write(bytes([whole[place] ^ (1 << rng.randrange(8))]))
        done.append(f"{path.relative_to(data)}: a bit of byte {place}, in the batch at offset {batch.base_offset}")
    return done


def whole_batches(data: bytes) -> list[BatchHeader]:
    """Those before the first that is torn or nothing."""
    found = []
    with suppress(CorruptRecordError):
        for one in iter_batches(data):
            if one.partial:
                break
            found.append(one)
    return found


def newest_segments(data: Path) -> list[Path]:
    """The segment that each log is written to, once where directories share it."""
    found: dict[tuple[int, int], Path] = {}
    for folder in sorted({path.parent for path in data.rglob(NEWEST)}):
        newest = max(folder.glob(NEWEST))
        status = newest.stat()
        found.setdefault((status.st_dev, status.st_ino), newest)
    return list(found.values())


def append(path: Path, tail: bytes) -> None:
    with path.open("ab") as file:
        file.write(tail)
