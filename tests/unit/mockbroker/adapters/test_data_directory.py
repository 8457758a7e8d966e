"""A running cluster with a data directory: what producers are told, and when, of disks that are slow or full."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from pathlib import Path

import pytest

from mockbroker import MockCluster
from mockbroker.adapters.storage.data_directory import DataDirectory, DataDirectoryInUseError
from mockbroker.adapters.storage.files import Files
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.group_offsets import OffsetCommitRequest, OffsetFetchRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.error_codes import ErrorCode
from tests.progress import until
from tests.unit.mockbroker.handlers.records import batch, produce_request
from tests.unit.mockbroker.wire_client import WireClient

PRODUCE_VERSION, FETCH_VERSION = 12, 12


class SlowDisk:
    """Files of which a sync waits for ``room``, and that may be full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.is_full = self.fails_sync = False
        write, sync = Files.write, Files.sync

        def slow_sync(files: Files, path: Path) -> None:
            if threading.current_thread().name.startswith("kafka-rack flush"):
                assert self.may_sync.wait(60)
                if self.fails_sync:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
            sync(files, path)

        def full_write(files: Files, descriptor: int, data: bytes, position: int) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(files, descriptor, data, position)

        monkeypatch.setattr(Files, "sync", slow_sync)
        monkeypatch.setattr(Files, "write", full_write)


async def produce(client: WireClient, value: bytes, acks: int = -1) -> tuple[int, int]:
    """The error code and the offset of what one record becomes."""
    request = produce_request(batch(value), acks=acks)
    request.timeout_ms = 60_000
    answer = await client.ask(request, PRODUCE_VERSION)
    entry = answer.responses[0].partition_responses[0]
    return entry.error_code, entry.base_offset


async def fetched(client: WireClient, offset: int = 0) -> bytes:
    partition = FetchRequest.Topic.Partition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(
        max_wait_ms=60_000,
        min_bytes=1,
        max_bytes=1 << 20,
        topics=[FetchRequest.Topic(topic="orders", partitions=[partition])],
    )
    answer = await client.ask(request, FETCH_VERSION)
    return bytes(answer.responses[0].partitions[0].records or b"")


def cluster_in(path: Path, **how: object) -> MockCluster:
    return MockCluster(1, topics={"orders": 1}, data_dir=path, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("acks", [1, -1])
async def test_with_fsync_always_an_answer_waits_for_the_disk_and_nothing_else_does(tmp_path, monkeypatch, acks):
    disk = SlowDisk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        async with WireClient(cluster.bootstrap_servers) as first, WireClient(cluster.bootstrap_servers) as second:
            disk.may_sync.clear()
            waiting = asyncio.create_task(produce(first, b"one", acks))
            assert b"one" in await fetched(second)
            assert not waiting.done()
            disk.may_sync.set()
            assert await waiting == (ErrorCode.NONE, 0)
        monkeypatch.undo()


def commit_request() -> OffsetCommitRequest:
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=7)
    topic = OffsetCommitRequest.Topic(name="orders", partitions=[partition])
    return OffsetCommitRequest(group_id="readers", generation_id_or_member_epoch=-1, topics=[topic])


def create_request(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreateTopicsRequest.Topic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=1000
    )


@pytest.mark.parametrize(("request_of", "version"), [(commit_request, 8), (lambda: create_request("events"), 5)])
async def test_with_fsync_always_coordinators_and_the_controller_wait_for_the_disk_and_nobody_else_does(
    tmp_path, monkeypatch, request_of, version
):
    disk = SlowDisk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        async with WireClient(cluster.bootstrap_servers) as first, WireClient(cluster.bootstrap_servers) as second:
            await first.ask(commit_request(), 8)  # the topic of the group is there from here on
            disk.may_sync.clear()
            waiting = asyncio.create_task(first.ask(request_of(), version))
            await until(
                lambda: cluster.engine.path.syncs.last and len(cluster.engine.path.purgatory), "the answer held"
            )
            for _ in range(20):
                assert (await second.ask(ApiVersionsRequest(), 0)).error_code == 0
            assert not waiting.done()
            disk.may_sync.set()
            answer = await waiting
            assert answer.topics[0].name in ("orders", "events")
        monkeypatch.undo()


