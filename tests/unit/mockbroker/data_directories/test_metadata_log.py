"""The metadata log on disk: what is appended is found again, whole commits at a time, however it ended."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mockbroker.data_directories import metadata_log
from mockbroker.data_directories.directory import METADATA, DataDirectory
from mockbroker.data_directories.files import Files, StorageError
from mockbroker.data_directories.log_file import DamagedLogError
from mockbroker.data_directories.metadata_log import MetadataLog
from mockbroker.state.image import Image, ImageWriter
from protocol.embedded.metadata_settings import ConfigRecord, FeatureLevelRecord, ProducerIdsRecord
from protocol.embedded.metadata_topics import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from protocol.records import iter_batches

LOG = Path(METADATA) / f"{0:020d}.log"
NOW_MS = 1_700_000_000_000


def opened(path: Path, files: Files | None = None) -> MetadataLog:
    """The metadata log of a data directory that has no owner."""
    data = DataDirectory(path, files=files)
    try:
        return MetadataLog(data, lambda: NOW_MS)
    finally:
        data.unlock()


def feature(name: str, level: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name=name, feature_level=level)


class Topics:
    """Commits at random, some of several records; ``images`` has the image after each, ``sizes`` the log's."""

    def __init__(self, log: MetadataLog, path: Path, seed: int, image: Image | None = None) -> None:
        self.writer = ImageWriter(Image() if image is None else image, log)
        self.path, self.rng = path, Random(seed)
        self.images = [self.writer.image.copy()]
        self.sizes = [path.stat().st_size if path.exists() else 0]

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
    log = opened(tmp_path)
    assert log.image is None
    topics = Topics(log, tmp_path / LOG, seed=0)
    topics.commit(30)
    again = opened(tmp_path)
    assert again.image == topics.writer.image
    assert again.end_offset == log.end_offset


def test_each_life_leads_in_an_epoch_of_its_own_and_a_commit_is_one_batch(tmp_path):
    for level in range(1, 4):
        opened(tmp_path).append([feature("group.version", level), feature("share.version", level)])
    batches = list(iter_batches((tmp_path / LOG).read_bytes()))
    assert [(one.base_offset, one.last_offset, one.partition_leader_epoch) for one in batches] == [
        (0, 1, 1),
        (2, 3, 2),
        (4, 5, 3),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_a_log_that_ends_anywhere_has_the_commits_that_are_whole(seed, tmp_path):
    topics = Topics(opened(tmp_path / "whole"), tmp_path / "whole" / LOG, seed)
    topics.commit(12)
    rng = Random(seed)
    ends = {one + shift for one in topics.sizes for shift in (-1, 0, 1)} | {
        rng.randrange(topics.sizes[-1]) for _ in "1234567890"
    }
    for end in sorted(end for end in ends if topics.sizes[1] <= end <= topics.sizes[-1]):
        torn = tmp_path / str(end)
        shutil.copytree(tmp_path / "whole", torn)
        with (torn / LOG).open("r+b") as file:
            file.truncate(end)
        whole = max(place for place, size in enumerate(topics.sizes) if size <= end)
        assert opened(torn).image == topics.images[whole], end
        assert (torn / LOG).stat().st_size == topics.sizes[whole]
        shutil.rmtree(torn)


def test_a_flipped_bit_in_the_last_commit_ends_the_log_before_it(tmp_path):
    topics = Topics(opened(tmp_path), tmp_path / LOG, seed=1)
    topics.commit(5)
    flip(tmp_path / LOG, topics.sizes[-2] + 40)
    log = opened(tmp_path)
    assert log.image == topics.images[-2]
    topics = Topics(log, tmp_path / LOG, 2, log.image)
    topics.commit(3)
    assert opened(tmp_path).image == topics.writer.image


@pytest.mark.parametrize("byte", [0, 7, 8, 11, 16, 20, 40, 60])
def test_a_flipped_bit_in_an_earlier_commit_is_refused_with_file_and_byte(tmp_path, byte):
    topics = Topics(opened(tmp_path), tmp_path / LOG, seed=1)
    topics.commit(5)
    flip(tmp_path / LOG, topics.sizes[2] + byte)
    before = (tmp_path / LOG).read_bytes()
    with pytest.raises(DamagedLogError, match=f"{tmp_path / LOG}, byte {topics.sizes[3 if byte < 8 else 2]}: "):
        opened(tmp_path)
    assert (tmp_path / LOG).read_bytes() == before


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 4
    path.write_bytes(data)


def test_a_log_of_many_spare_records_is_written_again_by_the_next_opening(tmp_path, monkeypatch):
    monkeypatch.setattr(metadata_log, "SPARE_RECORDS", 10)
    log = opened(tmp_path)
    topics = Topics(log, tmp_path / LOG, seed=3)
    topics.commit(150)
    size = (tmp_path / LOG).stat().st_size
    again = opened(tmp_path)
    assert again.image == topics.writer.image
    (path,) = (tmp_path / METADATA).iterdir()
    assert path.name == f"{log.end_offset:020d}.log"
    assert path.stat().st_size < size / 2
    topics = Topics(again, path, 4, again.image)
    topics.commit(5)
    last = opened(tmp_path)
    assert last.image == topics.writer.image
    assert last.count < 150


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
    topics = Topics(opened(tmp_path, files), tmp_path / LOG, seed=5)
    topics.commit(3)
    files.room = 30
    with pytest.raises(StorageError):
        topics.commit(1)
    assert topics.writer.image == topics.images[-1]
    files.room = 10**9
    topics.commit(2)
    assert opened(tmp_path).image == topics.writer.image
