from __future__ import annotations

import pickle

import pytest

from protocol.errors import ProtocolError
from protocol.records import (
    ControlType,
    CorruptRecordError,
    DecompressionLimitError,
    InvalidRecordError,
    Record,
    RecordError,
    UnsupportedCompressionError,
    build_control_batch,
    build_transaction_marker,
    control_type,
    coordinator_epoch,
    iter_batches,
    iter_records,
)


@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_marker_says_how_the_transaction_ended(commit):
    data = build_transaction_marker(
        commit=commit, producer_id=5, producer_epoch=1, coordinator_epoch=70_000, base_offset=9, timestamp=3
    )
    (record,) = iter_records(data)
    assert control_type(record) == (ControlType.COMMIT if commit else ControlType.ABORT)
    assert (coordinator_epoch(record), record.offset, record.timestamp, record.is_control) == (70_000, 9, 3, True)
    (header,) = iter_batches(data)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, -1)
    assert header.is_transactional


def test_a_control_batch_carries_any_kind():
    (record,) = iter_records(build_control_batch(ControlType.KRAFT_VERSION, b"value"))
    assert (control_type(record), record.value) == (ControlType.KRAFT_VERSION, b"value")


@pytest.mark.parametrize("number", [-1, 7, 32_767])
def test_a_kind_that_came_later_is_unknown(number):
    assert control_type(Record(key=b"\x00\x00" + number.to_bytes(2, "big", signed=True))) == ControlType.UNKNOWN


def test_a_later_version_of_the_key_may_be_longer():
    assert control_type(Record(key=bytes.fromhex("0001 0001 abcd"))) == ControlType.COMMIT


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_a_key_that_is_no_control_key_is_refused(key):
    with pytest.raises(CorruptRecordError):
        control_type(Record(key=key))


@pytest.mark.parametrize("value", [None, b"", b"\x00\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x01"])
def test_a_value_that_is_no_transaction_marker_is_refused(value):
    with pytest.raises(CorruptRecordError):
        coordinator_epoch(Record(value=value))


@pytest.mark.parametrize(
    "kind", [CorruptRecordError, DecompressionLimitError, InvalidRecordError, UnsupportedCompressionError]
)
def test_errors_are_protocol_errors_that_pickle_and_say_where(kind):
    error = kind("length 3", 17)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, RecordError)
    assert isinstance(again, ProtocolError)
    assert (again.reason, again.offset, str(again)) == ("length 3", 17, "records, byte 17: length 3")
