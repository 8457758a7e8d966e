from __future__ import annotations

import pytest

from mockbroker.state.errors import ApiError
from mockbroker.state.image import ImageWriter
from mockbroker.state.logs.log import Log
from mockbroker.state.logs.producers import Marker, PartitionProducers, Producers, recover
from protocol.error_codes import ErrorCode
from protocol.records import BatchHeader, Record, build_batch, build_transaction_marker
from protocol.records.batches import TRANSACTIONAL_FLAG

LAST_SEQUENCE = 2**31 - 1


def header_of(
    first: int, last: int, *, epoch: int = 0, producer_id: int = 7, transactional: bool = False
) -> BatchHeader:
    """The header of a batch with these sequence numbers."""
    return BatchHeader(
        0,
        magic=2,
        attributes=TRANSACTIONAL_FLAG if transactional else 0,
        last_offset_delta=(last - first) % 2**31,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=first,
    )


def wrote(producers: PartitionProducers, first: int, last: int, offset: int, epoch: int = 0) -> None:
    assert producers.check(header_of(first, last, epoch=epoch)) is None
    producers.note(header_of(first, last, epoch=epoch), offset, offset)


def refused(producers: PartitionProducers, epoch: int, first: int, last: int) -> int:
    with pytest.raises(ApiError) as caught:
        producers.check(header_of(first, last, epoch=epoch))
    return caught.value.code


@pytest.fixture
def producers() -> PartitionProducers:
    """Producer 7, epoch 0, wrote six batches of ten records at offsets 0, 10, ..., 50."""
    producers = PartitionProducers()
    for batch in range(6):
        wrote(producers, batch * 10, batch * 10 + 9, batch * 10)
    return producers


def test_each_of_the_last_five_batches_is_recognised_with_its_offset(producers):
    for batch in range(1, 6):
        assert producers.check(header_of(batch * 10, batch * 10 + 9)).base_offset == batch * 10


def test_an_older_repetition_and_a_gap_are_out_of_order(producers):
    assert refused(producers, 0, 0, 9) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(producers, 0, 61, 61) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(header_of(60, 60)) is None


