"""What decoding and encoding allocate at their peak, as a multiple of the message's size (tracemalloc).

`python -m tests.bench.memory` prints the table alone.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import protocol
from protocol.codec import codec

from .messages import fetch, join_group, metadata, offset_commit
from .peers import Sample


def samples() -> dict[str, Sample]:
    """Responses and requests of about 10 MB."""
    return {
        "Metadata v12 response, 240,000 partitions of one topic": metadata(240_000, topics=1),
        "Metadata v12 response, 240,000 partitions of 4,000 topics": metadata(240_000, topics=4_000),
        "Metadata v12 response, 240,000 partitions of 80,000 topics": metadata(240_000, topics=80_000),
        "Metadata v12 response, the same, broker ids from 1001": metadata(240_000, topics=80_000, first_broker=1001),
        "Fetch v13 response, 40,000 partitions": fetch(40_000),
        "OffsetCommit v8 request, 500,000 partitions": offset_commit(500_000),
        "JoinGroup v9 response, 90,000 members": join_group(90_000),
    }


def peak_bytes(work: Callable[[], Any]) -> int:
    """The most that is allocated at one time while ``work`` runs, its result included."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = work()
        _, peak = tracemalloc.get_traced_memory()
        del kept
    finally:
        tracemalloc.stop()
    return peak - before


def main() -> None:
    """Print the table."""
    print(f"{'peak allocation, times the size':60} {'MB':>5} {'decode':>7} {'encode':>7}")
    for label, sample in samples().items():
        compiled = codec(protocol.named_class(sample.name), sample.version)
        message, _ = compiled.decode(sample.data)
        compiled.encode(message)
        decoding = peak_bytes(lambda: compiled.decode(sample.data)) / len(sample.data)  # noqa: B023 - called at once
        encoding = peak_bytes(lambda: compiled.encode(message)) / len(sample.data)  # noqa: B023
        print(f"{label:60} {len(sample.data) / 1e6:>5.1f} {decoding:>6.2f}x {encoding:>6.2f}x")


if __name__ == "__main__":
    main()
