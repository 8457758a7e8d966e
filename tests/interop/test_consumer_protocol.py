"""The consumer protocol (KIP-848) with Kafka's own consumer and with librdkafka: who reads what, and who takes over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mockbroker import MockCluster
from tests.interop.client_process import ROOT
from tests.interop.fetched import java_program, maven_jars, skipped_without_tools
from tests.interop.transactor import Transactor
from tests.progress import until, while_it_works

HERE = Path(__file__).parent
VERSION = "4.4.0"
CONSUMER = "group.protocol=consumer"
FAST = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "1000",
}


class Members(Transactor):
    """Java's consumers, in one process."""

    async def settle(self, *expected: int, names: str = "abcdef") -> list[list[str]]:
        """Wait until consumers a, b, ... have so many partitions each; gives them. None is held twice."""
        wanted = " ".join(f"{name}={count}" for name, count in zip(names, expected, strict=False))
        told = (await self(f"settle {wanted}")).split()
        found = [one.partition(":")[2].split(",") if one[-1] != ":" else [] for one in told]
        every = [partition for one in found for partition in one]
        assert len(every) == len(set(every)), found
        return found


@asynccontextmanager
async def members(settings: Mapping[str, str] = FAST, **topics: int) -> AsyncIterator[tuple[MockCluster, Members]]:
    """A cluster with these topics, and Java consumers to open."""
    async with MockCluster(topics=topics or {"orders": 4}, settings=dict(settings)) as cluster:
        with skipped_without_tools():
            command = await asyncio.to_thread(program)
        process = await asyncio.create_subprocess_exec(
            *command,
            cluster.bootstrap_servers,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        try:
            yield cluster, Members(process)
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


def program() -> list[str]:
    """What runs the Java consumers. Raises ToolMissingError."""
    jar = f"kafka-clients-{VERSION}.jar"
    jars = maven_jars(f"kafka-clients-{VERSION}", HERE / "java" / "pom.xml", jar, f"kafka.version={VERSION}")
    light = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
    return ["java", *light, *java_program(HERE / "java" / "Member.java", jars)]


async def test_a_group_of_two_shares_out_and_the_other_takes_over():
    async with members() as (cluster, java):
        await java(f"open a readers topic orders {CONSUMER}")
        await java.settle(4)
        await java(f"open b readers topic orders {CONSUMER}")
        await java.settle(2, 2)
        assert cluster.state.groups.get("readers").kind == "consumer"
        await java("close b")
        await java.settle(4)
        await java("close a")
        assert cluster.state.groups.get("readers").state_name == "Empty"


async def test_the_broker_resolves_a_pattern_and_finds_topics_that_come_later(monkeypatch):
    monkeypatch.setattr("mockbroker.groups.consumer.expressions.MIN_REFRESH_MS", 100)
    async with members(**{"logs-a": 2, "other": 1}) as (cluster, java):
        await java(f"open a readers pattern logs-.* {CONSUMER}")
        assert await java.settle(2) == [["logs-a-0", "logs-a-1"]]
        cluster.create_topic("logs-b", partitions=1)
        assert await java.settle(3) == [["logs-a-0", "logs-a-1", "logs-b-0"]]


async def test_a_static_member_that_comes_back_has_its_partitions_again():
    async with members() as (cluster, java):
        await java(f"open a readers topic orders {CONSUMER} group.instance.id=one")
        await java(f"open b readers topic orders {CONSUMER} group.instance.id=two")
        before = await java.settle(2, 2)
        epoch = cluster.state.groups.get("readers").epoch
        await java("close a")
        await java(f"open a readers topic orders {CONSUMER} group.instance.id=one")
        assert await java.settle(2, 2) == before
        assert cluster.state.groups.get("readers").epoch == epoch


@pytest.mark.parametrize("strategy", ["RangeAssignor", "CooperativeStickyAssignor"])
async def test_a_group_moves_to_the_consumer_protocol_and_back_while_it_runs(strategy):
    classic = f"partition.assignment.strategy=org.apache.kafka.clients.consumer.{strategy} heartbeat.interval.ms=100"
    async with members() as (cluster, java):
        await java(f"open a readers topic orders {classic}")
        await java(f"open b readers topic orders {classic}")
        await java.settle(2, 2)
        assert cluster.state.groups.get("readers").kind == "classic"
        await java(f"open c readers topic orders {CONSUMER}")
        await until(lambda: cluster.state.groups.get("readers").kind == "consumer", "the group's upgrade")
        await java.do("close b", f"open b readers topic orders {CONSUMER}")
        await java("close a")

        await java.settle(2, 2, names="bc")
        await java(f"open a readers topic orders {classic}")
        await java.do("close b", "close c")
        await java.settle(4)
        assert cluster.state.groups.get("readers").kind == "classic"


async def test_librdkafka_shares_a_topic_and_resumes_where_the_group_has_committed():
    confluent = pytest.importorskip("confluent_kafka")
    async with MockCluster(topics={"orders": 4}, settings=FAST) as cluster:
        settings = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "readers",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }

        def share_out() -> list[int]:
            consumers = [confluent.Consumer(settings) for _ in range(2)]
            for one in consumers:
                one.subscribe(["orders"])
            while sorted(len(one.assignment()) for one in consumers) != [2, 2]:
                for one in consumers:
                    one.poll(0.05)
            held = sorted(partition.partition for one in consumers for partition in one.assignment())
            for one in consumers:
                one.close()
            return held

        def send_and_commit() -> None:
            producer = confluent.Producer({"bootstrap.servers": cluster.bootstrap_servers})
            for number in range(10):
                producer.produce("orders", str(number).encode(), partition=0)
            producer.flush()
            consumer = confluent.Consumer(settings)
            consumer.subscribe(["^ord.*"])
            seen = 0
            while seen < 5:
                message = consumer.poll(0.1)
                if message is not None and message.error() is None:
                    seen += 1
                    consumer.commit(message, asynchronous=False)
            consumer.close()

        async with while_it_works("librdkafka's consumers"):
            assert await asyncio.to_thread(share_out) == [0, 1, 2, 3]
            await asyncio.to_thread(send_and_commit)
        group = cluster.state.groups.get("readers")
        assert (group.kind, group.state_name) == ("consumer", "Empty")
        assert cluster.state.groups.offsets("readers").get(("orders", 0)).offset == 5
