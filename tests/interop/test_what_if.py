"""Predictions come true: a run of real clients is recorded, another one under the change is measured."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kafka_rack.locality.rack_rules import RackRules
from kafka_rack.placement import CLASS_SETTING, ReplicaPlacer, UsableBroker
from kafka_rack.what_if import WhatIfChange, Workload, change_of, compare
from kafka_rack.what_if.reading import read_workloads
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from mockbroker import MockCluster
from tests.interop.java_client import run_java_client
from tests.progress import wait_until

confluent_kafka = pytest.importorskip(
    "confluent_kafka", reason="confluent-kafka is missing: pip install 'kafka-rack[clients]'"
)

RACKS = ("a", "b", "c")
RECORDS, PARTITIONS, VALUE = 360, 9, b"v" * 2000
WHERE = RackRules.read("\n".join(f"{rack}@client:*-{rack}" for rack in RACKS), "racks")
SELECTOR = {"replica.selector.class": "rack-aware"}
NAMED = {"client.rack": "auto"}
KINDS = ("produce", "consume")
REST_S = 2.0
"""A group is unchanged for so long before records are written, longer than the ledger's windows."""
RUNS = 4
"""On a busy machine librdkafka now and then discards an answer and reads again; such a run says nothing of settings."""
FAST = dict.fromkeys(("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"), "100")


class LeadersInA(ReplicaPlacer):
    """The first replica of each partition is in rack a."""

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        first = sorted(usable_brokers, key=lambda broker: (broker.rack != "a", broker.id))
        return [[broker.id for broker in first[:num_replicas]]] * num_partitions


