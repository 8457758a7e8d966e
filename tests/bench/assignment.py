"""Assignment of 10 topics x 1,000 partitions to 300 members with racks, its growth, beside Kafka's own classes.

Partitions have two replicas over four racks, so racks matter. The larger sizes have three and ten times the partitions
for as many members. Both sides are given members and cluster as their own objects, as clients and coordinators have
them; what reading them from plain values takes besides, as the tool and `assign` do it, has a column of its own. The
times are the processor's, those of Java's collector and compiler not among them.
`python -m tests.bench.assignment` prints the table alone.
"""

from __future__ import annotations

import gc
import statistics
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import md5
from time import thread_time
from typing import Any, NamedTuple

from kafka_rack.assignment import ASSIGNORS, PROPOSED, Topology, assign, assign_members
from kafka_rack.assignment.members import members_from_plain
from kafka_rack.cli.output.tables import table
from tests.interop.fetched import ToolMissingError
from tests.interop.java_assignors import java_times

TOPICS, MEMBERS, BROKERS, RACKS = 10, 300, 48, 4
RELEASED = [name for name in ASSIGNORS if name not in PROPOSED]
SIZES = (1_000, 3_000, 10_000)
ROUNDS = 9
JAVA_MILLISECONDS = 2_000


class Row(NamedTuple):
    """One assignor: seconds for each of ``SIZES`` here, also from plain values, and in Java where Java is there."""

    assignor: str
    seconds: tuple[float, ...]
    from_plain: tuple[float, ...]
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
    return [Row(assignor, *our_medians(assignor, rounds), java.get(assignor)) for assignor in ASSIGNORS], missing


def our_medians(assignor: str, rounds: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The median seconds for each size from objects and from plain values, all sizes in turns."""
    groups = [group(assignor, size) for size in SIZES]
    from_objects: list[list[float]] = [[] for _ in SIZES]
    from_plain: list[list[float]] = [[] for _ in SIZES]
    prepared(groups[0])()
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for given, objects, plain in zip(groups, from_objects, from_plain, strict=True):
            objects.append(timed(prepared(given)))
            plain.append(timed(lambda: assign(assignor, cluster(given), given["members"])))  # noqa: B023 - called at once
    gc.unfreeze()
    return medians(from_objects), medians(from_plain)


def timed(call: Callable[[], object]) -> float:
    start = thread_time()
    answer = call()
    took = thread_time() - start
    del answer
    return took


def medians(times: list[list[float]]) -> tuple[float, ...]:
    return tuple(statistics.median(found) for found in times)


def prepared(given: Mapping[str, Any]) -> Callable[[], object]:
    """One assignment, ready to run: reading the group is no part of it. Racks of partitions are still to be found."""
    topology = Topology.from_plain(cluster(given))
    members = members_from_plain(given["members"])
    return lambda: assign_members(given["assignor"], topology, members)


def cluster(given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given["cluster"], "topic_ids": given["topic_ids"]}


def java_medians(milliseconds: int) -> tuple[dict[str, tuple[float, ...]], str]:
    """The same in Java, warmed up, the group read beforehand; nothing and the reason where Java is missing."""
    try:
        found = java_times([group(assignor, size) for assignor in RELEASED for size in SIZES], milliseconds)
    except ToolMissingError as error:
        return {}, str(error)
    count = len(SIZES)
    return {name: tuple(found[at * count : (at + 1) * count]) for at, name in enumerate(RELEASED)}, ""


def main() -> None:
    """Print the table."""
    measured, missing = rows()
    sizes = ", ".join(f"{size:,}" for size in SIZES)
    print(f"Assignment of {TOPICS} topics x {sizes} partitions x RF 2 over {RACKS} racks to {MEMBERS} members, ms")
    print(
        table(
            ["assignor", "here", "growth", "Java", "growth", "here / Java", "from plain"],
            [cells(row) for row in measured],
        )
    )
    if missing:
        print(f"Java is left out: {missing}")


def cells(row: Row) -> list[str | None]:
    """A row of the table; of Java nothing where it is missing."""
    java: list[str | None] = [None, None, None]
    if row.java_seconds:
        ratios = " ".join(f"{ours / theirs:.1f}x" for ours, theirs in zip(row.seconds, row.java_seconds, strict=True))
        java = [milliseconds(row.java_seconds), growth(row.java_seconds), ratios]
    return [row.assignor, milliseconds(row.seconds), growth(row.seconds), *java, milliseconds(row.from_plain)]


def growth(seconds: tuple[float, ...]) -> str:
    """The times as multiples of the first."""
    return " ".join(f"{one / seconds[0]:.1f}x" for one in seconds)


def milliseconds(seconds: tuple[float, ...]) -> str:
    return " ".join(f"{one * 1000:.1f}" for one in seconds)


if __name__ == "__main__":
    main()
