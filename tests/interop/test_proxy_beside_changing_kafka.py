"""Clients at work through the proxy while the real cluster behind it changes: nothing is lost, and nothing comes twice.

The cluster has a process for each node and a controller of its own. Brokers change their racks and lose them, one is
replaced by another with its id at another address, a new one joins, the one that the proxy was told of leaves for good,
and the controller is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from mockbroker.proxy.adapters.server import KafkaProxy
from protocol.apis.elect_leaders import ElectLeadersRequest
from protocol.apis.metadata import MetadataRequest
from protocol.apis.reassignments import AlterPartitionReassignmentsRequest
from tests.interop.fetched import skipped_without_tools
from tests.interop.kafka_nodes import CONTROLLER, kafka_nodes
from tests.interop.matrix.actor import Actor, actor
from tests.interop.matrix.clients import CLIENTS
from tests.interop.matrix.scenarios import SPREAD, contents, records
from tests.interop.matrix.target import Target
from tests.progress import until

WORKING = ("Java 4.4", "confluent-kafka", "franz-go")
A_TURN, TURNS = 12, 1
NOT_RESTARTED = 1
"""A broker that is there whenever racks are asked for."""


class Worker:
    """A client that writes some records in a transaction, reads them by a group, and begins again."""

    def __init__(self, name: str, client: Actor) -> None:
        self.name, self.topic, self._client = name, f"of-{name.replace(' ', '-')}", client
        self.turns = 0
        self.is_over = False

    async def work(self) -> None:
        """Turn after turn until ``is_over``. Raises AssertionError: something else was read than was written."""
        await self._client("open", "reader", self.topic, f"{self.topic}-readers", "isolation=read_committed")
        while not self.is_over:
            sent = records(A_TURN, start=self.turns * A_TURN)
            await self._client("transact", f"{self.topic}-id", self.topic, "commit", *sent)
            assert contents(await self._client.read("reader", A_TURN)) == contents(sent), self.name
            await self._client("commit", "reader")
            self.turns += 1
        await self._client("close", "reader")


@asynccontextmanager
async def working(target: Target) -> AsyncIterator[list[Worker]]:
    """A worker of each client. Leaving it ends them, and raises what was wrong with one."""
    workers = []
    async with AsyncExitStack() as stack:
        for name in WORKING:
            with skipped_without_tools():
                command = await asyncio.to_thread(CLIENTS[name].command)
            client = await stack.enter_async_context(actor(command))
            workers.append(Worker(name, client))
            await client("servers", target.servers, workers[-1].topic)
            await target.create_topic(workers[-1].topic, SPREAD)
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker.work())
            yield workers
            for worker in workers:
                worker.is_over = True


async def get_on(workers: list[Worker]) -> None:
    """Wait until each has done some more turns, all of which began with the cluster as it is now."""
    aims = {worker.name: worker.turns + 1 + TURNS for worker in workers}
    await until(
        lambda: all(worker.turns >= aims[worker.name] for worker in workers),
        "more turns",
        lambda: [worker.turns for worker in workers],
    )


async def until_racks(target: Target, wanted: dict[int, str | None]) -> None:
    """Wait until clients are told of these brokers, in these racks."""

    async def told() -> bool:
        answer = await target._ask(MetadataRequest(topics=[]), 12, NOT_RESTARTED)
        return {one.node_id: one.rack for one in answer.brokers} == wanted

    await target.until(told, f"the racks {wanted}")


async def reassign(target: Target, brokers: list[int]) -> None:
    """Have all partitions on these brokers, in sync, each partition led by the first of its replicas."""
    answer = await target._ask(MetadataRequest(topics=None), 12, brokers[0])
    topics, partitions = [], []
    for one in answer.topics:
        topic = AlterPartitionReassignmentsRequest.Topic(name=one.name)
        for partition in one.partitions:
            turn = partition.partition_index % len(brokers)
            replicas = [*brokers[turn:], *brokers[:turn]]
            topic.partitions.append(topic.Partition(partition_index=partition.partition_index, replicas=replicas))
        topics.append(topic)
        indices = [partition.partition_index for partition in one.partitions]
        partitions.append(ElectLeadersRequest.TopicPartitions(topic=one.name, partitions=indices))
    answer = await target._ask(AlterPartitionReassignmentsRequest(topics=topics), 0, brokers[0])
    assert not any(one.error_code for topic in answer.responses for one in topic.partitions), answer

    async def is_so() -> bool:
        await target._ask(ElectLeadersRequest(election_type=0, topic_partitions=partitions), 2, brokers[0])
        told = await target._ask(MetadataRequest(topics=None), 12, brokers[0])
        return all(
            (sorted(one.replica_nodes), sorted(one.isr_nodes)) == (brokers, brokers)
            and one.leader_id == one.replica_nodes[0]
            for topic in told.topics
            for one in topic.partitions
        )

    await target.until(is_so, f"all partitions on brokers {brokers}")


async def test_clients_work_on_while_brokers_change_racks_move_join_and_leave(tmp_path):
    with skipped_without_tools():
        stack = AsyncExitStack()
        nodes = await asyncio.to_thread(stack.enter_context, kafka_nodes({0: "a", 1: "b", 2: "c"}, tmp_path))

    async def begun(broker_id: int, rack: str | None, *, moves: bool = False) -> None:
        nodes.start_broker(broker_id, rack, moves=moves)
        await asyncio.to_thread(nodes.wait_for, broker_id)

    async with stack, KafkaProxy(nodes.addresses[0]) as proxy:
        target = Target(proxy.bootstrap_servers, proxy)
        async with working(target) as workers:
            await get_on(workers)
            for rack in (None, "e"):
                await asyncio.to_thread(nodes.stop, 2)
                await get_on(workers)
                await begun(2, rack)
                await until_racks(target, {0: "a", 1: "b", 2: rack})
                await get_on(workers)
            nodes.kill(1)
            await get_on(workers)
            await begun(1, "b", moves=True)
            await reassign(target, [0, 1, 2])
            await get_on(workers)
            await begun(3, "d")
            await reassign(target, [1, 2, 3])
            await get_on(workers)
            await asyncio.to_thread(nodes.stop, 0)
            await get_on(workers)
            nodes.kill(CONTROLLER)
            await get_on(workers)
            await asyncio.to_thread(nodes.start_controller)
            await until_racks(target, {1: "b", 2: "e", 3: "d"})
            await get_on(workers)
        at_new = {entry.client_id for entry in proxy.journal if (entry.broker, entry.api) == (3, "Produce")}
        assert at_new == {worker.topic for worker in workers}
