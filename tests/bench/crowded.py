"""Decoding large messages in a process where much else is alive: what the garbage collector adds, here and to kio.

The others keep the collector out of their figures; here it runs as it does for users, so that its passes count for
whom they hit. Times are therefore means, not medians: a full pass comes once in many calls.

`python -m tests.bench.crowded` prints the table alone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time
from typing import Any

from .measure import geometric_mean, machine
from .messages import large
from .peers import kio, ours

LIVE = (0, 120_000, 1_000_000)
AIMED_AT = 120_000
MIN_MEAN, MIN_OF_ONE = 2, 1.5
"""The aims of the native codec among so many: how many times as long as it kio takes, on average and for each."""
ROUNDS, SECONDS = 5, 0.3  # of each call in each round


def mean_time(call: Callable[[], Any], calls: int) -> float:
    """Seconds of one call, on average, collections included."""
    start = thread_time()
    for _ in range(calls):
        call()
    return (thread_time() - start) / calls


def compared(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """The mean seconds of both, in turns."""
    counts = [max(3, int(SECONDS / mean_time(call, 3))) for call in (first, second)]
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for call, count, found in zip((first, second), counts, times, strict=True):
            gc.collect()
            found.append(mean_time(call, count))
    return sum(times[0]) / ROUNDS, sum(times[1]) / ROUNDS


def main() -> None:
    """Print the table."""
    print(machine())
    print()
    print(f"{'':55} " + "".join(f"{f'{live:,} live lists':>24}" for live in LIVE))
    print(f"{'decode':55} " + f"{'ours':>12}{'kio, x ours':>12}" * len(LIVE))
    samples = {label: (ours(sample), kio(sample)) for label, sample in large().items()}
    cells: dict[str, list[str]] = {label: [] for label in samples}
    ratios: list[list[float]] = []
    gc.collect()
    gc.freeze()  # what other benchmarks left is not to be walked; the crowd is
    for live in LIVE:
        crowd = [[number] for number in range(live)]
        gc.collect()
        ratios.append([])
        for label, (own, peer) in samples.items():
            if peer is None:
                cells[label].append(f"{'-':>24}")
                continue
            mine, theirs = compared(own.decode, peer.decode)
            ratios[-1].append(theirs / mine)
            cells[label].append(f"{mine * 1e6:>9,.0f} µs{theirs / mine:>12.2f}")
        del crowd
    gc.unfreeze()
    for label, row in cells.items():
        print(f"{label:55} {''.join(row)}")
    print(f"{'geometric mean':55} " + "".join(f"{geometric_mean(found):>24.2f}" for found in ratios if found))
    if aimed := ratios[LIVE.index(AIMED_AT)]:
        mean, least = geometric_mean(aimed), min(aimed)
        print(f"of {AIMED_AT:,}: mean {mean:.2f}; aim: {MIN_MEAN}; least {least:.2f}; aim: {MIN_OF_ONE}")


if __name__ == "__main__":
    main()
