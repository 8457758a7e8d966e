"""Kafka's admin client on configs: it is told the same by ours and by real brokers of Kafka 4.4."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from mockbroker import BlockingMockCluster, MockCluster
from tests.interop.fetched import java_program, skipped_without_tools
from tests.interop.java_brokers import LIGHT, SOURCES, broker_jars, kafka_brokers
from tests.progress import run

RACKS = ("a", "b", "c")
SETTINGS = {
    "default.replication.factor": "3",
    "group.consumer.assignment.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.dedupe.buffer.size": "2097152",
}


def told_by(servers: str) -> dict[str, str]:
    """What the admin client is told, by step."""
    command = ["java", *LIGHT, *java_program(SOURCES / "Configurer.java", broker_jars()), servers]
    done = run(command)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.partition(": ") for line in done.stdout.splitlines()]
    return {step: outcome for step, _, outcome in lines}


def test_the_java_client_is_told_of_configs_what_kafka_tells_it(tmp_path):
    with skipped_without_tools():
        with kafka_brokers(RACKS, tmp_path, SETTINGS) as running:
            kafkas = told_by(running.addresses[0])
        with BlockingMockCluster(MockCluster(brokers=3, racks=list(RACKS), settings=SETTINGS)) as cluster:
            ours = told_by(cluster.bootstrap_servers)
    assert len(kafkas) == 29
    assert "InvalidConfigurationException" in kafkas.values()
    assert ours == kafkas


def test_confluents_client_sets_deletes_and_lists_configs():
    with BlockingMockCluster(MockCluster(topics={"orders": 1})) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 2})

        def alter(name: str, value: str, operation: AlterConfigOpType = AlterConfigOpType.SET) -> None:
            change = ConfigEntry(name, value, incremental_operation=operation)
            resource = ConfigResource(ResourceType.TOPIC, "orders", incremental_configs=[change])
            (future,) = admin.incremental_alter_configs([resource]).values()
            future.result()

        alter("retention.ms", "1000")
        alter("cleanup.policy", "compact", AlterConfigOpType.APPEND)
        (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, "orders")]).values()
        shown = future.result()
        assert (shown["retention.ms"].value, shown["cleanup.policy"].value) == ("1000", "delete,compact")
        with pytest.raises(Exception, match=r"retention\.ms: expected a whole number, got 'soon'"):
            alter("retention.ms", "soon")
        topic = cluster.run(lambda inner: inner.state.topics["orders"])
        assert topic.config("retention.ms") == 1000
