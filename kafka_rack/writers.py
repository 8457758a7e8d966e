"""The partitions that Kafka's producer chooses for records without keys, with or without regard to racks (KIP-1123).

A producer stays with a partition for a batch, then draws the next one. With ``partitioner.rack.aware=true`` it draws
among those whose leader is in its ``client.rack``, or among all if there are none. Java clients of 4.4 and newer can.

Source: BuiltInPartitioner of kafka-clients 4.4.0, which made fixtures/oracle/partitioner.jsonl.gz.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

JAVA_CLIENT = "apache-kafka-java"
"""The name that Kafka's Java client sends in ApiVersions (KIP-511)."""
JAVA_RELEASE = re.compile(r"([0-9]+)\.([0-9]+)(?:\.[0-9]+)*(?:-SNAPSHOT)?")
"""A release of Apache Kafka's own; vendors number theirs differently, as 8.0.0-ccs."""
FIRST_RELEASE = (4, 4)


def next_partition(
    draw: int,
    partitions: int,
    available: Mapping[int, str | None],
    *,
    client_rack: str | None = None,
    queues: Mapping[int, int] | None = None,
) -> int:
    """The partition that a producer writes to next.

    Args:
        draw: the random number, 0 to 2**31 - 1.
        partitions: the topic's.
        available: the leader's rack of each partition that has a leader, in the order of the client's metadata.
        client_rack: the producer's; None if ``partitioner.rack.aware`` is false.
        queues: batches that wait to be sent, by partition, in the client's order; without partitions whose leader is
            too slow (``partitioner.availability.timeout.ms``). None if ``partitioner.adaptive.partitioning.enable`` is
            false, or the producer has not yet written to each partition.

    >>> available = {0: "a", 1: "b", 2: "a", 3: "c"}
    >>> [next_partition(draw, 4, available) for draw in range(4)]
    [0, 1, 2, 3]
    >>> [next_partition(draw, 4, available, client_rack="a") for draw in range(4)]
    [0, 2, 0, 2]
    >>> [next_partition(draw, 4, available, client_rack="a", queues={0: 2, 1: 0, 2: 0, 3: 0}) for draw in range(4)]
    [0, 2, 2, 2]
    """
    near = [number for number, rack in available.items() if client_rack is not None and rack == client_rack]
    if not queues or partitions == 1 or (len(queues) == partitions and len({*queues.values()}) == 1):
        choices: Sequence[int] = near or [*available] or range(partitions)
        return choices[draw % len(choices)]
    choices = [number for number in queues if number in near] or [*queues]
    fullest = max(queues[number] for number in choices)
    sums = [*accumulate(fullest + 1 - queues[number] for number in choices)]
    return choices[bisect_right(sums, draw % sums[-1])]


def can_partition_by_rack(software: tuple[str, str] | None) -> bool | None:
    """True for a client that has ``partitioner.rack.aware``; None if that is unknown.

    Args:
        software: name and version in the client's ApiVersions, empty in versions without them; None if not seen.

    >>> can_partition_by_rack(("apache-kafka-java", "4.4.0")), can_partition_by_rack(("apache-kafka-java", "4.3.1"))
    (True, False)
    >>> can_partition_by_rack(("librdkafka", "2.16.0")), can_partition_by_rack(("apache-kafka-java", "8.0.0-ccs"))
    (False, None)
    """
    if software is None:
        return None
    name, version = software
    if name != JAVA_CLIENT:
        return False
    release = JAVA_RELEASE.fullmatch(version)
    return None if release is None else (int(release[1]), int(release[2])) >= FIRST_RELEASE
