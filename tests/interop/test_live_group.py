"""kafka-rack assign asks a live group: what its members have, and what racks would change."""

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
        running.state.create_topic(TOPIC, assignment=[[index % 3] for index in range(PARTITIONS)])
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


async def test_a_group_without_racks_is_told_what_they_would_bring(cluster, capsys):
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    rules = [word for rack in "abc" for word in ("--rack-of", f"reader-{rack}={rack}")]
    async with joined(cluster, partition_assignment_strategy=lambda _: [RangePartitionAssignor]) as consumers:
        assert await assign(cluster, "--group", "readers", *rules, "--explain", "--format", "json") == 0
        present = {
            consumer._coordinator.member_id: [[TOPIC, sorted(part.partition for part in consumer.assignment())]]
            for consumer in consumers
        }
    said = json.loads(capsys.readouterr().out)
    views = {view["name"]: view for view in said["views"]}
    assert said["assignor"] == "range"
    assert views["present"]["assignment"] == present
    assert views["present"]["share"] <= 0.5  # runs of four neighbours over three racks
    assert views["with racks"]["share"] == 1.0


async def test_racks_in_the_subscription_need_no_rules(cluster, capsys):
    from kafka_rack.assignment.clients.aiokafka import RackAwareStickyAssignor

    async with joined(cluster, partition_assignment_strategy=lambda rack: [RackAwareStickyAssignor(rack)]):
        assert await assign(cluster, "--group", "readers", "--explain", "--format", "json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["assignor"] == "sticky"
    assert {view["name"]: view["share"] for view in said["views"]}["present"] == 1.0
    assert said["views"][-1]["assignment"] == said["views"][0]["assignment"]


async def test_a_group_that_is_not_there_is_one_line(cluster, capsys):
    assert await assign(cluster, "--group", "nobody") == 1
    text = "kafka-rack assign: group nobody: there is no such group, or it has no members\n"
    assert capsys.readouterr().err == text
