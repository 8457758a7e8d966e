"""A running cluster with a data directory: what producers are told, and when, of a disk that is full or fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mockbroker import MockCluster
from mockbroker.data_directories.directory import METADATA, DataDirectory, DataDirectoryInUseError
from mockbroker.data_directories.files import Files
from protocol.apis.api_versions import ApiVersionsRequest
from protocol.apis.fetch import FetchRequest
from protocol.apis.group_offsets import OffsetCommitRequest
from protocol.apis.topics import CreateTopicsRequest
from protocol.error_codes import ErrorCode
from protocol.uuids import uuid_to_text
from tests.unit.mockbroker.handlers.records import batch, produce_request
from tests.unit.mockbroker.wire_client import WireClient

PRODUCE_VERSION, FETCH_VERSION = 12, 12


class Disk:
    """Files that may be full and fail to sync; ``synced`` has the directories of those that were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = self.fails_sync = False
        self.synced: list[str] = []
        write, sync = Files.write, Files.sync

        def failing_sync(files: Files, path: Path) -> None:
            if self.fails_sync:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            self.synced.append(path.parent.name)
            sync(files, path)

        def full_write(files: Files, descriptor: int, data: bytes, position: int) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(files, descriptor, data, position)

        monkeypatch.setattr(Files, "sync", failing_sync)
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
async def test_with_fsync_always_a_batch_is_on_the_disk_when_it_is_acknowledged(tmp_path, monkeypatch, acks):
    disk = Disk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster, WireClient(cluster.bootstrap_servers) as client:
        await client.ask(ApiVersionsRequest(), 0)
        for offset in range(3):
            disk.synced.clear()
            assert await produce(client, b"one", acks) == (ErrorCode.NONE, offset)
            assert disk.synced == [uuid_to_text(cluster.state.topics["orders"].id) + "-0"]


def commit_request() -> OffsetCommitRequest:
    partition = OffsetCommitRequest.Topic.Partition(partition_index=0, committed_offset=7)
    topic = OffsetCommitRequest.Topic(name="orders", partitions=[partition])
    return OffsetCommitRequest(group_id="readers", generation_id_or_member_epoch=-1, topics=[topic])


def create_request(name: str) -> CreateTopicsRequest:
    return CreateTopicsRequest(
        topics=[CreateTopicsRequest.Topic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=1000
    )


@pytest.mark.parametrize(("request_of", "version"), [(commit_request, 8), (lambda: create_request("events"), 5)])
async def test_with_fsync_always_coordinators_and_the_controller_sync_before_they_answer(
    tmp_path, monkeypatch, request_of, version
):
    disk = Disk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster, WireClient(cluster.bootstrap_servers) as client:
        cluster.state.internal_topics.coordinator("readers")
        await client.ask(commit_request(), 8)
        disk.synced.clear()
        await client.ask(ApiVersionsRequest(), 0)
        assert not disk.synced
        await client.ask(request_of(), version)
        assert len(disk.synced) == 1
        assert (disk.synced[0] == METADATA) == (version == 5)


async def test_a_commit_that_does_not_reach_the_disk_is_not_acknowledged(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        cluster.state.internal_topics.coordinator("readers")
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
    disk = Disk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        disk.synced.clear()
        cluster.create_topic("events", 1)
        assert disk.synced == [METADATA]


async def test_a_sync_that_fails_is_told_to_whom_it_concerns(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
    async with cluster_in(tmp_path, fsync="always") as cluster:
        async with WireClient(cluster.bootstrap_servers) as client:
            disk.fails_sync = True
            assert await produce(client, b"one") == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
            disk.fails_sync = False
            assert await produce(client, b"two") == (ErrorCode.NONE, 1)
        monkeypatch.undo()


async def test_a_full_disk_refuses_what_is_produced_serves_what_is_there_and_goes_on_with_room(tmp_path, monkeypatch):
    disk = Disk(monkeypatch)
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
        directory = f"{uuid_to_text(cluster.state.topics['orders'].id)}-0"
        assert b"one" in (tmp_path / directory / f"{0:020d}.log").read_bytes()


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
    DataDirectory(tmp_path / "failed").close()
    async with cluster_in(tmp_path / "used"):
        with pytest.raises(DataDirectoryInUseError):
            cluster_in(tmp_path / "used")
    DataDirectory(tmp_path / "used").close()
