"""kafka-rack assign reads a live group and prints what its next rebalance would assign."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from kafka_rack.cli import main
from mockbroker import MockCluster
from tests.progress import until

TOPIC, PARTITIONS = "orders", 12

aiokafka = pytest.importorskip("aiokafka", reason="aiokafka is not installed")


@pytest.fixture
async def cluster():
    """Partition i of the topic has its one replica on broker i modulo 3, so that each rack leads a third."""
    async with MockCluster(3, ("a", "b", "c")) as running:
        running.state.replication_control.create(TOPIC, assignment=[[index % 3] for index in range(PARTITIONS)])
        yield running


@asynccontextmanager
async def joined(cluster, **settings):
    """Three consumers, client ids reader-a to reader-c, that share the topic."""
    consumers = [
        aiokafka.AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=cluster.bootstrap_servers,
            group_id="readers",
            client_id=f"reader-{rack}",
            heartbeat_interval_ms=200,
            **{name: make(rack) for name, make in settings.items()},
        )
        for rack in "abc"
    ]
    try:
        for consumer in consumers:
            await consumer.start()

        def sizes():
            return [len(consumer.assignment()) for consumer in consumers]

        await until(lambda: sizes() == [PARTITIONS // 3] * 3, "a third of the partitions each", sizes)
        yield consumers
    finally:
        for consumer in consumers:
            await consumer.stop()


async def assign(cluster, *arguments) -> int:
    given = ["assign", "--bootstrap-server", cluster.bootstrap_servers, *arguments]
    return await asyncio.to_thread(main, given)


def owned_by(consumers):
    """Member id -> its partitions, as assign's JSON has them."""
    return {
        consumer._coordinator.member_id: [[TOPIC, sorted(part.partition for part in consumer.assignment())]]
        for consumer in consumers
    }


async def test_without_racks_the_next_rebalance_assigns_what_the_members_have(cluster, capsys):
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    async with joined(cluster, partition_assignment_strategy=lambda _: [RangePartitionAssignor]) as consumers:
        assert await assign(cluster, "--group", "readers", "--format", "json") == 0
        present = owned_by(consumers)
    assert json.loads(capsys.readouterr().out) == {"assignor": "range", "assignment": present}


async def test_members_with_a_rack_of_the_command_line_get_the_partitions_of_their_rack(cluster, capsys, tmp_path):
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    racks = tmp_path / "racks.txt"
    racks.write_text("".join(f"{rack}@client:reader-{rack}*\n" for rack in "abc"))
    async with joined(cluster, partition_assignment_strategy=lambda _: [RangePartitionAssignor]) as consumers:
        assert await assign(cluster, "--group", "readers", "--client-racks", str(racks), "--format", "json") == 0
        in_order = [consumer._coordinator.member_id for consumer in consumers]
    assert json.loads(capsys.readouterr().out)["assignment"] == {
        member: [[TOPIC, list(range(broker, PARTITIONS, 3))]] for broker, member in enumerate(in_order)
    }


async def test_racks_in_the_subscription_need_no_rules(cluster, capsys):
    from kafka_rack.assignment.clients.aiokafka import RackAwareStickyAssignor

    async with joined(cluster, partition_assignment_strategy=lambda rack: [RackAwareStickyAssignor(rack)]) as consumers:
        assert await assign(cluster, "--group", "readers", "--format", "json") == 0
        present = owned_by(consumers)
    assert sorted(numbers for ((_, numbers),) in present.values()) == [
        list(range(broker, PARTITIONS, 3)) for broker in range(3)
    ]
    assert json.loads(capsys.readouterr().out) == {"assignor": "sticky", "assignment": present}


async def test_a_group_that_is_not_there_is_one_line(cluster, capsys):
    assert await assign(cluster, "--group", "nobody") == 1
    text = "kafka-rack assign: group nobody: there is no such group, or it has no members\n"
    assert capsys.readouterr().err == text
