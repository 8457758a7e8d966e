"""The metadata log on disk: what is appended is found again, whole commits at a time, however it ended."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockbroker.adapters.storage.files import Files, StorageError
from mockbroker.adapters.storage.metadata_log import (
    DIRECTORY,
    FoundMetadata,
    MetadataLog,
    MetadataLogError,
    MetadataRules,
)
from mockbroker.adapters.storage.metadata_snapshots import SnapshotId, read_snapshot, snapshots_in
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.image.image import Image
from mockbroker.state.image.metadata_records import MetadataReplay, metadata_records, records_in
from mockbroker.state.image.writer import ImageWriter
from protocol.embedded.group_log import GroupMetadataKey
from protocol.embedded.metadata_settings import ConfigRecord, FeatureLevelRecord, ProducerIdsRecord
from protocol.embedded.metadata_topics import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from protocol.records import ControlType, control_type, iter_batches, iter_records
from tests.storage.data_directories import KINDS, unpack

LOG = "00000000000000000000.log"
SMALL = MetadataRules(snapshot_bytes=1000, retention_bytes=3000)


def opened(controller: Path, **how: Any) -> tuple[MetadataLog, FoundMetadata]:
    how.setdefault("now_ms", lambda: 1_700_000_000_000)
    how.setdefault("run", at_once)
    return MetadataLog.open(controller, 0, **how)


def at_once(work: Any) -> None:
    work()


def feature(name: str, level: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=level)


class Topics:
    """Commits at random, some of several records; ``images`` has the image after each, ``sizes`` the log's."""

    def __init__(self, log: MetadataLog, path: Path, seed: int, image: Image | None = None) -> None:
        self.writer = ImageWriter(Image() if image is None else image, log)
        log.watch(self.writer.image)
        self.path, self.rng = path, Random(seed)
        self.images = [self.writer.image.copy()]
        self.sizes = [path.stat().st_size]

    def commit(self, count: int) -> None:
        for _ in range(count):
            self.writer.commit(self.records())
            self.images.append(self.writer.image.copy())
            self.sizes.append(self.path.stat().st_size if self.path.exists() else 0)

    def records(self) -> list[Any]:
        topics = list(self.writer.image.topics.values())
        kind = self.rng.choice(("create", "create", "change", "remove", "configure", "ids")) if topics else "create"
        if kind == "create":
            topic_id = self.rng.randbytes(16)
            partitions = [
                PartitionRecord(
                    partition_id=index, topic_id=topic_id, replicas=[0, 1], isr=[0], leader=0, leader_epoch=0
                )
                for index in range(self.rng.randint(1, 3))
            ]
            return [TopicRecord(name=topic_id.hex(), topic_id=topic_id), *partitions]
        topic = self.rng.choice(topics)
        if kind == "remove":
            return [RemoveTopicRecord(topic_id=topic.id)]
        if kind == "configure":
            value = self.rng.choice((None, "1", "2"))
            return [ConfigRecord(resource_type=2, resource_name=topic.name, name="retention.ms", value=value)]
        if kind == "ids":
            return [ProducerIdsRecord(broker_id=0, next_producer_id=self.writer.image.next_producer_id + 1000)]
        return [
            PartitionChangeRecord(partition_id=index, topic_id=topic.id, isr=[1], leader=1)
            for index in range(len(topic.partitions))
        ]


def test_a_new_log_has_no_image_and_a_reopened_one_has_that_of_its_commits(tmp_path):
    log, found = opened(tmp_path)
    assert found.image is None
    topics = Topics(log, tmp_path / DIRECTORY / LOG, seed=0)
    topics.commit(30)
    log.close()
    _, found = opened(tmp_path)
    assert found.image == topics.writer.image
    assert found.end_offset == log.end_offset


