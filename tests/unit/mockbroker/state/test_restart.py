"""A cluster built from what another left: what it finds again, and what it has forgotten.

That is the image and the logs in memory, or a data directory, of a process that closed it or one that was killed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockbroker.groups.classic.group import ClassicGroupState
from mockbroker.groups.kind import Sender
from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.image import Image
from mockbroker.state.logs.appending import append
from mockbroker.state.logs.store import LogStore
from mockbroker.state.topics.coordinator_keys import TRANSACTIONS_TOPIC
from mockbroker.state.transactions.states import STATE_NAMES, Producer, TransactionState
from protocol.embedded.group_log import OffsetCommitValue
from tests.group_driver import RANGE, WITHOUT_IDS, commit_offsets, heartbeat_request, join_request, sync_request
from tests.internal_topics import end_transaction
from tests.unit.mockbroker.handlers.records import batch

GROUP = "readers"


class Runs:
    """One cluster after another over the same records and logs; ``restart`` ends one and begins the next."""

    is_durable = False

    def __init__(self) -> None:
        self.records: list[Any] = []
        self.log_store = LogStore()
        self.seed = 0
        self.cluster = self.begin(None)

    def begin(self, image: Image | None, brokers: int = 3, now_ms: int = 0) -> Cluster:
        self.seed += 1
        return Cluster.create(
            [Broker(index, "abc"[index]) for index in range(brokers)],
            seed=self.seed,
            image=image,
            log_store=self.log_store,
            record_log=self.records,
            now_ms=now_ms,
        )

    def restart(self, brokers: int = 3, now_ms: int = 0) -> Cluster:
        image = Image()
        for records in self.records:
            for record in records:
                image.apply(record)
        self.cluster = self.begin(image, brokers, now_ms)
        return self.cluster


class DiskRuns(Runs):
    """The same in data directories: a process that is killed leaves its files as they are."""

    is_durable = True

    def __init__(self, folder: Path, *, is_killed: bool) -> None:
        self.folder, self.is_killed = folder, is_killed
        self.storage: Any = None
        super().__init__()

    def begin(self, image: Image | None, brokers: int = 3, now_ms: int = 0) -> Cluster:
        from mockbroker.data_directories.storage import Storage

        self.seed += 1
        path = self.folder / str(self.seed)
        if self.storage is not None:
            if self.is_killed:
                shutil.copytree(self.storage.path, path)
                self.storage.unlock()
            else:
                self.storage.close()
                path = self.storage.path
        self.storage = storage = Storage(path)
        nodes = [Broker(index, "abc"[index]) for index in range(brokers)]
        durable = storage.durable(self.seed)
        cluster = Cluster.create(nodes, seed=self.seed, **{**durable, "now_ms": now_ms})
        storage.summarize(cluster)
        return cluster


OF_DIRECTORIES = [pytest.param(ending, marks=pytest.mark.data_directories) for ending in ("closed", "killed")]


@pytest.fixture(params=["memory", *OF_DIRECTORIES])
def runs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runs]:
    """A cluster of three brokers with the topic orders: two partitions on all brokers, and a setting of its own."""
    runs = Runs() if request.param == "memory" else DiskRuns(tmp_path, is_killed=request.param == "killed")
    runs.cluster.replication_control.create("orders", 2, 3, configs={"min.insync.replicas": "2"})
    yield runs
    if isinstance(runs, DiskRuns):
        runs.storage.close()


def join(cluster: Cluster, instance_id: str | None = None, now_ms: int = 0) -> str:
    """A member joins a group that waits for nobody else, and brings its own assignment."""
    joining = join_request("", instance_id, RANGE, 10_000, 20_000, group_id=GROUP)
    answer = cluster.groups.join(joining, Sender(WITHOUT_IDS, "c", "/h"), now_ms, Random(0)).answer
    assert answer is not None
    assignments = {answer.member_id: b"mine"}
    syncing = sync_request(answer.member_id, answer.generation_id, assignments, instance_id=instance_id, group_id=GROUP)
    cluster.groups.of_members(syncing.group_id).sync(syncing, now_ms)
    return answer.member_id


def test_topics_are_found_again_with_their_ids_settings_and_replicas(runs):
    before = runs.cluster.topics["orders"]
    after = runs.restart().topics["orders"]
    assert (after.id, after.config("min.insync.replicas")) == (before.id, 2)
    assert [one.replicas for one in after.partitions] == [one.replicas for one in before.partitions]
    assert runs.cluster.find_topic(None, before.id) is after


def test_a_diskless_topic_stays_diskless_whatever_the_default_has_become(runs):
    runs.cluster.replication_control.create("events", 1, configs={"diskless.enable": "true"})
    assert runs.restart().topics["events"].diskless
    assert not runs.cluster.topics["orders"].diskless


def test_leader_epochs_go_on(runs):
    for broker_id in (1, 2):
        runs.cluster.cluster_control.stop(broker_id, 0)
        runs.cluster.cluster_control.start(broker_id, 0)
    before = [one.leader_epoch for one in runs.cluster.topics["orders"].partitions]
    after = [one.leader_epoch for one in runs.restart().topics["orders"].partitions]
    assert max(before) > 0
    assert after == [epoch + 2 * runs.is_durable for epoch in before]  # as in Kafka where all processes have ended


def test_a_broker_that_does_not_come_back_leads_nothing(runs):
    cluster = runs.restart(brokers=2)
    assert cluster.image.brokers[2].fenced
    assert all(one.leader in (0, 1) and set(one.isr) == {0, 1} for one in cluster.topics["orders"].partitions)


def test_each_start_of_a_broker_has_an_epoch_of_its_own(runs):
    before = runs.cluster.brokers[0].epoch
    assert runs.restart().brokers[0].epoch > before


def test_records_and_the_sequences_of_their_producers_are_found_again(runs):
    producer_id = runs.cluster.producers.new_id()
    sent = batch(b"one", producer_id=producer_id, producer_epoch=0, base_sequence=0)
    append(runs.cluster.topics["orders"].partitions[0], sent, 0, size=len(sent))
    partition = runs.restart().topics["orders"].partitions[0]
    again = append(partition, sent, 0, size=len(sent))
    assert (again.base_offset, partition.log.end_offset) == (0, 1)


def test_a_deleted_topics_records_do_not_come_back_with_a_new_topic_of_its_name(runs):
    append(runs.cluster.topics["orders"].partitions[0], batch(b"one"), 0, size=len(batch(b"one")))
    runs.cluster.replication_control.delete(runs.cluster.topics["orders"])
    runs.restart().replication_control.create("orders", 1, 1)
    assert runs.cluster.topics["orders"].partitions[0].log.end_offset == 0


def test_no_producer_id_is_given_out_twice(runs):
    before = {runs.cluster.producers.new_id(broker) for broker in (0, 1, 0, 1)}
    assert runs.restart().producers.new_id() not in before
    assert len(before) == 4


def initialise(cluster: Cluster) -> tuple[int, int]:
    return cluster.transactions.initialise(Producer("billing", -1, -1), 1000)


def test_a_transactional_id_keeps_its_producer_id_and_its_epoch_goes_on(runs):
    producer_id, epoch = initialise(runs.cluster)
    assert initialise(runs.restart()) == (producer_id, epoch + 1)


def test_a_transaction_that_was_open_is_open_and_aborted_once_its_time_is_up(runs):
    producer_id, epoch = initialise(runs.cluster)
    partition = runs.cluster.topics["orders"].partitions[0]
    runs.cluster.transactions.add_partitions(Producer("billing", producer_id, epoch), [("orders", 0)])
    sent = batch(b"one", producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
    append(partition, sent, 0, size=len(sent))
    cluster = runs.restart()
    partition = cluster.topics["orders"].partitions[0]
    assert partition.last_stable_offset(partition.high_watermark) == 0
    cluster.tick(10_000)  # transaction.abort.timed.out.transaction.cleanup.interval.ms
    assert partition.last_stable_offset(partition.high_watermark) == partition.log.end_offset == 2
    assert [one[:3] for one in partition.producers.transactions.aborted] == [(producer_id, 0, 1)]


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_whose_end_was_decided_gets_the_markers_that_are_missing(runs, commit):
    """A real Kafka 4.4 that was killed had none: the record was committed with the producer's next transaction."""
    cluster = runs.cluster
    producer_id, epoch = initialise(cluster)
    coordinator = cluster.internal_topics.coordinator("billing", TRANSACTIONS_TOPIC)
    index = next(one.index for one in cluster.topics["orders"].partitions if one.leader != coordinator.id)
    partition = cluster.topics["orders"].partitions[index]
    cluster.transactions.add_partitions(Producer("billing", producer_id, epoch), [("orders", index)])
    sent = batch(b"one", producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
    append(partition, sent, 0, size=len(sent))
    cluster.cluster_control.isolate(partition.leader, 0)
    cluster.transactions.end(Producer("billing", producer_id, epoch), commit=commit)
    assert (status(cluster), partition.log.end_offset) == ("PrepareCommit" if commit else "PrepareAbort", 1)
    cluster = runs.restart()
    cluster.tick(1000)
    partition = cluster.topics["orders"].partitions[index]
    assert (status(cluster), partition.log.end_offset) == ("CompleteCommit" if commit else "CompleteAbort", 2)
    assert bool(partition.producers.transactions.aborted) != commit
    assert not partition.producers.transactions.open


def status(cluster: Cluster) -> str:
    return STATE_NAMES[TransactionState(cluster.transactions.get("billing").transaction_status)]


def test_members_of_a_stable_group_go_on_in_their_generation(runs):
    member_id = join(runs.cluster)
    group = runs.restart(now_ms=50_000).groups.get(GROUP)
    assert (group.state, group.generation, group.leader_id) == (ClassicGroupState.STABLE, 1, member_id)
    runs.cluster.groups.of_members(GROUP).heartbeat(heartbeat_request(member_id, 1, group_id=GROUP), 50_000)
    answer = runs.cluster.groups.of_members(GROUP).sync(sync_request(member_id, 1, group_id=GROUP), 50_000).answer
    assert answer is not None
    assert answer.assignment == b"mine"


def test_a_member_that_stays_silent_after_a_restart_has_a_whole_session_and_no_more(runs):
    join(runs.cluster)
    cluster = runs.restart(now_ms=50_000)
    groups = cluster.groups
    cluster.timers.advance(59_999)
    assert groups.get(GROUP).members
    cluster.timers.advance(60_000)
    assert not groups.get(GROUP).members


def test_a_static_member_takes_its_old_place_after_a_restart(runs):
    join(runs.cluster, "i1")
    member_id = join(runs.restart(), "i1")
    group = runs.cluster.groups.get(GROUP)
    assert (list(group.members), group.generation) == ([member_id], 1)
    assert group.static_member("i1").id == member_id
    assert list(runs.restart().groups.get(GROUP).members) == [member_id]


def test_a_group_that_waits_for_its_members_goes_back_to_its_last_stable_generation(runs):
    member_id = join(runs.cluster)
    joining = join_request("", None, RANGE, 10_000, 20_000, group_id=GROUP)
    runs.cluster.groups.join(joining, Sender(WITHOUT_IDS, "d", "/h"), 0, Random(1))
    assert runs.cluster.groups.get(GROUP).state is ClassicGroupState.PREPARING
    group = runs.restart().groups.get(GROUP)
    assert (group.state, group.generation, list(group.members)) == (ClassicGroupState.STABLE, 1, [member_id])


def test_offsets_are_found_again_and_with_them_groups_that_have_nothing_else(runs):
    commit_offsets(runs.cluster.groups, GROUP, {("orders", 0): OffsetCommitValue(5, 1, "note")}, 0)
    groups = runs.restart().groups
    assert groups.offsets(GROUP).get(("orders", 0)) == OffsetCommitValue(5, 1, "note")
    assert groups.get(GROUP).state is ClassicGroupState.EMPTY


def test_offsets_of_a_transaction_that_is_open_at_a_restart_count_once_it_is_committed(runs):
    commit_offsets(runs.cluster.groups, GROUP, {("orders", 0): OffsetCommitValue(5)}, 0, producer=(7, 0))
    groups = runs.restart().groups
    assert groups.offsets(GROUP).is_unstable(("orders", 0))
    end_transaction(runs.cluster, 7, committed=True)
    assert groups.offsets(GROUP).get(("orders", 0)) == OffsetCommitValue(5)


def test_a_deleted_group_stays_deleted(runs):
    commit_offsets(runs.cluster.groups, GROUP, {("orders", 0): OffsetCommitValue(5)}, 0)
    runs.cluster.groups.delete(GROUP)
    assert runs.restart().groups.select() == []


def test_a_dry_run_leaves_no_trace(runs):
    before = list(runs.records), runs.cluster.image.copy()
    topic = runs.cluster.replication_control.create("events", 4, 2, configs={"retention.ms": "5"}, validate_only=True)
    assert (len(topic.partitions), topic.replication_factor) == (4, 2)
    assert (runs.records, runs.cluster.image) == before
