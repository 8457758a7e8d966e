"""A process may end at any byte that it writes: what it had acknowledged before that is there when it starts again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockbroker.data_directories.files import Files
from mockbroker.data_directories.storage import Storage
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.logs.appending import append
from mockbroker.state.transactions.states import Producer, TransactionState
from protocol.embedded.group_log import OffsetCommitValue
from protocol.records import iter_records
from tests.group_driver import commit_offsets
from tests.unit.mockbroker.handlers.records import batch

SETTINGS = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}
COMMANDS = 40
TIMEOUT_MS = 60_000
GROUPS, IDS = ("readers", "others"), ("billing", "refunds")


class Killed(BaseException):
    """The process ends."""


class KillingFiles(Files):
    """Files of a process that ends amid the write of this number."""

    def __init__(self, kill_at: int, rng: Random) -> None:
        super().__init__()
        self.writes, self.kill_at, self.rng = 0, kill_at, rng

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        self.writes += 1
        if self.writes > self.kill_at:
            super().write(descriptor, data[: self.rng.randrange(len(data) + 1)], position)
            raise Killed
        return super().write(descriptor, data, position)


@dataclass
class Acknowledged:
    """What commands have promised; the last of ``values`` by partition may have been under way."""

    topics: set[str] = field(default_factory=set)
    offsets: dict[str, int] = field(default_factory=dict)
    producers: dict[str, tuple[int, int]] = field(default_factory=dict)
    values: dict[str, list[bytes]] = field(default_factory=dict)
    committed: set[bytes] = field(default_factory=set)
    aborted: set[bytes] = field(default_factory=set)


class Process:
    """One process after the other over a data directory."""

    def __init__(self, path: Path, kill_at: int, seed: int) -> None:
        self.path, self.now_ms = path, 0
        self.rng = Random(seed)
        self.told = Acknowledged()
        self.open: dict[str, list[bytes]] = {}
        self.count = 0
        self.files = KillingFiles(kill_at, self.rng)
        self.cluster = self.start(self.files, seed)

    def start(self, files: Files, seed: int) -> Cluster:
        self.storage = Storage(self.path, files=files)
        brokers = [Broker(index, "abc"[index]) for index in range(3)]
        durable = self.storage.durable(seed)
        cluster = Cluster.create(brokers, settings=SETTINGS, seed=seed, **{**durable, "now_ms": self.now_ms})
        self.storage.summarize(cluster)
        return cluster

    def killed(self) -> None:
        """What the operating system does for a process that ends."""
        self.storage.unlock()

    def run(self) -> None:
        for _ in range(COMMANDS):
            self.command()
        self.storage.close()

    def command(self) -> None:
        self.count += 1
        self.now_ms += 10
        kinds = ["topic", "offset", "initialise", *["produce"] * 3, *["end"] * 2]
        getattr(self, f"{self.rng.choice(kinds)}_command")()

    def topic_command(self) -> None:
        name = f"topic{self.count}"
        self.cluster.replication_control.create(name, 1, 3)
        self.told.topics.add(name)

    def offset_command(self) -> None:
        group = self.rng.choice(GROUPS)
        commit_offsets(self.cluster.groups, group, {("orders", 0): OffsetCommitValue(self.count)}, self.now_ms)
        self.told.offsets[group] = self.count

    def initialise_command(self) -> None:
        transactional_id = self.rng.choice(IDS)
        if transactional_id in self.open:
            return
        found = self.cluster.transactions.initialise(Producer(transactional_id, -1, -1), TIMEOUT_MS)
        self.told.producers[transactional_id] = found

    def produce_command(self) -> None:
        transactional_id = self.rng.choice([None, *self.told.producers])
        topic = self.rng.choice(sorted(self.told.topics) or ["orders"])
        if topic not in self.cluster.topics:
            self.cluster.replication_control.create(topic, 1, 3)
            self.told.topics.add(topic)
        value = str(self.count).encode()
        how: dict[str, Any] = {}
        if transactional_id is not None:
            producer_id, epoch = self.told.producers[transactional_id]
            self.cluster.transactions.add_partitions(
                Producer(transactional_id, producer_id, epoch), [(topic, 0)], client_version=2
            )
            partition = self.cluster.topics[topic].partitions[0]
            known = partition.producers.by_id.get(producer_id)
            sequence = known.batches[-1].last_sequence + 1 if known and known.epoch == epoch and known.batches else 0
            how = {
                "producer_id": producer_id,
                "producer_epoch": epoch,
                "base_sequence": sequence,
                "transactional": True,
            }
            self.open.setdefault(transactional_id, []).append(value)
        data = batch(value, **how)
        append(self.cluster.topics[topic].partitions[0], data, self.now_ms, size=len(data))
        self.told.values.setdefault(topic, []).append(value)

    def end_command(self) -> None:
        if not self.open:
            return
        transactional_id = self.rng.choice(sorted(self.open))
        commit = self.rng.random() < 0.7
        values = self.open.pop(transactional_id)
        found = self.cluster.transactions.end(
            Producer(transactional_id, *self.told.producers[transactional_id]), commit=commit, client_version=2
        )
        self.told.producers[transactional_id] = found
        (self.told.committed if commit else self.told.aborted).update(values)


def check(process: Process) -> None:
    """What was acknowledged is there, and what was under way at most besides."""
    cluster, told = process.cluster, process.told
    cluster.tick(process.now_ms + 2 * TIMEOUT_MS)  # transactions that are open hide what comes behind them
    assert told.topics <= cluster.topics.keys()
    for group, offset in told.offsets.items():
        found = cluster.groups.offsets(group).get(("orders", 0))
        assert found is not None
        assert found.offset >= offset
    for transactional_id, pair in told.producers.items():
        value = cluster.transactions.get(transactional_id)
        assert (value.producer_id, value.producer_epoch) >= pair
        assert value.transaction_status not in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
    for topic, values in told.values.items():
        partition = cluster.topics[topic].partitions[0]
        stored = [one for data in partition.log.batches() for one in iter_records(data.data)]
        read = [one for one in stored if not one.is_control]
        assert [one.value for one in read][: len(values)] == values
        assert len(read) <= len(values) + 1
        producers = partition.producers
        stable = partition.last_stable_offset(partition.high_watermark)
        aborted = {
            one.value
            for one in read
            for other in producers.transactions.aborted
            if one.batch is not None
            and one.batch.producer_id == other.producer_id
            and other.first_offset <= one.offset <= other.last_offset
        }
        visible = {one.value for one in read if one.offset < stable} - aborted
        assert told.committed & set(values) <= visible
        assert not told.aborted & set(values) & visible


@pytest.mark.parametrize("seed", range(2))
def test_what_was_acknowledged_outlives_a_process_that_ends_amid_any_write(seed, tmp_path):
    whole = Process(tmp_path / "whole", 10**9, seed)
    whole.run()
    writes = whole.files.writes
    assert writes > COMMANDS
    for number in Random(seed).sample(range(20, writes), 8):
        process = Process(tmp_path / str(number), number, seed)
        with pytest.raises(Killed):
            process.run()
        process.killed()
        process.cluster = process.start(Files(), seed + 1)
        check(process)
        process.storage.close()
