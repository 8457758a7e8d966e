from __future__ import annotations

import pytest
from msgspec import structs

from mockbroker.state.errors import ApiError
from mockbroker.state.image.coordinator_records import CoordinatorRecord
from mockbroker.state.image.writer import ImageWriter
from mockbroker.state.logs.producers import BatchMetadata, PartitionProducers, Producers
from protocol.embedded.transaction_log import TransactionLogKey
from protocol.error_codes import ErrorCode

LAST_SEQUENCE = 2**31 - 1


def wrote(producers: PartitionProducers, first: int, last: int, offset: int, epoch: int = 0) -> None:
    assert producers.check(7, epoch, first, last) is None
    producers.note(7, epoch, BatchMetadata(first, last, offset, -1), timestamp_ms=offset)


def refused(producers: PartitionProducers, epoch: int, first: int, last: int) -> int:
    with pytest.raises(ApiError) as caught:
        producers.check(7, epoch, first, last)
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
        assert producers.check(7, 0, batch * 10, batch * 10 + 9).base_offset == batch * 10


def test_an_older_repetition_and_a_gap_are_out_of_order(producers):
    assert refused(producers, 0, 0, 9) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(producers, 0, 61, 61) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(7, 0, 60, 60) is None


def test_an_overtaken_epoch_is_refused_and_a_new_one_starts_at_zero(producers):
    wrote(producers, 0, 4, 60, epoch=1)
    assert refused(producers, 0, 60, 60) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(producers, 2, 5, 5) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producers.check(7, 2, 0, 0) is None


def test_sequences_start_again_after_the_largest():
    producers = PartitionProducers()
    wrote(producers, LAST_SEQUENCE - 1, LAST_SEQUENCE, 0)
    assert producers.check(7, 0, 0, 3) is None
    assert refused(producers, 0, 1, 3) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_may_run_over_the_largest_sequence():
    producers = PartitionProducers()
    wrote(producers, LAST_SEQUENCE, 1, 0)
    assert producers.check(7, 0, 2, 2) is None


def test_every_producer_without_a_transactional_id_gets_an_id_of_its_own():
    producers = Producers(ImageWriter())
    pairs = [producers.initialise(None, 0) for _ in range(3)]
    assert len({producer_id for producer_id, _ in pairs}) == 3
    assert {epoch for _, epoch in pairs} == {0}


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


def test_a_transactional_id_keeps_its_producer_id_and_fences_by_epoch():
    producers = Producers(ImageWriter())
    first = producers.initialise("billing", 1000)
    second = producers.initialise("billing", 1000)
    assert second == (first[0], first[1] + 1)


def exhaust(producers: Producers, transactional_id: str) -> None:
    """Have all epochs but the last used up."""
    known = producers.writer.image.transactions[transactional_id]
    value = structs.replace(known, producer_epoch=2**15 - 2)
    producers.writer.commit([CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), value)])


def code_of(producers: Producers, present: tuple[int, int]) -> int:
    with pytest.raises(ApiError) as caught:
        producers.initialise("billing", 1000, present)
    return caught.value.code


def test_a_new_transactional_id_takes_no_notice_of_the_pair_that_is_named():
    producers = Producers(ImageWriter())
    producer_id, epoch = producers.initialise("billing", 1000, (7, 3))
    assert (producer_id != 7, epoch) == (True, 0)


def test_a_producer_that_continues_gets_the_next_epoch_and_a_retry_of_that_the_same_one():
    producers = Producers(ImageWriter())
    producer_id, epoch = producers.initialise("billing", 1000)
    assert producers.initialise("billing", 1000, (producer_id, epoch)) == (producer_id, 1)
    assert producers.initialise("billing", 1000, (producer_id, epoch)) == (producer_id, 1)


def test_a_producer_that_another_one_took_over_from_is_fenced():
    producers = Producers(ImageWriter())
    producer_id, epoch = producers.initialise("billing", 1000)
    producers.initialise("billing", 1000)
    assert code_of(producers, (producer_id, epoch)) == ErrorCode.PRODUCER_FENCED


def test_a_producer_id_of_somebody_else_is_fenced():
    producers = Producers(ImageWriter())
    producer_id, epoch = producers.initialise("billing", 1000)
    assert code_of(producers, (producer_id + 1, epoch)) == ErrorCode.PRODUCER_FENCED
    assert code_of(producers, (producer_id, epoch + 1)) == ErrorCode.PRODUCER_FENCED


def test_a_retry_of_the_change_to_a_new_producer_id_gets_that_one():
    producers = Producers(ImageWriter())
    old_id, _ = producers.initialise("billing", 1000)
    exhaust(producers, "billing")
    new_id, epoch = producers.initialise("billing", 1000, (old_id, 2**15 - 2))
    assert (new_id != old_id, epoch) == (True, 0)
    assert producers.initialise("billing", 1000, (old_id, 2**15 - 2)) == (new_id, 0)


def test_an_exhausted_epoch_brings_a_new_producer_id():
    producers = Producers(ImageWriter())
    producer_id, _ = producers.initialise("billing", 1000)
    exhaust(producers, "billing")
    assert producers.initialise("billing", 1000) == (producer_id + 1, 0)