async def test_who_reads_what_is_not_on_the_disk_yet_waits_for_it_too(tmp_path, monkeypatch):
    disk = SlowDisk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        async with WireClient(cluster.bootstrap_servers) as first, WireClient(cluster.bootstrap_servers) as second:
            await first.ask(commit_request(), 8)
            disk.may_sync.clear()
            purgatory = cluster.engine.path.purgatory
            committing = asyncio.create_task(first.ask(commit_request(), 8))
            await until(lambda: len(purgatory) == 1, "the answer held")
            asking = OffsetFetchRequest(groups=[OffsetFetchRequest.Group(group_id="readers", topics=None)])
            reading = asyncio.create_task(second.ask(asking, 8))
            await until(lambda: len(purgatory) == 2, "the other answer held")
            disk.may_sync.set()
            await committing
            assert (await reading).groups[0].topics[0].partitions[0].committed_offset == 7
        monkeypatch.undo()


async def test_a_commit_that_does_not_reach_the_disk_is_not_acknowledged(tmp_path, monkeypatch):
    disk = SlowDisk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        async with WireClient(cluster.bootstrap_servers) as client:
            await client.ask(commit_request(), 8)
            disk.fails_sync = True
            answer = await client.ask(commit_request(), 8)
            assert answer.topics[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
            answer = await client.ask(create_request("events"), 5)
            assert answer.topics[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
            disk.fails_sync = False
            answer = await client.ask(commit_request(), 8)
            assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        monkeypatch.undo()


async def test_a_command_of_the_owner_is_on_the_disk_when_it_is_over(tmp_path, monkeypatch):
    async with cluster_in(tmp_path, fsync="always") as cluster:
        synced: list[str] = []
        monkeypatch.setattr(Files, "sync", lambda _, path: synced.append(path.parent.name))
        cluster.create_topic("events", 1)
        assert "__cluster_metadata-0" in synced
        monkeypatch.undo()


async def test_a_sync_that_fails_is_told_to_whom_it_concerns(tmp_path, monkeypatch):
    disk = SlowDisk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        async with WireClient(cluster.bootstrap_servers) as client:
            disk.fails_sync = True
            assert await produce(client, b"one") == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
            disk.fails_sync = False
            assert await produce(client, b"two") == (ErrorCode.NONE, 1)
        monkeypatch.undo()


async def test_a_full_disk_refuses_what_is_produced_serves_what_is_there_and_goes_on_with_room(tmp_path, monkeypatch):
    disk = SlowDisk(monkeypatch)
    async with cluster_in(tmp_path) as cluster:
        async with WireClient(cluster.bootstrap_servers) as client:
            assert await produce(client, b"one") == (ErrorCode.NONE, 0)
            disk.is_full = True
            assert await produce(client, b"two") == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
            assert b"one" in await fetched(client)
            disk.is_full = False
            assert await produce(client, b"three") == (ErrorCode.NONE, 1)
        monkeypatch.undo()


async def test_what_is_acknowledged_is_with_the_operating_system(tmp_path):
    async with cluster_in(tmp_path) as cluster, WireClient(cluster.bootstrap_servers) as client:
        await produce(client, b"one")
        assert b"one" in (tmp_path / "broker-0" / "0" / "orders-0" / f"{0:020d}.log").read_bytes()


async def test_a_cluster_with_data_is_not_reset_and_its_fork_is_in_memory(tmp_path):
    async with cluster_in(tmp_path) as cluster, WireClient(cluster.bootstrap_servers) as client:
        await produce(client, b"one")
        with pytest.raises(ValueError, match="not reset"):
            await cluster.reset()
        async with cluster.fork() as fork, WireClient(fork.bootstrap_servers) as other:
            await produce(client, b"two")
            assert await produce(other, b"three") == (ErrorCode.NONE, 1)
            assert b"two" not in await fetched(other)


async def test_a_directory_is_free_again_after_an_end_and_after_a_failed_start(tmp_path):
    with pytest.raises(ValueError, match="fsync"):
        cluster_in(tmp_path, fsync="never")
    with pytest.raises(Exception, match="replication factor"):
        MockCluster(1, topics={"orders": (1, 3)}, data_dir=tmp_path / "failed")
    DataDirectory.open(tmp_path / "failed").close(clean=True)
    async with cluster_in(tmp_path / "used"):
        with pytest.raises(DataDirectoryInUseError):
            cluster_in(tmp_path / "used")
    DataDirectory.open(tmp_path / "used").close(clean=True)
