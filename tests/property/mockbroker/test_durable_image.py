"""Whatever is done to a durable cluster, its restart finds all of it in bytes: the batches of the metadata log, and the
logs of the coordinators' topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from mockbroker.state.brokers.broker import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.coordinator_log import load_shard, value_bytes, value_versions
from mockbroker.state.coordinator_shard import CoordinatorShard
from mockbroker.state.errors import ApiError
from mockbroker.state.image import Image
from mockbroker.state.logs.appending import append_marker
from mockbroker.state.logs.producers import Marker
from mockbroker.state.quotas.client_quotas import quota_records
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC
from protocol.embedded.metadata_acls import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from protocol.embedded.metadata_frame import read_frame, write_frame
from protocol.embedded.metadata_security import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from protocol.embedded.versioned import read_versioned
from protocol.records import Record, build_batch, iter_records
from tests.property.mockbroker.test_image import RACKS, ImageLife

users = st.sampled_from(["ann", None])
SETTINGS = {"offsets.topic.num.partitions": 2, "transaction.state.log.num.partitions": 2}


def commit_batch(records: Iterable[Any], base_offset: int, leader_epoch: int, *, timestamp_ms: int) -> bytes:
    """A commit as one batch of a metadata log."""
    framed = [Record(timestamp=timestamp_ms, value=write_frame(record)) for record in records]
    return build_batch(framed, base_offset=base_offset, leader_epoch=leader_epoch)


def image_of(batches: Iterable[bytes]) -> Image:
    """The image that the batches of a metadata log give."""
    image = Image()
    for batch in batches:
        for one in iter_records(batch):
            image.apply(read_frame(one.value or b""))
    return image


class DurableImageLife(ImageLife):
    """The same life, kept as bytes."""

    def begin_life(self, image: Image | None) -> Cluster:
        if image is None:
            self.batches: list[bytes] = []
            self.end_offset = 0
            self.copies: list[tuple[Image, Image]] = []
        self.lives += 1
        self.rng = Random(self.lives)
        return Cluster.create(
            [Broker(index, RACKS[index % 3]) for index in range(4)],
            settings=SETTINGS,
            seed=self.lives,
            image=image,
            log_store=self.log_store,
            record_log=self,
            now_ms=self.now_ms,
            is_durable=True,
        )

    def append(self, records: Sequence[object], /) -> None:
        """As a record log: one batch a commit."""
        self.batches.append(commit_batch(records, self.end_offset, self.lives, timestamp_ms=self.now_ms))
        self.end_offset += len(records)

    def kept_image(self) -> Image:
        return image_of(self.batches)

    # Each marker is written into the partitions that it ends a transaction in, as coordinators do.
    @rule(**ImageLife.end_transaction.hypothesis_stateful_rule.arguments_strategies)  # type: ignore[attr-defined]
    def end_transaction(self, index: int, committed: bool) -> None:
        topic = self.cluster.topics.get(OFFSETS_TOPIC)
        if not self.has_coordinators():
            return
        for partition in topic.partitions if topic is not None else ():
            producer = partition.producers.by_id.get(1000 + index)
            if producer is None or 1000 + index not in partition.producers.transactions.open:
                continue
            with suppress(ApiError):
                marker = Marker(committed, 1000 + index, producer.epoch, coordinator_epoch=0)
                append_marker(partition, marker, self.now_ms, transaction_version=1)
                self.cluster.internal_topics.end_transaction(partition, marker)

    @rule(user=users, limit=st.sampled_from([None, 1.0, 2.0]))
    def set_quota(self, user: str | None, limit: float | None) -> None:
        limits = [("producer_byte_rate", limit)]
        self.cluster.writer.commit(quota_records(self.cluster.image, {"user": user}, limits))

    @rule(user=st.sampled_from(["ann", "bob"]), iterations=st.sampled_from([None, 4096, 8192]))
    def set_credential(self, user: str, iterations: int | None) -> None:
        self.cluster.writer.commit(
            [
                RemoveUserScramCredentialRecord(name=user, mechanism=1)
                if iterations is None
                else UserScramCredentialRecord(name=user, mechanism=1, iterations=iterations)
            ]
        )

    @rule(number=st.integers(0, 1), is_added=st.booleans())
    def set_acl(self, number: int, is_added: bool) -> None:
        id_ = bytes([*bytes(15), number])
        added = AccessControlEntryRecord(id=id_, resource_type=2, resource_name="orders", principal="User:ann")
        self.cluster.writer.commit([added if is_added else RemoveAccessControlEntryRecord(id=id_)])

    @rule()
    def copy(self) -> None:
        self.copies.append((self.cluster.image.copy(), deepcopy(self.cluster.image)))

    @rule()
    def restart(self) -> None:
        self.check()
        super().restart()

    def teardown(self) -> None:
        self.check()

    def check(self) -> None:
        """Bytes give the image again, a snapshot of it has all its metadata, and copies change by themselves."""
        image = self.cluster.image
        replayed = self.kept_image()  # the metadata of all that was ever written
        snapshot = commit_batch(image.metadata_records(), 0, 1, timestamp_ms=0)
        assert image_of([snapshot]) == replayed
        for copy, as_it_was in self.copies:
            assert copy == as_it_was
        self.copies.clear()
        if self.has_coordinators():
            versions = value_versions(self.cluster)
            for partition in self.cluster.partitions():
                if partition.topic.is_internal:
                    found = load_shard(partition.topic.name, partition.log.batches(partition.log.start_offset))
                    shard = self.log_store.shards.get((partition.topic.id, partition.index), CoordinatorShard())
                    assert in_logs_form(found, {}) == in_logs_form(shard, versions)

    @invariant()
    def replaying_the_records_gives_the_image_again(self) -> None:
        """That is asked where a life ends: each time it reads all logs."""

    def has_coordinators(self) -> bool:
        """Whether all of them have a leader, and what they kept is in its log."""
        return all(one.leader >= 0 for one in self.cluster.partitions() if one.topic.is_internal)


def in_logs_form(shard: CoordinatorShard, versions: dict[str, int]) -> list[Any]:
    """The records of a shard, pending ones last, with what the versions of their values have room for."""

    def read_back(value: Any) -> Any:
        return read_versioned(type(value), value_bytes(value, versions)) if versions else value

    values = ((record.producer_id, record.key, read_back(record.value)) for record in shard.in_order())
    return [*sorted(values, key=repr), sorted(shard.pending)]


TestDurableImageLife = DurableImageLife.TestCase
TestDurableImageLife.settings = settings(stateful_step_count=25)  # a restart reads all logs
