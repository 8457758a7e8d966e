"""Transactions with other people's clients: what is committed is read, once; what is not is never read."""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest

from mockbroker import MockCluster
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tests.interop.transactor import LIBRARIES, RefusedError, transactor

pytestmark = [pytest.mark.parametrize("library", LIBRARIES)]

FENCED = {
    "java 4.4": {"ProducerFencedException", "InvalidProducerEpochException"},
    "java 2.4": {"ProducerFencedException"},
    "confluent-kafka": {"_FENCED", "_PURGE_QUEUE", "_STATE"},
    "aiokafka": {"ProducerFenced"},
    "kafka-python": {"ProducerFencedError", "InvalidProducerEpochError"},
    "franz-go": {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"},
    "kafkajs": {"INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"},
}
"""What each library calls it that another producer took over."""


async def test_what_is_committed_is_read_and_what_is_aborted_is_not(library):
    async with (
        MockCluster(topics={"orders": 2}) as cluster,
        transactor(library, cluster.bootstrap_servers, "payments") as producer,
    ):
        await producer.do("init", "begin", "send orders 0 one", "send orders 1 two", "commit")
        await producer.do("begin", "send orders 0 lost", "send orders 1 lost", "abort")
        await producer.do("begin", "send orders 0 three", "commit")
        assert sorted((await producer("read orders 3")).split()) == ["one", "three", "two"]
        ends = [partition.log.end_offset for partition in cluster.state.topics["orders"].partitions]
        assert ends == [6, 4]  # a record and a marker for each transaction


async def test_records_are_transformed_exactly_once_and_the_groups_offsets_with_them(library):
    async with (
        MockCluster(topics={"orders": 1, "bills": 1}) as cluster,
        transactor(library, cluster.bootstrap_servers, "payments") as producer,
    ):
        names = [f"n{number}" for number in range(30)]
        await producer.do("init", "begin", *(f"send orders 0 {name}" for name in names), "commit")
        assert await producer("pipe orders bills billing 30") == "30"
        assert (await producer("read bills 30")).split() == [name.upper() for name in names]
        assert cluster.state.groups.offsets("billing").get(("orders", 0)).offset >= 30
        assert not any(shard.pending for shard in cluster.state.internal_topics.shards(OFFSETS_TOPIC))


async def test_a_producer_that_another_one_took_over_from_is_fenced(library):
    async with MockCluster(topics={"orders": 1}) as cluster, AsyncExitStack() as stack:
        first, second = [
            await stack.enter_async_context(transactor(library, cluster.bootstrap_servers, "payments"))
            for _ in range(2)
        ]
        await first.do("init", "begin", "send orders 0 lost")
        await second.do("init", "begin", "send orders 0 kept", "commit")
        with pytest.raises(RefusedError) as caught:
            await first.do("send orders 0 late", "commit")
        assert caught.value.name in FENCED[library]
        assert await second("read orders 1") == "kept"


async def test_a_transaction_whose_time_is_up_is_aborted_and_its_producer_fenced(library):
    settings = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": 100}
    async with (
        MockCluster(topics={"orders": 1}, settings=settings) as cluster,
        transactor(library, cluster.bootstrap_servers, "payments") as producer,
        transactor(library, cluster.bootstrap_servers, "refunds") as other,
    ):
        await producer.do("init", "begin", "send orders 0 lost")
        await other.do("init", "begin", "send orders 0 kept", "commit")
        cluster.jump_clock(61_000)
        assert await other("read orders 1") == "kept"  # the last stable offset has moved on
        with pytest.raises(RefusedError):
            await producer.do("send orders 0 late", "commit")


async def test_a_transaction_survives_the_outage_of_a_rack(library):
    async with (
        MockCluster(topics={"orders": 3}) as cluster,
        transactor(library, cluster.bootstrap_servers, "payments") as producer,
    ):
        await producer.do("init", "begin", *(f"send orders {index} before{index}" for index in range(3)))
        racks = [broker.rack for broker in cluster.state.brokers.values()]
        rack = cluster.state.internal_topics.coordinator("payments", TRANSACTIONS_TOPIC).rack
        if library == "kafka-python":  # 3.0.12 forgets the commit where it cannot connect to the coordinator
            rack = next(one for one in racks if one != rack)
        assert rack is not None
        await cluster.stop_rack(rack)
        await producer.do(*(f"send orders {index} after{index}" for index in range(3)), "commit")
        values = (await producer("read orders 6")).split()
        assert sorted(values) == sorted(f"{when}{index}" for when in ("before", "after") for index in range(3))
