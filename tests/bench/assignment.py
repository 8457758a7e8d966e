"""Assignment of 10 topics x 1,000 partitions to 300 members with racks, its growth, beside Kafka's own classes.

Partitions have two replicas over four racks, so racks matter. The larger sizes have three and ten times the partitions
for as many members. `python -m tests.bench.assignment` prints the table alone.
"""

from __future__ import annotations

import gc
import statistics
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import md5
from time import perf_counter
from typing import Any, NamedTuple

from kafka_rack.assignment import ASSIGNORS, assign
from tests.interop.java_assignors import JavaMissingError, java_times

TOPICS, MEMBERS, BROKERS, RACKS = 10, 300, 48, 4
SIZES = (1_000, 3_000, 10_000)
ROUNDS = 9
JAVA_MILLISECONDS = 1_500


class Row(NamedTuple):
    """One assignor: seconds for each of ``SIZES`` here, and in Java where Java is there."""

    assignor: str
    seconds: tuple[float, ...]
    java_seconds: tuple[float, ...] | None


def group(assignor: str, partitions: int) -> dict[str, Any]:
    """A group without claims; replicas of a partition are on neighbouring racks, brokers turn with the topics."""
    topics = {
        f"topic-{topic}": [
            [(number + topic) % BROKERS, (number + topic + 1 + number // BROKERS % 3) % BROKERS]
            for number in range(partitions)
        ]
        for topic in range(TOPICS)
    }
    return {
        "assignor": assignor,
        "cluster": {"nodes": [[broker, f"rack-{broker % RACKS}"] for broker in range(BROKERS)], "topics": topics},
        "topic_ids": {topic: topic_id(topic) for topic in topics},
        "members": {
            f"consumer-{number:03}": {"topics": list(topics), "rack": f"rack-{number % RACKS}"}
            for number in range(MEMBERS)
        },
    }


def topic_id(topic: str) -> str:
    return urlsafe_b64encode(md5(topic.encode(), usedforsecurity=False).digest()).decode().rstrip("=")


def rows(rounds: int = ROUNDS, java_milliseconds: int = JAVA_MILLISECONDS) -> tuple[list[Row], str]:
    """A row for each assignor, and why Java is missing, if it is."""
    java, missing = java_medians(java_milliseconds)
    return [Row(assignor, our_medians(assignor, rounds), java.get(assignor)) for assignor in ASSIGNORS], missing


def our_medians(assignor: str, rounds: int) -> tuple[float, ...]:
    """The median seconds for each size, all sizes in turns; reading the plain form is part of it."""
    groups = [group(assignor, size) for size in SIZES]
    times: list[list[float]] = [[] for _ in SIZES]
    run(groups[0])
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for given, found in zip(groups, times, strict=True):
            start = perf_counter()
            answer = run(given)
            found.append(perf_counter() - start)
            del answer
    gc.unfreeze()
    return tuple(statistics.median(found) for found in times)


def run(given: Mapping[str, Any]) -> object:
    return assign(given["assignor"], {**given["cluster"], "topic_ids": given["topic_ids"]}, given["members"])


def java_medians(milliseconds: int) -> tuple[dict[str, tuple[float, ...]], str]:
    """The same in Java, warmed up, the group read beforehand; nothing and the reason where Java is missing."""
    try:
        found = java_times([group(assignor, size) for assignor in ASSIGNORS for size in SIZES], milliseconds)
    except JavaMissingError as error:
        return {}, str(error)
    count = len(SIZES)
    return {name: tuple(found[at * count : (at + 1) * count]) for at, name in enumerate(ASSIGNORS)}, ""


def main() -> None:
    """Print the table."""
    measured, missing = rows()
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    print(f"Assignment of {TOPICS} topics x {sizes} partitions x RF 2 over {RACKS} racks to {MEMBERS} members, ms")
    print(f"{'assignor':20}{'here':>22}{'growth':>18}{'Java':>26}{'growth':>20}{'here / Java at 1x':>20}")
    for row in measured:
        line = f"{row.assignor:20}{milliseconds(row.seconds):>22}{growth(row.seconds):>18}"
        if row.java_seconds:
            ratio = row.seconds[0] / row.java_seconds[0]
            line += f"{milliseconds(row.java_seconds):>26}{growth(row.java_seconds):>20}{ratio:>19.1f}x"
        print(line)
    if missing:
        print(f"Java is left out: {missing}")


def growth(seconds: tuple[float, ...]) -> str:
    """The times as multiples of the first."""
    return " ".join(f"{one / seconds[0]:.1f}x" for one in seconds)


def milliseconds(seconds: tuple[float, ...]) -> str:
    return " ".join(f"{one * 1000:.1f}" for one in seconds)


if __name__ == "__main__":
    main()