def test_an_overtaken_epoch_is_refused_and_a_new_one_starts_at_zero(producers):
    wrote(producers, 0, 4, 60, epoch=1)
    assert refused(producers, 0, 60, 60) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(producers, 2, 5, 5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(header_of(0, 0, epoch=2)) is None


def test_sequences_start_again_after_the_largest():
    producers = PartitionProducers()
    wrote(producers, LAST_SEQUENCE - 1, LAST_SEQUENCE, 0)
    assert producers.check(header_of(0, 3)) is None
    assert refused(producers, 0, 1, 3) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_may_run_over_the_largest_sequence():
    producers = PartitionProducers()
    wrote(producers, LAST_SEQUENCE, 1, 0)
    assert producers.check(header_of(2, 2)) is None


def test_each_broker_gives_out_ids_of_its_own_block_and_a_new_block_when_it_stops():
    producers = Producers(ImageWriter())
    first, other = (producers.new_id(broker_id) for broker_id in (0, 1))
    assert (producers.new_id(0), other) == (first + 1, first + 1000)
    producers.forget_block(0)
    assert producers.new_id(0) == first + 2000


def test_a_block_that_is_used_up_is_followed_by_one_that_nobody_has():
    producers = Producers(ImageWriter())
    given = [producers.new_id(broker_id) for _ in range(1001) for broker_id in (0, 1)]
    assert len(set(given)) == len(given)


def write(producers: PartitionProducers, first: int, offset: int, *, epoch: int = 0, producer_id: int = 7) -> None:
    """One record of a transaction."""
    header = header_of(first, first, epoch=epoch, producer_id=producer_id, transactional=True)
    assert producers.check(header) is None
    producers.note(header, offset, 0)


def end(producers: PartitionProducers, offset: int, *, epoch: int, committed: bool = True, version: int = 2) -> None:
    marker = Marker(committed, 7, epoch, 0)
    producers.check_marker(marker, version)
    producers.note_marker(marker, offset, 0)


def test_a_batch_outside_the_transaction_that_its_producer_has_open_is_refused():
    producers = PartitionProducers()
    write(producers, 0, 0)
    assert refused(producers, 0, 1, 1) == ErrorCode.INVALID_TXN_STATE
    end(producers, 1, epoch=0, version=0)
    assert producers.check(header_of(1, 1)) is None


def test_after_a_marker_of_the_same_epoch_sequences_go_on_and_after_one_of_the_next_they_begin_anew():
    producers = PartitionProducers()
    write(producers, 0, 0)
    end(producers, 1, epoch=0, version=0)
    write(producers, 1, 2)
    end(producers, 3, epoch=1)
    assert refused(producers, 1, 2, 2) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    write(producers, 0, 4, epoch=1)


def test_a_producer_of_version_2_that_nobody_knows_starts_with_zero():
    producers = PartitionProducers()
    producers.begin_verification(7, 0, 3, starts_at_zero=True)
    with pytest.raises(ApiError) as caught:
        producers.check(header_of(3, 3, epoch=0, transactional=True))
    assert caught.value.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_does_not_overtake_one_that_was_refused_when_its_transaction_was_to_begin():
    producers = PartitionProducers()
    producers.begin_verification(7, 0, 0, starts_at_zero=False)
    producers.begin_verification(7, 0, 1, starts_at_zero=False)
    assert refused(producers, 0, 1, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    write(producers, 0, 0)


def marker_refusal(producers: PartitionProducers, epoch: int, coordinator_epoch: int = 0, version: int = 2) -> int:
    with pytest.raises(ApiError) as caught:
        producers.check_marker(Marker(True, 7, epoch, coordinator_epoch), version)
    return caught.value.code


def test_a_marker_of_version_2_has_a_later_epoch_and_comes_again_only_once_the_transaction_is_over():
    producers = PartitionProducers()
    write(producers, 0, 0, epoch=3)
    assert marker_refusal(producers, 3) == ErrorCode.INVALID_PRODUCER_EPOCH
    producers.check_marker(Marker(True, 7, 3, 0), 0)
    end(producers, 1, epoch=4)
    producers.check_marker(Marker(True, 7, 4, 0), 2)
    assert marker_refusal(producers, 3, version=0) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_coordinator_that_was_replaced_writes_no_markers():
    producers = PartitionProducers()
    producers.note_marker(Marker(True, 7, 0, 5), 0, 0)
    assert marker_refusal(producers, 1, coordinator_epoch=4) == ErrorCode.TRANSACTION_COORDINATOR_FENCED


def test_a_producer_in_a_transaction_is_not_forgotten():
    producers = PartitionProducers()
    write(producers, 0, 0)
    producers.expire(10**9)
    assert producers.has_open(7, 0)
    end(producers, 1, epoch=0, version=0)
    producers.expire(10**9)
    assert producers.by_id == {}


def test_what_follows_from_a_log_is_what_was_known_while_it_was_written():
    log, producers = Log(), PartitionProducers()
    for offset, (producer_id, kind) in enumerate([(7, "a"), (8, "a"), (7, "abort"), (9, "a"), (8, "commit")]):
        data = {"producer_id": producer_id, "producer_epoch": 0, "base_offset": offset}
        if kind == "a":
            write(producers, 0, offset, producer_id=producer_id)
            records = build_batch([Record(timestamp=0, value=b"v")], base_sequence=0, transactional=True, **data)
        else:
            committed = kind == "commit"
            producers.note_marker(Marker(committed, producer_id, 0, 0), offset, 0)
            records = build_transaction_marker(commit=committed, coordinator_epoch=0, timestamp=0, **data)
        log.append(records, offset, 0, 0)
    found = recover(log)
    assert found.by_id == producers.by_id
    assert found.transactions.open == producers.transactions.open == {9: 3}
    assert found.transactions.aborted == producers.transactions.aborted == [(7, 0, 2, 1)]
