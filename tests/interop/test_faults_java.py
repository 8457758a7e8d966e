"""The Java client meets each effect of a fault, and recovers."""

from __future__ import annotations

import pytest

from mockbroker import MockCluster
from tests.interop.java_client import java_client, run_java_client
from tests.progress import until

TOPIC, COUNT = "orders", 300
VALUES = [f"v{i}" for i in range(COUNT)]


@pytest.fixture(params=["4.4.0", "2.4.1"])
def version(request) -> str:
    return request.param


@pytest.mark.parametrize(
    "effect",
    [
        {"error": "NOT_LEADER_OR_FOLLOWER"},
        {"error": "NOT_ENOUGH_REPLICAS_AFTER_APPEND"},
        {"delay_ms": 200, "jitter_ms": 50},
        {"disconnect": True},
        {"silence": True},
        {"throttle_ms": 300},
        {"bandwidth": "20KB/s"},
    ],
    ids=lambda effect: next(iter(effect)),
)
async def test_an_idempotent_producer_recovers_and_nothing_is_lost_or_doubled(version, effect):
    async with MockCluster(topics={TOPIC: (1, 3)}) as cluster:
        fault = cluster.faults.add(match={"api": "Produce"}, effect=effect, when={"times": 2})
        sent = await run_java_client(
            version,
            "produce",
            TOPIC,
            COUNT,
            bootstrap_servers=cluster.bootstrap_servers,
            acks="all",
            enable_idempotence="true",
            max_in_flight_requests_per_connection="1",  # or a later batch may be a partition's first: docs/faults.md
            request_timeout_ms="2000",
        )
        assert fault.fired in (1, 2), fault.explain()  # one request may hold all there is
        assert sorted((line.offset, line.value) for line in sent) == list(enumerate(VALUES))
        assert cluster.state.topics[TOPIC].partitions[0].log.end_offset == COUNT


async def test_a_consumer_reads_on_behind_errors_a_lost_coordinator_and_a_cut_link(version):
    settings = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    async with MockCluster(settings=settings) as cluster:
        cluster.state.replication_control.create(TOPIC, assignment=[[1, 0, 2]])  # led in rack b
        servers = cluster.bootstrap_servers
        await run_java_client(version, "produce", TOPIC, COUNT, bootstrap_servers=servers)
        errors = [
            cluster.faults.add(match={"api": api, **match}, effect={"error": error}, when={"times": 1})
            for api, match, error in (
                ("FindCoordinator", {"group": "readers"}, "COORDINATOR_NOT_AVAILABLE"),
                ("JoinGroup", {"group": "readers"}, "NOT_COORDINATOR"),
                ("OffsetFetch", {"group": "readers"}, "COORDINATOR_LOAD_IN_PROGRESS"),
                ("Fetch", {"topic": TOPIC}, "NOT_LEADER_OR_FOLLOWER"),
                ("Heartbeat", {"group": "readers"}, "REBALANCE_IN_PROGRESS"),
            )
        ]
        async with java_client(
            version,
            "consume",
            TOPIC,
            COUNT * 2,
            bootstrap_servers=servers,
            client_rack="a",
            client_id="reader",
            group_id="readers",
            auto_offset_reset="earliest",
            heartbeat_interval_ms="300",
            session_timeout_ms="600000",  # however long the link is cut: who is put out begins where it last committed
        ) as reader:
            await until(lambda: len(reader.lines) == COUNT, "the first half", lambda: reader.lines[-1:])
            await until(
                lambda: all(one.fired for one in errors), "every error", lambda: [one.explain() for one in errors]
            )
            cut = cluster.faults.add(link={"from": "a", "to": "*"}, effect={"cut": True})
            await run_java_client(version, "produce", TOPIC, COUNT, bootstrap_servers=servers, acks="1")
            await until(lambda: cut.fired, "an attempt over the cut link", cut.explain)
            assert len(reader.lines) == COUNT
            cut.remove()
            lines = await reader.finish()
        assert [line.offset for line in lines] == list(range(COUNT * 2))
