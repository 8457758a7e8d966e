"""What coordinators kept is read from the logs of their topics, by Kafka's rules."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from mockbroker.state.coordinator_log import load_partition, log_record
from mockbroker.state.groups.offsets import Committed, commits, deletions
from mockbroker.state.image.image import Image
from mockbroker.state.logs.log import StoredBatch
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.transactions.states import new_value, record
from protocol import DecodeError
from protocol.records import Record, build_batch, build_transaction_marker, iter_batches

VERSIONS = {"OffsetCommitValue": 4, "TransactionLogValue": 1}
PLACE = ("orders", 0)


class LogBytes:
    """Batches of one partition, one after the other."""

    def __init__(self) -> None:
        self.batches: list[StoredBatch] = []
        self.end_offset = 0

    def add(self, data: bytes) -> LogBytes:
        (header,) = iter_batches(data)
        self.batches.append(StoredBatch(self.end_offset, header.last_offset, 0, 0, data))
        self.end_offset = header.last_offset + 1
        return self

    def put(self, records: list[Any], producer_id: int = -1) -> LogBytes:
        data = build_batch(
            [log_record(one, 0, VERSIONS) for one in records],
            base_offset=self.end_offset,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            transactional=producer_id >= 0,
        )
        return self.add(data)

    def commit(self, group: str, offset: int, producer_id: int = -1) -> LogBytes:
        return self.put(list(commits(group, {PLACE: Committed(offset)}, 0)), producer_id)

    def end(self, producer_id: int, *, commit: bool) -> LogBytes:
        return self.add(
            build_transaction_marker(
                commit=commit,
                producer_id=producer_id,
                producer_epoch=0,
                coordinator_epoch=0,
                base_offset=self.end_offset,
            )
        )

    def load(self, topic: str = OFFSETS_TOPIC, image: Image | None = None) -> Image:
        image = Image() if image is None else image
        load_partition(image, topic, self.batches)
        return image


def offsets(image: Image) -> dict[str, int]:
    return {group: some[PLACE].offset for group, some in image.offsets.items()}


def pending(image: Image) -> dict[int, dict[str, int]]:
    return {
        producer_id: {group: some[PLACE].offset for group, some in by_group.items()}
        for producer_id, by_group in image.pending_offsets.items()
    }


def test_the_last_offset_counts_and_a_tombstone_ends_it():
    log = LogBytes().commit("readers", 1).commit("readers", 2).commit("others", 3)
    assert offsets(log.load()) == {"readers": 2, "others": 3}
    log.put(deletions("readers", [PLACE]))
    assert offsets(log.load()) == {"others": 3}


def test_offsets_of_a_transaction_are_pending_until_its_marker():
    log = LogBytes().commit("readers", 1).commit("readers", 5, producer_id=7)
    assert (offsets(log.load()), pending(log.load())) == ({"readers": 1}, {7: {"readers": 5}})
    log.end(7, commit=True)
    assert (offsets(log.load()), pending(log.load())) == ({"readers": 5}, {})


def test_an_aborted_transaction_leaves_the_offset_there_was():
    log = LogBytes().commit("readers", 1).commit("readers", 5, producer_id=7).end(7, commit=False)
    assert (offsets(log.load()), pending(log.load())) == ({"readers": 1}, {})


def test_a_commit_that_came_later_than_the_pending_one_counts_after_the_marker_too():
    log = LogBytes().commit("readers", 5, producer_id=7).commit("readers", 9).end(7, commit=True)
    assert offsets(log.load()) == {"readers": 9}


def test_a_marker_ends_what_is_pending_in_its_own_partition_alone():
    image = LogBytes().commit("readers", 5, producer_id=7).end(7, commit=True).load()
    LogBytes().commit("others", 6, producer_id=7).load(image=image)
    assert (offsets(image), pending(image)) == ({"readers": 5}, {7: {"others": 6}})
    LogBytes().commit("third", 8, producer_id=7).load(image=image)
    assert pending(image) == {7: {"others": 6, "third": 8}}


def test_the_order_of_commits_holds_when_another_partition_is_loaded_in_between():
    image = LogBytes().commit("readers", 5, producer_id=7).commit("readers", 9).load()
    LogBytes().commit("others", 6, producer_id=7).end(7, commit=True).load(image=image)
    assert pending(image) == {7: {"readers": 5}}
    numbers = image.commit_numbers
    assert numbers.committed["readers", PLACE] > numbers.pending[7, "readers", PLACE]


def test_a_record_of_an_unknown_type_is_passed_over():
    unknown = build_batch([Record(key=b"\x00\x63key", value=b"\x00\x00value")])
    assert LogBytes().add(unknown).commit("readers", 1).load().offsets.keys() == {"readers"}


def test_a_record_of_a_known_type_that_cannot_be_read_is_told():
    torn = build_batch([Record(key=b"\x00\x01\x00\x09readers", value=None)])
    with pytest.raises(DecodeError):
        LogBytes().add(torn).load()


def test_an_offset_in_the_form_of_0_8_is_read():
    key = b"\x00\x00" + b"\x00\x07readers" + b"\x00\x06orders" + bytes(4)
    value = b"\x00\x00" + (5).to_bytes(8) + b"\x00\x00" + bytes(8)
    assert offsets(LogBytes().add(build_batch([Record(key=key, value=value)])).load()) == {"readers": 5}


def test_transactional_ids_are_found_by_their_last_value_and_gone_with_a_tombstone():
    log = LogBytes()
    for timeout_ms in (1, 2):
        log.put([record("billing", new_value(7, timeout_ms, 0))])
    assert log.load(TRANSACTIONS_TOPIC).transactions["billing"].transaction_timeout_ms == 2
    log.put([record("billing", None)])
    assert log.load(TRANSACTIONS_TOPIC).transactions == {}


def test_the_first_version_of_a_transactional_id_keeps_what_it_has_fields_for():
    value = structs.replace(new_value(7, 1000, 0), previous_producer_id=6, client_transaction_version=2)  # type: ignore[type-var]
    data = build_batch([log_record(record("billing", value), 0, {"TransactionLogValue": 0})])
    found = LogBytes().add(data).load(TRANSACTIONS_TOPIC).transactions["billing"]
    assert (found.producer_id, found.previous_producer_id, found.transaction_timeout_ms) == (7, -1, 1000)
