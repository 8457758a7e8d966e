"""Requests and answers become a history: what was sent and acknowledged, what was read from where, by whom."""

from __future__ import annotations

import pytest

import protocol
from kafka_rack.consistency import LogStart, Poll, Send, Transaction, check
from kafka_rack.consistency.wire import WireCall, WireHistory
from protocol.error_codes import ErrorCode
from protocol.records import Record, build_batch, build_transaction_marker

CONNECTION = 7
ID = bytes(range(16))


def of(name, **fields):
    return protocol.named_class(name)(**fields)


def batch(*values, offset=0, **more):
    records = [Record(value=value, timestamp=1) for value in values]
    return build_batch(records, base_offset=offset, **more)


def idempotent(*values, sequence, offset=0, transactional=False, epoch=0):
    return batch(
        *values,
        offset=offset,
        producer_id=5,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def produce(records, offset=0, *, error=0, at=0, acks=-1, connection=CONNECTION, answered=True, topic="t", **more):
    request_type, response_type = protocol.message_class(0, "request"), protocol.message_class(0, "response")
    request = request_type(
        acks=acks,
        timeout_ms=1,
        topic_data=[
            request_type.Topic(name=topic, partition_data=[request_type.Topic.Partition(index=0, records=records)])
        ],
    )
    answer = response_type.Topic.Partition(index=0, error_code=error, base_offset=-1 if error else offset, **more)
    response = response_type(responses=[response_type.Topic(name=topic, partition_responses=[answer])])
    return WireCall(0, "writer", connection, at, at + 1, request, response if answered else None, server=1)


def fetch(
    records,
    offset=None,
    *,
    at=100,
    session=(0, -1),
    answered_session=0,
    committed=False,
    aborted=None,
    topic="t",
    topic_id=bytes(16),
    replica_id=-1,
    forget=(),
    error=0,
    **more,
):
    request_type, response_type = protocol.message_class(1, "request"), protocol.message_class(1, "response")
    wanted = request_type.Topic.Partition(partition=0, fetch_offset=offset or 0, partition_max_bytes=1)
    request = request_type(
        replica_id=replica_id,
        max_wait_ms=0,
        min_bytes=0,
        isolation_level=int(committed),
        session_id=session[0],
        session_epoch=session[1],
        topics=[] if offset is None else [request_type.Topic(topic=topic, topic_id=topic_id, partitions=[wanted])],
        forgotten_topics_data=[request_type.ForgottenTopic(topic=topic, partitions=[0]) for _ in forget],
    )
    answer = response_type.Topic.Partition(
        partition_index=0,
        error_code=error,
        high_watermark=0,
        records=records,
        aborted_transactions=[
            response_type.Topic.Partition.AbortedTransaction(producer_id=producer, first_offset=first)
            for producer, first in aborted or ()
        ],
        **more,
    )
    response = response_type(
        session_id=answered_session,
        responses=[response_type.Topic(topic=topic, topic_id=topic_id, partitions=[answer])],
    )
    return WireCall(1, "reader", CONNECTION, at, at + 1, request, response, server=1)


def end_transaction(*, commit, error=0, at=50, epoch=0, answered=True):
    request = of("EndTxnRequest", transactional_id="tx", producer_id=5, producer_epoch=epoch, committed=commit)
    response = of("EndTxnResponse", error_code=error) if answered else None
    return WireCall(26, "writer", 9, at, at + 1, request, response, server=2)


def operations(*calls):
    history = WireHistory()
    return [operation for call in calls for operation in history.operations(call)]


def found(*calls):
    return {one.kind for one in check(operations(*calls)).anomalies}


def test_a_produce_is_a_send_of_its_batch():
    (send,) = operations(produce(idempotent(b"a", b"b", sequence=3), 10, at=5))
    assert isinstance(send, Send)
    assert (send.client, send.topic, send.partition) == ("writer (producer 5)", "t", 0)
    assert (send.begun_at, send.ended_at, send.outcome, send.offset, send.num_offsets) == (5, 6, "acknowledged", 10, 2)
    assert (send.acks, send.is_idempotent) == (-1, True)
    assert repr(send.value) == "records 3 to 4 of producer 5, epoch 0"


@pytest.mark.parametrize("error", ErrorCode)
def test_an_error_fails_a_send_only_where_nothing_can_have_been_written(error):
    sends = operations(produce(batch(b"a"), error=error))
    if error.name in {"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID"}:
        assert sends == [], "of a partition that is not there"
        return
    (send,) = sends
    may_be_written = {
        "REQUEST_TIMED_OUT",
        "NOT_LEADER_OR_FOLLOWER",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
    }
    if error.name in may_be_written:
        assert send.outcome == "unknown"
    if error.name in {"NOT_ENOUGH_REPLICAS", "MESSAGE_TOO_LARGE", "INVALID_RECORD", "OUT_OF_ORDER_SEQUENCE_NUMBER"}:
        assert send.outcome == "failed"
    assert (send.outcome == "acknowledged") == (error == 0)


def test_a_send_without_an_answer_is_unknown():
    (send,) = operations(produce(batch(b"a"), acks=0, answered=False))
    assert (send.outcome, send.offset, send.ended_at, send.acks) == ("unknown", None, None, 0)
    assert send.client == "writer (connection 7)"


def test_a_fetch_is_a_poll_from_the_offset_that_it_asked_for():
    records = batch(b"a", b"b", offset=4) + batch(b"c", offset=6)
    (poll,) = operations(fetch(records + batch(b"d", offset=7)[:-1], 5))
    assert isinstance(poll, Poll)
    assert [(read.offset, read.num_offsets) for read in poll.reads] == [(4, 2), (6, 1)], "without what was cut off"
    assert (poll.spans, poll.is_committed) == ({("t", 0): (5, 7)}, False)


def test_a_session_knows_where_its_partitions_are_read():
    first = fetch(b"", 3, session=(0, 0), answered_session=9)
    (poll,) = operations(first, fetch(batch(b"a", offset=5), session=(9, 1), answered_session=9))
    assert poll.spans == {("t", 0): (3, 6)}
    (poll,) = operations(first, fetch(batch(b"a", offset=5), session=(8, 1), answered_session=8))
    assert poll.spans == {("t", 0): (5, 6)}, "of another session, whose beginning was not seen"
    gone = fetch(b"", session=(9, 1), answered_session=9, forget=[1])
    (poll,) = operations(first, gone, fetch(batch(b"a", offset=5), session=(9, 2), answered_session=9))
    assert poll.spans == {("t", 0): (5, 6)}


def test_followers_errors_and_empty_answers_are_no_polls():
    assert operations(fetch(batch(b"a"), 0, replica_id=2)) == []
    assert operations(fetch(batch(b"a"), 0, error=1)) == []
    assert operations(fetch(b"", 0), fetch(None, 0)) == []


def test_a_batch_that_a_fetch_leaves_out_is_lost():
    kept = batch(b"a") + batch(b"c", offset=2)
    sends = [produce(batch(b"a"), 0), produce(batch(b"b"), 1, at=2), produce(batch(b"c"), 2, at=4)]
    assert found(*sends, fetch(kept, 0)) == {"lost-write"}
    assert found(*sends, fetch(batch(b"c", offset=2), 2)) == set()
    assert found(*sends, fetch(batch(b"a"), 0), fetch(batch(b"c", offset=2), 2)) == set()
    assert found(*sends, fetch(kept, 0, log_start_offset=2)) == set()


def test_another_batch_at_an_offset_is_a_lost_write():
    sends = [produce(batch(b"a"), 0)]
    assert found(*sends, fetch(batch(b"a"), 0)) == set()
    assert found(*sends, fetch(batch(b"x"), 0)) == {"lost-write"}


def test_what_a_broker_compressed_anew_is_the_same_batch():
    plain, packed = batch(b"a" * 99), batch(b"a" * 99, codec=protocol.records.CompressionCodec.LZ4)
    assert found(produce(plain, 0), fetch(packed, 0)) == set()


def test_messages_that_a_broker_put_into_one_batch_are_read_with_it():
    messages = b"".join(build_batch([Record(value=value, timestamp=1)], magic=1) for value in (b"a", b"b", b"c"))
    sends = operations(produce(messages, 0))
    assert [(send.offset, send.num_offsets) for send in sends] == [(0, 1), (1, 1), (2, 1)]
    assert found(produce(messages, 0), fetch(batch(b"a", b"b", b"c"), 0)) == set()
    assert found(produce(messages, 0), fetch(batch(b"a", b"b"), 0)) == set()


def test_a_batch_that_lacks_records_shows_that_its_topic_is_compacted():
    sends = [produce(idempotent(b"a", b"b", sequence=0), 0), produce(idempotent(b"c", sequence=2), 2, at=2)]
    sends.append(produce(idempotent(b"d", b"e", sequence=3), 3, at=4))
    kept = [Record(value=b"a", timestamp=1, offset=0)]
    compacted = build_batch(kept, last_offset=1, producer_id=5, producer_epoch=0, base_sequence=0)
    rest = idempotent(b"d", b"e", sequence=3, offset=3)
    assert found(*sends, fetch(compacted + rest, 0)) == set()
    assert found(*sends, fetch(idempotent(b"a", b"b", sequence=0) + rest, 0)) == {"lost-write"}


def test_a_batch_that_a_broker_stored_twice_is_a_duplicate():
    once = produce(batch(b"a"), 0)
    twice = fetch(batch(b"a") + batch(b"a", offset=1), 0)
    assert found(once, twice) == {"duplicate"}
    assert found(once, produce(batch(b"a"), 1, at=2), twice) == set(), "the client sent it again"
    numbered = [idempotent(b"a", sequence=0), idempotent(b"a", sequence=0, offset=1)]
    retried = [produce(numbered[0], 0, answered=False), produce(numbered[0], 0, at=2)]
    assert found(*retried, fetch(b"".join(numbered), 0)) == {"duplicate"}, "of an idempotent producer"
    assert found(*retried, fetch(numbered[0], 0)) == set()


def test_records_of_a_transaction_are_read_once_it_is_committed():
    records = idempotent(b"a", sequence=0, transactional=True)
    sends, commit = produce(records, 0), end_transaction(commit=True)
    assert found(sends, commit, fetch(records, 0, committed=True)) == set()


def test_aborted_records_are_read_by_whoever_does_not_mind():
    records = idempotent(b"a", sequence=0, transactional=True)
    abort = end_transaction(commit=False)
    marker = build_transaction_marker(commit=False, producer_id=5, producer_epoch=0, coordinator_epoch=0, base_offset=1)
    sends = [produce(records, 0), abort]
    assert found(*sends, fetch(records + marker, 0, committed=True, aborted=[(5, 0)])) == set()
    assert found(*sends, fetch(records + marker, 0, committed=True)) == {"aborted-read"}
    assert found(*sends, fetch(records + marker, 0)) == set()


def test_behind_its_marker_a_producer_is_read_again():
    aborted, committed = (idempotent(b"a", sequence=n, offset=2 * n, transactional=True) for n in (0, 1))
    marker = build_transaction_marker(commit=False, producer_id=5, producer_epoch=0, coordinator_epoch=0, base_offset=1)
    sends = [
        produce(aborted, 0),
        end_transaction(commit=False),
        produce(committed, 2, at=60),
        end_transaction(commit=True, at=70),
    ]
    everything = aborted + marker + committed
    assert found(*sends, fetch(everything, 0, committed=True, aborted=[(5, 0)])) == set()
    (poll,) = operations(fetch(everything, 0, committed=True, aborted=[(5, 0)]))
    assert [(read.offset, read.is_control) for read in poll.reads] == [(1, True), (2, False)]
    assert found(*sends, fetch(everything, 0, committed=True, aborted=[(5, 0), (5, 2)])) == {"lost-write"}


def test_an_end_that_failed_leaves_a_transaction_open():
    records = idempotent(b"a", sequence=0, transactional=True)
    refused = end_transaction(commit=True, error=ErrorCode.CONCURRENT_TRANSACTIONS)
    ended = [
        one
        for one in operations(produce(records, 0), refused, end_transaction(commit=False))
        if isinstance(one, Transaction)
    ]
    assert [one.ending for one in ended] == ["unknown", "aborted"]
    assert len({one.id for one in ended}) == 1
    assert operations(refused) == [], "of a transaction without records"


def test_topics_that_are_made_anew_are_other_topics():
    deleted = WireCall(
        20,
        "admin",
        1,
        40,
        41,
        None,
        of("DeleteTopicsResponse", responses=[protocol.message_class(20, "response").Topic(name="t", error_code=0)]),
    )
    history = [produce(batch(b"a"), 0), fetch(batch(b"a"), 0, at=30)]
    anew = [produce(batch(b"b"), 0, at=50), fetch(batch(b"b"), 0, at=60)]
    assert found(*history, *anew) == {"lost-write"}
    assert found(*history, deleted, *anew) == set()


def test_topic_ids_are_names_once_metadata_was_seen():
    metadata = protocol.message_class(3, "response")
    told = WireCall(3, "c", 1, 0, 1, None, metadata(topics=[metadata.Topic(name="t", topic_id=ID, partitions=[])]))
    by_id = fetch(batch(b"a"), 0, topic="", topic_id=ID)
    assert [one.topic for one in operations(told, by_id)[-1].reads] == ["t"]
    assert operations(by_id)[-1].reads[0].topic == protocol.uuids.uuid_to_text(ID)
    (poll,) = WireHistory({ID: "named"}.get).operations(by_id)
    assert poll.reads[0].topic == "named"
    other = WireCall(
        3, "c", 1, 0, 1, None, metadata(topics=[metadata.Topic(name="t", topic_id=bytes(15) + b"x", partitions=[])])
    )
    assert found(told, produce(batch(b"a"), 0), fetch(batch(b"a"), 0), other, fetch(batch(b"b"), 0)) == set()


def test_the_start_of_the_log_is_told_where_it_moves():
    moved = operations(fetch(b"", 5, log_start_offset=5), fetch(b"", 5, log_start_offset=5))
    assert moved == [LogStart("t", 0, 5, 101)]


def test_damaged_records_end_what_is_read_and_nothing_else():
    whole = batch(b"a")
    (poll,) = operations(fetch(whole + b"\xff" * 40, 0))
    assert [read.offset for read in poll.reads] == [0]
    assert operations(fetch(b"\xff" * 40, 0)) == []