def test_each_life_leads_in_an_epoch_of_its_own_and_says_so_first(tmp_path):
    for _ in range(3):
        log, _ = opened(tmp_path)
        log.append([feature("group.version", 1)])
        log.close()
    batches = list(iter_batches((tmp_path / DIRECTORY / LOG).read_bytes()))
    assert [(one.base_offset, one.partition_leader_epoch, one.is_control) for one in batches] == [
        (0, 1, True),
        (1, 1, False),
        (2, 2, True),
        (3, 2, False),
        (4, 3, True),
        (5, 3, False),
    ]
    kinds = [control_type(one) for one in iter_records((tmp_path / DIRECTORY / LOG).read_bytes()) if one.is_control]
    assert set(kinds) == {ControlType.LEADER_CHANGE}
    assert (tmp_path / DIRECTORY / "leader-epoch-checkpoint").read_text() == "0\n3\n1 0\n2 2\n3 4\n"


@pytest.mark.parametrize("kind", KINDS)
def test_quorum_state_is_what_kafka_writes(kind, tmp_path):
    opened(tmp_path)[0].close()
    kafkas = unpack(kind, tmp_path) / "one" / DIRECTORY / "quorum-state"
    assert (tmp_path / DIRECTORY / "quorum-state").read_text() == kafkas.read_text()


def test_what_coordinators_keep_is_not_written(tmp_path):
    log, _ = opened(tmp_path)
    before = log.end_offset
    log.append([CoordinatorRecord(GroupMetadataKey(group="readers"), None)])
    assert log.end_offset == before
    log.append([CoordinatorRecord(GroupMetadataKey(group="readers"), None), feature("group.version", 1)])
    assert log.end_offset == before + 1


@pytest.mark.parametrize("seed", range(3))
def test_a_log_that_ends_anywhere_has_the_commits_that_are_whole(seed, tmp_path):
    log, _ = opened(tmp_path / "whole")
    topics = Topics(log, tmp_path / "whole" / DIRECTORY / LOG, seed)
    topics.commit(12)
    log.close()
    rng = Random(seed)
    ends = {one + shift for one in topics.sizes for shift in (-1, 0, 1)} | {
        rng.randrange(topics.sizes[-1]) for _ in "1234567890"
    }
    for end in sorted(end for end in ends if topics.sizes[0] <= end <= topics.sizes[-1]):
        torn = tmp_path / str(end)
        shutil.copytree(tmp_path / "whole", torn)
        with (torn / DIRECTORY / LOG).open("r+b") as file:
            file.truncate(end)
        _, found = opened(torn)
        whole = max(place for place, size in enumerate(topics.sizes) if size <= end)
        assert found.image == topics.images[whole], end
        assert bool(found.repairs) == (end not in topics.sizes)
        shutil.rmtree(torn)


def test_a_flipped_bit_in_the_last_commit_ends_the_log_before_it(tmp_path):
    log, _ = opened(tmp_path)
    topics = Topics(log, tmp_path / DIRECTORY / LOG, seed=1)
    topics.commit(5)
    log.close()
    data = bytearray((tmp_path / DIRECTORY / LOG).read_bytes())
    data[topics.sizes[-2] + 40] ^= 4
    (tmp_path / DIRECTORY / LOG).write_bytes(data)
    log, found = opened(tmp_path)
    assert found.image == topics.images[-2]
    assert found.repairs
    topics = Topics(log, tmp_path / DIRECTORY / LOG, 2, found.image)
    topics.commit(3)
    log.close()
    assert opened(tmp_path)[1].image == topics.writer.image


def test_snapshots_keep_the_log_small_and_are_what_a_restart_begins_with(tmp_path):
    log, _ = opened(tmp_path, rules=SMALL)
    topics = Topics(log, tmp_path / DIRECTORY / LOG, seed=3)
    topics.commit(150)
    directory = tmp_path / DIRECTORY
    assert not (directory / LOG).exists()
    assert sum(one.stat().st_size for one in directory.iterdir()) < 40_000
    log.close()
    _, found = opened(tmp_path, rules=SMALL)
    assert found.image == topics.writer.image
    assert found.records < 150


def test_a_snapshot_has_a_header_the_records_and_a_footer_and_begins_at_offset_0(tmp_path):
    log, _ = opened(tmp_path, rules=SMALL)
    topics = Topics(log, tmp_path / DIRECTORY / LOG, seed=3)
    topics.commit(40)
    log.close()
    snapshot = snapshots_in(tmp_path / DIRECTORY)[-1]
    data = (tmp_path / DIRECTORY / snapshot.name).read_bytes()
    records = list(iter_records(data))
    assert [one.offset for one in records] == list(range(len(records)))
    kinds = [control_type(one) for one in records if one.is_control]
    assert kinds == [ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER]
    replay = MetadataReplay()
    for record in read_snapshot(data):
        replay.take(record)
    assert replay.image in topics.images


