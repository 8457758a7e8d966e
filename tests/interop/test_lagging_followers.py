"""Producers with acks=all and followers that are behind: they wait for those in sync, and no longer than that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.interop.client_process import LIBRARIES, consume, produce, values
from tests.interop.serving import Served, serving
from tests.progress import until

TOPIC = "orders"
NEVER_MS, SOON_MS = 3_600_000, 500
WITHOUT_RETRIES = {
    "confluent-kafka": {"retries": 0, "idempotence": False},
    "kafka-python": {"retries": 0, "idempotence": False},
}
NOT_ENOUGH_REPLICAS = {
    "confluent-kafka": "NOT_ENOUGH_REPLICAS,",
    "kafka-python": "NotEnoughReplicasError",
}


async def orders_of(served: Served) -> dict[str, Any]:
    """Partition 0 of the topic, as the control API shows it."""
    (topic,) = (await served.control.get("/cluster")).json()["topics"]
    return topic["partitions"][0]


async def until_orders(served: Served, **wanted: Any) -> None:
    """Wait until the control API shows these values for partition 0."""
    seen: dict[str, Any] = {}

    async def look() -> None:
        while not wanted.items() <= seen.items():
            seen.update(await orders_of(served))

    looking = asyncio.create_task(look())
    try:
        await until(looking.done, f"{wanted}", lambda: dict(seen))
        await looking
    finally:
        looking.cancel()


@pytest.fixture
def options() -> list[str]:
    return ["--port", "0", "--racks", "a,b,c", "--topic", f"{TOPIC}:1:3"]


@pytest.mark.parametrize("library", LIBRARIES)
async def test_acks_all_waits_for_a_lagging_follower_until_the_lag_is_lifted(tmp_path, library, options):
    async with serving(tmp_path, *options, "--set", f"replica.lag.time.max.ms={NEVER_MS}") as served:
        settings = {"servers": served.servers}
        leader, follower, _ = (await orders_of(served))["replicas"]
        assert (await orders_of(served))["leader"] == leader
        lag = f"/brokers/{follower}/lag"
        assert (await served.control.post(lag, json={"records": 1})).json() == {"records": 1}
        waiting = asyncio.create_task(produce(library, TOPIC, values(0, 1), acks="all", **settings))
        await until_orders(served, end_offset=1)
        assert await produce(library, TOPIC, values(1, 2), acks=1, **settings) == [[0, 1]], "it asks for no more"
        shown = await orders_of(served)
        assert (shown["high_watermark"], len(shown["isr"])) == (1, 3), "the follower is one record behind"
        assert await waiting == [[0, 0]]
        still_waiting = asyncio.create_task(produce(library, TOPIC, values(2, 3), acks="all", **settings))
        await until_orders(served, end_offset=3)
        assert [record.value for record in await consume(library, [TOPIC], 2, **settings)] == ["0", "1"]
        assert not still_waiting.done()
        await served.control.post(lag, json={"records": 0})
        assert await still_waiting == [[0, 2]]
        assert [record.value for record in await consume(library, [TOPIC], 3, **settings)] == ["0", "1", "2"]
        assert await served.end() == (0, [])


@pytest.mark.parametrize("library", LIBRARIES)
async def test_acks_all_waits_no_longer_than_a_follower_is_in_sync(tmp_path, library, options):
    async with serving(tmp_path, *options, "--set", f"replica.lag.time.max.ms={SOON_MS}") as served:
        leader, follower, other = (await orders_of(served))["replicas"]
        await served.control.post(f"/brokers/{follower}/lag", json={"records": 1})
        assert await produce(library, TOPIC, values(0, 1), acks="all", servers=served.servers) == [[0, 0]]
        assert (await orders_of(served))["isr"] == [leader, other]
        await served.control.post(f"/brokers/{follower}/lag", json={"records": 0})
        assert (await orders_of(served))["isr"] == [leader, follower, other]
        assert await served.end() == (0, [])


@pytest.mark.parametrize("library", NOT_ENOUGH_REPLICAS)
async def test_acks_all_is_refused_while_too_few_replicas_are_in_sync(tmp_path, library, options):
    async with serving(tmp_path, *options, "--set", "min.insync.replicas=3") as served:
        settings = {"servers": served.servers, **WITHOUT_RETRIES[library]}
        leader, follower, _ = (await orders_of(served))["replicas"]
        await served.control.post(f"/brokers/{follower}/stop")
        (refusal,) = await produce(library, TOPIC, values(0, 1), acks="all", **settings)
        assert NOT_ENOUGH_REPLICAS[library] in str(refusal)
        assert await produce(library, TOPIC, values(1, 2), acks=1, **settings) == [[0, 0]], (
            "nothing was appended before"
        )
        await served.control.post(f"/brokers/{follower}/start")
        assert await produce(library, TOPIC, values(2, 3), acks="all", **settings) == [[0, 1]]
        assert leader == (await orders_of(served))["leader"]
        assert await served.end() == (0, [])
