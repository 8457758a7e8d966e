"""aiokafka, unmodified, in virtual time over an outage of a rack: the same for a seed each time in one process.

Processes differ, as aiokafka iterates over sets of strings, unless ``PYTHONHASHSEED`` is the same.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise

import pytest

from tests.interop.virtual_time import VirtualNetwork, run

aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is missing: pip install '.[clients]'")

RECORDS, PARTITIONS = 600, 3
BOOTSTRAP = "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
METADATA_MAX_AGE_MS = 2000


@dataclass
class Seen:
    """Each acknowledged record at its partition and offset, each record read in its order, and the calls."""

    acknowledged: dict[tuple[int, int], bytes]
    read: list[tuple[tuple[int, int], bytes]]
    calls: list[str]


async def rack_outage(network: VirtualNetwork) -> Seen:
    """A producer sends and a consumer in rack b reads while rack a stops and comes back, and connections break."""
    sim = network.sim
    sim.cluster.replication_control.create("orders", PARTITIONS, 3, configs={"min.insync.replicas": "2"})
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=BOOTSTRAP,
        client_id="producer",  # by default it has a number, one more for each producer of the process
        enable_idempotence=True,
        metadata_max_age_ms=METADATA_MAX_AGE_MS,
    )
    consumer = aiokafka.AIOKafkaConsumer(
        "orders",
        bootstrap_servers=BOOTSTRAP,
        client_rack="b",
        group_id="readers",
        auto_offset_reset="earliest",
        metadata_max_age_ms=METADATA_MAX_AGE_MS,
    )
    acknowledged: dict[tuple[int, int], bytes] = {}
    read: list[tuple[tuple[int, int], bytes]] = []

    async def send() -> None:
        for number in range(RECORDS):
            sent = await producer.send_and_wait("orders", b"%d" % number, partition=number % PARTITIONS)
            acknowledged[sent.partition, sent.offset] = b"%d" % number
            await asyncio.sleep(0.01)

    async def receive() -> None:
        while len(read) < RECORDS:
            record = await consumer.getone()
            read.append(((record.partition, record.offset), record.value))

    async def disturb() -> None:
        for step in range(12):
            await asyncio.sleep(0.5)
            network.break_connections()
            if step == 2:
                network.command(lambda sim: sim.stop_rack("a"))
            elif step == 8:
                network.command(lambda sim: sim.start_rack("a"))

    async with producer, consumer, asyncio.timeout(300):
        await asyncio.gather(send(), receive(), disturb())
    return Seen(acknowledged, read, [str(entry) for entry in sim.journal])


@pytest.mark.parametrize("seed", range(3))
def test_each_acknowledged_record_is_read_once_and_in_order_over_an_outage(seed):
    seen = run(rack_outage, racks="a,b,c", seed=seed)
    assert len(seen.acknowledged) == RECORDS
    assert [(place, value) for place, value in seen.read if seen.acknowledged.get(place) != value] == []
    for partition in range(PARTITIONS):
        numbers = [int(value) for (of, _), value in seen.read if of == partition]
        out_of_order = [(first, second) for first, second in pairwise(numbers) if second != first + PARTITIONS]
        assert (numbers[0], out_of_order) == (partition, [])


def test_a_seed_gives_the_same_calls_again_and_another_seed_gives_others():
    first, again, other = (run(rack_outage, racks="a,b,c", seed=seed).calls for seed in (1, 1, 2))
    assert [(call, repeated) for call, repeated in zip(first, again, strict=True) if call != repeated] == []
    assert set(first) != set(other)