def test_the_interval_asks_for_a_snapshot_too(tmp_path):
    times = iter(range(0, 10**9, 1000))
    log, _ = opened(tmp_path, rules=MetadataRules(snapshot_ms=10_000), now_ms=lambda: next(times))
    Topics(log, tmp_path / DIRECTORY / LOG, seed=3).commit(20)
    assert snapshots_in(tmp_path / DIRECTORY)


def test_a_damaged_snapshot_is_passed_over_for_the_one_before(tmp_path):
    rules = MetadataRules(snapshot_bytes=1000)
    log, _ = opened(tmp_path, rules=rules)
    topics = Topics(log, tmp_path / DIRECTORY / LOG, seed=3)
    topics.commit(60)
    log.close()
    *_, last = snapshots_in(tmp_path / DIRECTORY)
    path = tmp_path / DIRECTORY / last.name
    path.write_bytes(path.read_bytes()[:-30])
    _, found = opened(tmp_path)
    assert found.image == topics.writer.image
    assert [last.name in one for one in found.repairs] == [True]


def test_a_log_that_goes_on_behind_what_is_missing_is_refused(tmp_path):
    log, _ = opened(tmp_path, rules=SMALL)
    Topics(log, tmp_path / DIRECTORY / LOG, seed=3).commit(150)
    log.close()
    for snapshot in snapshots_in(tmp_path / DIRECTORY):
        (tmp_path / DIRECTORY / snapshot.name).unlink()
    with pytest.raises(MetadataLogError, match="is missing or damaged"):
        opened(tmp_path)


def test_a_log_that_is_lost_behind_a_snapshot_begins_anew_there(tmp_path):
    log, _ = opened(tmp_path, rules=SMALL)
    Topics(log, tmp_path / DIRECTORY / LOG, seed=3).commit(150)
    log.close()
    snapshot = snapshots_in(tmp_path / DIRECTORY)[-1]
    for path in (tmp_path / DIRECTORY).glob("*.log"):
        path.unlink()
    log, found = opened(tmp_path)
    assert log.end_offset == snapshot.offset + 1
    assert found.image is not None
    log.close()
    assert opened(tmp_path)[1].image == found.image


class FullDisk(Files):
    room = 10**9

    def write(self, descriptor: int, data: bytes, position: int) -> int:
        if len(data) > self.room:
            if self.room:
                super().write(descriptor, data[: self.room], position)
            raise OSError(28, "No space left on device")
        return super().write(descriptor, data, position)


def test_a_full_disk_refuses_a_commit_whole_and_takes_the_next_once_there_is_room(tmp_path):
    files = FullDisk()
    log, _ = opened(tmp_path, files=files)
    topics = Topics(log, tmp_path / DIRECTORY / LOG, seed=5)
    topics.commit(3)
    files.room = 30
    with pytest.raises(StorageError):
        topics.commit(1)
    assert topics.writer.image == topics.images[-1]
    files.room = 10**9
    topics.commit(2)
    log.close()
    assert opened(tmp_path)[1].image == topics.writer.image


@pytest.mark.parametrize("kind", KINDS)
def test_a_kafkas_log_gives_the_same_image_with_its_snapshot_and_without(kind, tmp_path):
    directory = unpack(kind, tmp_path) / "one" / DIRECTORY
    whole = MetadataReplay()
    data = (directory / LOG).read_bytes()
    for header in iter_batches(data):
        for record in records_in(data[header.position : header.position + header.size]):
            whole.take(record)
    controller = tmp_path / "controller"
    shutil.copytree(directory, controller / DIRECTORY)
    assert snapshots_in(controller / DIRECTORY)[-1] == SnapshotId(58, 1)
    _, found = opened(controller)
    assert found.image == whole.image
    assert "orders" in {topic.name for topic in whole.image.topics.values()}
    again = MetadataReplay()
    for record in metadata_records(whole.image):
        again.take(record)
    assert again.image == whole.image
