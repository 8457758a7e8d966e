"""Work in the background of a running cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mockbroker import MockCluster
from mockbroker.adapters.background import BackgroundThread
from mockbroker.call import BackgroundWork
from mockbroker.handlers import produce
from mockbroker.state.logs import upkeep
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.records import CompressionCodec, Record, build_batch
from tests.progress import until
from tests.unit.mockbroker.handlers.records import TOPIC, batch, fetch_request, produce_request, values
from tests.unit.mockbroker.wire_client import WireClient

LARGE = bytes(produce.AT_ONCE_BYTES + 1)


@pytest.fixture
async def thread() -> AsyncIterator[BackgroundThread]:
    thread = BackgroundThread(lambda: None)
    yield thread
    thread.stop()


async def test_work_is_done_in_its_order_while_the_loop_goes_on(thread):
    may_go_on, done = threading.Event(), []
    first = BackgroundWork(lambda: may_go_on.wait(60))
    thread.run(first, done.append)
    thread.run(BackgroundWork(threading.get_ident), done.append)
    await asyncio.sleep(0)
    assert done == []
    may_go_on.set()
    await until(lambda: len(done) == 2, "both to be done", lambda: len(done))
    assert done[0] is first
    assert done[1].result() not in (threading.get_ident(), None)


async def test_what_work_raises_is_raised_where_it_is_waited_for(thread):
    def fail() -> Any:
        raise ValueError("broken")

    done: list[BackgroundWork[Any]] = []
    thread.run(BackgroundWork(fail), done.append)
    await until(lambda: done, "its end")
    with pytest.raises(ValueError, match="broken"):
        done[0].result()


async def test_after_the_end_nothing_is_begun_and_nobody_told(thread):
    has_begun, may_go_on, done, ran = threading.Event(), threading.Event(), [], []

    def wait() -> None:
        has_begun.set()
        may_go_on.wait(60)

    before = set(threading.enumerate())
    thread.run(BackgroundWork(wait), done.append)
    thread.run(BackgroundWork(lambda: ran.append(1)), done.append)
    await until(has_begun.is_set, "the first to begin")
    began = set(threading.enumerate()) - before
    thread.stop()
    thread.run(BackgroundWork(lambda: ran.append(2)), done.append)
    may_go_on.set()
    (begun,) = (one for one in began if one.name == "kafka-rack background")
    await until(lambda: not begun.is_alive(), "the end of the thread")
    await asyncio.sleep(0)
    assert (ran, done) == ([], [])


async def test_a_cluster_serves_others_while_it_opens_a_large_batch(monkeypatch):
    has_begun, may_go_on = threading.Event(), threading.Event()
    opened = produce.LongOpening.open

    def held_up(opening: Any) -> None:
        has_begun.set()
        may_go_on.wait(60)
        opened(opening)

    monkeypatch.setattr(produce.LongOpening, "open", held_up)
    async with MockCluster(1, ("a",), topics={TOPIC: (1, 1)}) as cluster:
        address = cluster.bootstrap_servers
        async with WireClient(address) as client, WireClient(address) as other:
            asked = asyncio.ensure_future(client.ask(produce_request(batch(LARGE, codec=CompressionCodec.GZIP)), 12))
            await until(has_begun.is_set, "the batch to be opened")
            assert (await other.ask(ApiVersionsRequest(), 0)).error_code == 0
            assert not asked.done()
            may_go_on.set()
            assert (await asked).responses[0].partition_responses[0].error_code == 0
            answer = await other.ask(fetch_request(max_bytes=10**8), 12)
            assert values(answer.responses[0].partitions[0].records) == [LARGE]


async def test_a_cluster_that_ends_answers_what_it_still_opens(monkeypatch):
    has_begun = threading.Event()
    opened = produce.LongOpening.open

    def noted(opening: Any) -> None:
        has_begun.set()
        opened(opening)

    monkeypatch.setattr(produce.LongOpening, "open", noted)
    async with (
        MockCluster(1, ("a",), topics={TOPIC: (1, 1)}) as cluster,
        WireClient(cluster.bootstrap_servers) as client,
    ):
        asked = asyncio.ensure_future(client.ask(produce_request(batch(LARGE, codec=CompressionCodec.GZIP)), 12))
        await until(has_begun.is_set, "the batch to be opened")
        await cluster.finish(within_s=60)
        assert (await asked).responses[0].partition_responses[0].error_code == 0


async def test_a_cluster_serves_others_while_it_cleans_a_log(monkeypatch):
    has_begun, may_go_on = threading.Event(), threading.Event()
    clean = upkeep.Cleaning.clean

    def held_up(*arguments: Any) -> Any:
        has_begun.set()
        may_go_on.wait(60)
        return clean(*arguments)

    monkeypatch.setattr(upkeep.Cleaning, "clean", held_up)
    configs = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0"}
    async with MockCluster(1, ("a",), settings={"log.cleaner.backoff.ms": "1"}) as cluster:
        cluster.create_topic(TOPIC, 1, 1, configs=configs)
        log = cluster.state.topics[TOPIC].partitions[0].log
        async with WireClient(cluster.bootstrap_servers) as client:

            async def write() -> int:
                """The next offset; each record has a segment of its own."""
                data = build_batch([Record(key=b"k", value=b"v")], codec=CompressionCodec.GZIP)
                answer = await client.ask(produce_request(data), 12)
                await asyncio.sleep(0.002)
                return answer.responses[0].partition_responses[0].base_offset + 1

            while not has_begun.is_set():
                assert await write() == len(log)
            assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0
            may_go_on.set()
            while len(log) == await write():
                assert len(log) < 10_000, "nothing of it was cleaned"
