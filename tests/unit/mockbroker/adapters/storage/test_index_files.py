"""What stands beside segments comes back as it was written, and damaged files are not believed."""

from __future__ import annotations

import pytest

from mockbroker.adapters.storage.checkpoint_files import (
    CheckpointError,
    parse_checkpoint,
    partition_metadata_text,
    read_offsets,
    read_topic_id,
    write_offsets,
)
from mockbroker.adapters.storage.files import Files
from mockbroker.adapters.storage.index_files import aborted_entries, parse_aborted, parse_snapshot, snapshot_bytes
from mockbroker.state.logs.log_transactions import AbortedTransaction
from mockbroker.state.logs.producers import BatchMetadata, PartitionProducers


def known() -> PartitionProducers:
    producers = PartitionProducers()
    producers.note(7, 2, BatchMetadata(2**31 - 2, 1, 10, 500), 500)
    producers.note(9, 0, BatchMetadata(0, 2, 14, 600), 600, transactional=True)
    producers.note_marker(11, 4, 3, 17, 700, committed=True)
    return producers


def test_a_snapshot_has_the_last_batch_of_each_producer_and_its_transaction():
    found = parse_snapshot(snapshot_bytes(known()))
    assert found is not None
    assert found.by_id == known().by_id
    assert found.transactions.open == {9: 14}


def test_a_snapshot_is_as_kafka_lays_it_out():
    producers = PartitionProducers()
    producers.note(7, 2, BatchMetadata(0, 4, 10, 500), 500)
    data = snapshot_bytes(producers)
    # version 1, CRC, one entry: id 7, epoch 2, last sequence 4, last offset 14, delta 4, time 500, no coordinator, no
    # transaction; ProducerStateManager.writeSnapshot, Apache Kafka 4.4
    assert data[:2].hex() == "0001"
    assert data[6:].hex() == (
        "00000001" + "0000000000000007" + "0002" + "00000004" + "000000000000000e" + "00000004"
        "00000000000001f4" + "ffffffff" + "ffffffffffffffff"
    )


def test_a_damaged_snapshot_is_none():
    whole = snapshot_bytes(known())
    for place in range(len(whole)):
        flipped = bytearray(whole)
        flipped[place] ^= 4
        assert parse_snapshot(bytes(flipped)) is None
        assert parse_snapshot(whole[:place]) is None


def test_aborted_transactions_come_back_up_to_a_torn_one():
    transactions = [AbortedTransaction(7, 3, 9, 10), AbortedTransaction(8, 4, 12, 13)]
    data = aborted_entries(transactions)
    assert len(data) == 68
    assert parse_aborted(data) == transactions
    assert parse_aborted(data[:-1]) == transactions[:1]


@pytest.mark.parametrize("text", [b"1\n0\n", b"0\n2\norders 0 7\n", b"0\n1\norders 0\n", b"0\nx\n", b"\xff"])
def test_a_checkpoint_that_is_none_is_refused(text):
    with pytest.raises(CheckpointError):
        parse_checkpoint(text, 3)


def test_offsets_and_topic_ids_come_back(tmp_path):
    offsets = {("orders", 0): 7, ("bills", 12): 0}
    write_offsets(Files(), tmp_path / "recovery-point-offset-checkpoint", offsets)
    assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n2\nbills 12 0\norders 0 7\n"
    assert read_offsets(tmp_path / "recovery-point-offset-checkpoint") == offsets
    (tmp_path / "partition.metadata").write_bytes(partition_metadata_text(bytes(range(16))))
    assert read_topic_id(tmp_path) == bytes(range(16))
    assert read_topic_id(tmp_path / "elsewhere") is None
