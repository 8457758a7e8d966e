"""Placement of 100,000 partitions x RF 3 over 300 brokers, its growth at 1x, 3x and 10x, beside Kafka's own classes.

The times are the processor's, those of Java's collector and compiler not among them.
`python -m tests.bench.placement` prints the table alone.
"""

from __future__ import annotations

import gc
import statistics
from time import thread_time
from typing import NamedTuple

from kafka_rack.placement import UsableBroker, place
from tests.interop.fetched import ToolMissingError
from tests.interop.java_placement import PlacementQuestion, java_times

BROKERS, RACKS, REPLICAS = 300, 3, 3
SIZES = (10_000, 30_000, 100_000)
PLACERS = ("rack-aware", "unaware", "striped", "broker-replica")
IN_JAVA = ("rack-aware", "unaware", "striped")
ROUNDS = 9
JAVA_ROUNDS = 100
SEED = 1


class Row(NamedTuple):
    """One placer: seconds for each of ``SIZES`` here, and in Java where Java is there and knows the placer."""

    placer: str
    seconds: tuple[float, ...]
    java_seconds: tuple[float, ...] | None

    def growth(self, seconds: tuple[float, ...]) -> str:
        """The times as multiples of the first: 1x, 3x and 10x the partitions should take no more."""
        return " ".join(f"{one / seconds[0]:.1f}x" for one in seconds)


def brokers() -> list[UsableBroker]:
    return [UsableBroker(number, f"rack-{number % RACKS}") for number in range(BROKERS)]


def rows(rounds: int = ROUNDS, java_rounds: int = JAVA_ROUNDS) -> tuple[list[Row], str]:
    """A row for each placer, and why Java is missing, if it is."""
    java, missing = java_medians(java_rounds)
    return [Row(placer, our_medians(placer, rounds), java.get(placer)) for placer in PLACERS], missing


def our_medians(placer: str, rounds: int) -> tuple[float, ...]:
    """The median seconds for each size, all sizes in turns."""
    cluster = brokers()
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    place(placer, cluster, 0, SIZES[0], REPLICAS, seed=SEED)
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for size in SIZES:
            start = thread_time()
            placed = place(placer, cluster, 0, size, REPLICAS, seed=SEED)
            times[size].append(thread_time() - start)
            del placed
    gc.unfreeze()
    return tuple(statistics.median(times[size]) for size in SIZES)


def java_medians(rounds: int) -> tuple[dict[str, tuple[float, ...]], str]:
    """The same in Java, warmed up; nothing and the reason where Java is missing."""
    asked = [PlacementQuestion(placer, brokers(), 0, size, REPLICAS, seed=SEED) for placer in IN_JAVA for size in SIZES]
    try:
        found = java_times(asked, rounds)
    except ToolMissingError as error:
        return {}, str(error)
    count = len(SIZES)
    return {placer: tuple(found[at * count : (at + 1) * count]) for at, placer in enumerate(IN_JAVA)}, ""


def main() -> None:
    """Print the table."""
    measured, missing = rows()
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    print(f"Placement of {sizes} partitions x RF {REPLICAS} over {BROKERS} brokers in {RACKS} racks, medians in ms")
    print(f"{'placer':16}{'here':>20}{'growth':>18}{'Java':>20}{'growth':>18}{'here / Java':>18}")
    for row in measured:
        line = f"{row.placer:16}{milliseconds(row.seconds):>20}{row.growth(row.seconds):>18}"
        if row.java_seconds:
            ratios = " ".join(f"{ours / java:.1f}x" for ours, java in zip(row.seconds, row.java_seconds, strict=True))
            line += f"{milliseconds(row.java_seconds):>20}{row.growth(row.java_seconds):>18}{ratios:>18}"
        print(line)
    if missing:
        print(f"Java is left out: {missing}")


def milliseconds(seconds: tuple[float, ...]) -> str:
    return " ".join(f"{one * 1000:.1f}" for one in seconds)


if __name__ == "__main__":
    main()
