"""What a power cut does to the ends of files: half a write behind the last whole one, and bits that never arrived.

Only what no client was told to be safe is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random

from protocol.records import BatchHeader, CorruptRecordError, iter_batches
from protocol.uuids import uuid_to_text

MAX_TAIL_BYTES = 200
CHECKED_FROM = 16  # of a batch
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
    return done


def flip(data: Path, topic: str, topic_id: bytes, safe: Mapping[int, int], rng: Random) -> list[str]:
    """Flip a bit that the checksum covers in the last batch of a topic's logs, unless it was acknowledged.

    Args:
        safe: the first offset of each partition that nobody was told to be kept.
    """
    done = []
    for path in newest_segments(data):
        name, _, partition = path.parent.name.rpartition("-")
        if name not in (topic, uuid_to_text(topic_id)):  # Kafka's directories and ours
            continue
        whole = path.read_bytes()
        batches = whole_batches(whole)
        if not batches or batches[-1].base_offset < safe.get(int(partition), 0):
            continue
        batch = batches[-1]
        place = batch.position + rng.randrange(CHECKED_FROM, batch.size)
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
    """The file that each log is written to."""
    return [max(folder.glob(NEWEST)) for folder in sorted({path.parent for path in data.rglob(NEWEST)})]


def append(path: Path, tail: bytes) -> None:
    with path.open("ab") as file:
        file.write(tail)