class LeadersByThree(ReplicaPlacer):
    """Of nine partitions, rack a leads the first three, rack c the next and rack b the last ones."""

    def place(
        self, start_partition: int, num_partitions: int, num_replicas: int, usable_brokers: Sequence[UsableBroker]
    ) -> list[list[int]]:
        ids = {broker.rack: broker.id for broker in usable_brokers}
        rows = [[ids[rack] for rack in racks][:num_replicas] for racks in ("abc", "cab", "bca")]
        return [rows[number // 3 % 3] for number in range(num_partitions)]


LEADERS_IN_A, LEADERS_BY_THREE = f"{__name__}:LeadersInA", f"{__name__}:LeadersByThree"


@dataclass(frozen=True)
class Setup:
    """How a run is set: topics, brokers and clients.

    ``shares`` are the members' partitions; ``java`` are settings of a Java producer, which chooses partitions itself.
    """

    topics: tuple[str, ...] = ("orders",)
    replicas: int = 3
    diskless: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    named: bool = False
    consumer: Mapping[str, Any] = field(default_factory=lambda: {"partition.assignment.strategy": "range"})
    shares: tuple[int, ...] = (3, 3, 3)
    java: Mapping[str, str] | None = None
    records: int = RECORDS


PLAIN = Setup()
MODERN = {"group.protocol": "consumer"}
ROUND_ROBIN = {"partition.assignment.strategy": "roundrobin"}
ASSIGNORS = "group.consumer.assignors"
UNEVEN = Setup(
    topics=tuple(f"orders-{number}" for number in range(PARTITIONS)),
    settings={CLASS_SETTING: LEADERS_IN_A},
    shares=(0, 0, 9),
)
"""The range assignor gives the only partition of each topic to the first member; all leaders are in its rack."""
WRITTEN_BY_JAVA = replace(PLAIN, replicas=2, settings={CLASS_SETTING: LEADERS_BY_THREE}, java={}, records=3_600)
"""The range assignor gives each rack three partitions; the first three are led where they are read, in rack a.

Each partition's share is drawn: of so many records, 10 % more in the fullest of three are four standard deviations.
"""
CASES = {
    "client.rack": (replace(PLAIN, settings=SELECTOR), replace(PLAIN, settings=SELECTOR, named=True), NAMED | SELECTOR),
    "the selector": (replace(PLAIN, named=True), replace(PLAIN, named=True, settings=SELECTOR), SELECTOR),
    "no selector": (
        replace(PLAIN, named=True, settings=SELECTOR),
        replace(PLAIN, named=True),
        {"replica.selector.class": "leader"},
    ),
    "an assignor": (UNEVEN, replace(UNEVEN, consumer=ROUND_ROBIN, shares=(3, 3, 3)), ROUND_ROBIN),
    "the consumer protocol": (UNEVEN, replace(UNEVEN, consumer=MODERN, shares=(3, 3, 3)), MODERN),
    "a coordinator's assignor": (
        replace(PLAIN, replicas=1),
        replace(PLAIN, replicas=1, named=True, consumer=MODERN, settings={ASSIGNORS: "rack-uniform"}),
        {"group.remote.assignor": "rack-uniform", **NAMED},
    ),
    "diskless topics": (PLAIN, replace(PLAIN, diskless=True, named=True), {"diskless": ["orders"], **NAMED}),
    "more replicas": (
        replace(PLAIN, replicas=1, settings=SELECTOR),
        replace(PLAIN, named=True, settings=SELECTOR),
        {"placer": "rack-aware", "replication_factor": 3, **SELECTOR, **NAMED},
    ),
    "a rack-aware partitioner": (
        WRITTEN_BY_JAVA,
        replace(WRITTEN_BY_JAVA, java={"partitioner_rack_aware": "true", "client_rack": "a"}),
        {"partitioner.rack.aware": "true"},
    ),
    "a placer": (PLAIN, replace(PLAIN, settings={CLASS_SETTING: LEADERS_IN_A}), {"placer": LEADERS_IN_A}),
}


def work(cluster: Any, setup: Setup) -> None:
    """A group with a member in each rack reads what a producer in rack a writes, as much to each partition."""

    def client_id(name: str, rack: str) -> str:
        return f"{name},diskless_az={rack}" if setup.diskless else f"{name}-{rack}"

    with ExitStack() as closing:
        group, joined = [], set()
        for rack in RACKS:
            settings = {
                "bootstrap.servers": cluster.bootstrap_servers,
                "client.id": client_id("reader", rack),
                "group.id": "group",
                "auto.offset.reset": "earliest",
                "log_level": 0,
                **({} if "group.protocol" in setup.consumer else {"heartbeat.interval.ms": 200}),
                **({"client.rack": rack} if setup.named else {}),
                **setup.consumer,
            }
            group.append(confluent_kafka.Consumer(settings))
            closing.callback(group[-1].close)
            group[-1].subscribe([*setup.topics], on_assign=lambda _, __, rack=rack: joined.add(rack))
        owned, since = None, 0.0

        def is_at_rest() -> bool:
            nonlocal owned, since
            for consumer in group:
                consumer.poll(0.01)
            now = [sorted((one.topic, one.partition) for one in consumer.assignment()) for consumer in group]
            if now != owned:
                owned, since = now, time.monotonic()
            fits = len(joined) == len(RACKS) and sorted(map(len, now)) == sorted(setup.shares)
            return fits and time.monotonic() - since > REST_S

        wait_until(is_at_rest, "shares", lambda: owned)
        servers, writer = cluster.bootstrap_servers, client_id("writer", "a")
        if setup.java is not None:
            own = {"bootstrap_servers": servers, "client_id": writer, "batch_size": "1", **setup.java}
            asyncio.run(run_java_client("4.4.0", "produce-unkeyed", setup.topics[0], setup.records, **own))
        else:
            producer = confluent_kafka.Producer({"bootstrap.servers": servers, "client.id": writer, "log_level": 0})
            for number in range(setup.records):
                several = len(setup.topics) > 1
                topic, partition = (number % PARTITIONS, 0) if several else (0, number % PARTITIONS)
                producer.produce(setup.topics[topic], VALUE, partition=partition)
            producer.flush()
        read = 0

        def is_read() -> bool:
            nonlocal read
            for consumer in group:
                read += sum(message.error() is None for message in consumer.consume(setup.records, timeout=0.01))
            return read >= setup.records

        wait_until(is_read, "all records", lambda: read)


@pytest.fixture
def recorded(tmp_path):
    """Returns a run's workload."""

    def record(name: str, setup: Setup) -> Workload:
        each = 1 if len(setup.topics) > 1 else PARTITIONS
        topics: dict[str, Any] = {"topics": dict.fromkeys(setup.topics, (each, setup.replicas))}
        if setup.diskless:
            topics = {"diskless_topics": dict.fromkeys(setup.topics, each)}
        settings = {CLASS_SETTING: "rack-aware", **FAST, **setup.settings}
        for number in range(RUNS):
            capture = tmp_path / f"{name}-{number}.jsonl"
            with MockCluster(racks=RACKS, settings=settings, capture=capture, **topics) as cluster:
                work(cluster, setup)
            (workload,) = read_workloads(find_files([str(capture)])[0], Options(), WHERE).clusters
            bills = compare([workload], WhatIfChange()).measured.bills
            if bills["consume"].total <= 1.02 * bills["produce"].total:
                return workload
        return pytest.fail(f"in each of {RUNS} runs the client read some partition twice")

    return record


@pytest.mark.parametrize("case", CASES)
def test_bytes_across_racks_are_those_that_were_predicted(recorded, case):
    before, after, given = CASES[case]
    settings = {name: value for name, value in given.items() if "." in name}
    change = change_of(settings, **{name: value for name, value in given.items() if "." not in name})
    predicted = compare([recorded("before", before)], change)
    came = compare([recorded("after", after)], WhatIfChange()).measured
    assert predicted.refused == frozenset(), predicted.notes
    differs = False
    for kind in KINDS:
        was, would_be, is_so = (side.bills[kind].bytes["cross"] for side in (predicted.measured, predicted.after, came))
        total = came.bills[kind].total
        assert came.bills[kind].bytes["unknown"] == predicted.after.bills[kind].bytes["unknown"] == 0
        assert abs(would_be - is_so) <= 0.1 * max(would_be, is_so, 0.1 * total), (kind, was, would_be, is_so, total)
        differs |= abs(was - is_so) > 0.2 * total
    assert differs, "the change moved nothing, so its prediction says nothing"
    if change.rack_aware_partitioner:
        was, would_be, is_so = (side.skews["orders"] for side in (predicted.measured, predicted.after, came))
        assert abs(would_be - is_so) <= 0.1 * is_so
        assert would_be > 2 * was
    replicated = [side.bills["replication"].total for side in (predicted.after, came)]
    assert abs(replicated[0] - replicated[1]) <= 0.1 * max(replicated)
