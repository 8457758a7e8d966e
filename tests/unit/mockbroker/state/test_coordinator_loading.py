"""What coordinators kept is read from the logs of their topics, by Kafka's rules."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from mockbroker.groups.offsets import offset_records
from mockbroker.state.coordinator_log import load_shard, log_record
from mockbroker.state.coordinator_shard import CoordinatorShard, RecordsByKey
from mockbroker.state.logs.log import StoredBatch
from mockbroker.state.topics.coordinator_keys import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from mockbroker.state.transactions.states import new_value, record
from protocol import DecodeError
from protocol.embedded.group_log import OffsetCommitValue
from protocol.embedded.transaction_log import TransactionLogKey
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
        return self.put(offset_records(group, {PLACE: OffsetCommitValue(offset)}), producer_id)

    def end(self, producer_id: int, *, commit: bool, epoch: int = 0) -> LogBytes:
        return self.add(
            build_transaction_marker(
                commit=commit,
                producer_id=producer_id,
                producer_epoch=epoch,
                coordinator_epoch=0,
                base_offset=self.end_offset,
            )
        )

    def load(self, topic: str = OFFSETS_TOPIC) -> CoordinatorShard:
        return load_shard(topic, self.batches)


def offsets(shard: CoordinatorShard) -> dict[str, int]:
    return offsets_in(shard.records)


def pending(shard: CoordinatorShard) -> dict[int, dict[str, int]]:
    return {producer_id: offsets_in(by_group) for producer_id, by_group in shard.pending.items()}


def offsets_in(by_group: RecordsByKey) -> dict[str, int]:
    return {group: one.value.offset for group, records in by_group.items() for one in records.values()}


def test_the_last_offset_counts_and_a_tombstone_ends_it():
    log = LogBytes().commit("readers", 1).commit("readers", 2).commit("others", 3)
    assert offsets(log.load()) == {"readers": 2, "others": 3}
    log.put(offset_records("readers", dict.fromkeys([PLACE])))
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


def test_a_marker_ends_what_is_pending_of_its_own_producer_alone():
    log = LogBytes().commit("readers", 5, producer_id=7).commit("others", 6, producer_id=8).end(7, commit=True)
    assert (offsets(log.load()), pending(log.load())) == ({"readers": 5}, {8: {"others": 6}})


def test_a_producers_last_epoch_is_that_of_its_last_record_or_marker():
    log = LogBytes().commit("readers", 5, producer_id=7)
    assert log.load().producer_epochs == {7: 0}
    log.end(7, commit=False, epoch=3)
    assert log.load().producer_epochs == {7: 3}


def test_a_copy_changes_by_itself():
    log = LogBytes().commit("readers", 5, producer_id=7).commit("others", 6)
    shard, copy = log.load(), log.load().copy()
    assert copy == shard
    copy.end_transaction(7, 1, committed=True)
    copy.replay(offset_records("others", dict.fromkeys([PLACE])))
    assert (offsets(copy), pending(copy)) == ({"readers": 5}, {})
    assert shard == log.load()


def test_a_record_of_an_unknown_type_is_passed_over():
    unknown = build_batch([Record(key=b"\x00\x63key", value=b"\x00\x00value")])
    assert LogBytes().add(unknown).commit("readers", 1).load().keys() == {"readers"}


def test_a_record_of_a_known_type_that_cannot_be_read_is_told():
    torn = build_batch([Record(key=b"\x00\x01\x00\x09readers", value=None)])
    with pytest.raises(DecodeError):
        LogBytes().add(torn).load()


def transaction(log: LogBytes) -> Any:
    return log.load(TRANSACTIONS_TOPIC).value(TransactionLogKey, "billing")


def test_transactional_ids_are_found_by_their_last_value_and_gone_with_a_tombstone():
    log = LogBytes()
    for timeout_ms in (1, 2):
        log.put([record("billing", new_value(7, timeout_ms, 0))])
    assert transaction(log).transaction_timeout_ms == 2
    log.put([record("billing", None)])
    assert transaction(log) is None


def test_the_first_version_of_a_transactional_id_keeps_what_it_has_fields_for():
    value = structs.replace(new_value(7, 1000, 0), previous_producer_id=6, client_transaction_version=2)  # type: ignore[type-var]
    data = build_batch([log_record(record("billing", value), 0, {"TransactionLogValue": 0})])
    found = transaction(LogBytes().add(data))
    assert (found.producer_id, found.previous_producer_id, found.transaction_timeout_ms) == (7, -1, 1000)
