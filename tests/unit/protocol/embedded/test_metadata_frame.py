"""Records of the metadata log as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import DecodeError, ProtocolError
from protocol.embedded.metadata_frame import UnknownMetadataRecordError, read_frame, record_types, write_frame
from protocol.embedded.metadata_settings import NoOpRecord
from protocol.embedded.metadata_topics import TopicRecord
from protocol.fuzz.strategies import messages

# MetadataRecordType, Apache Kafka 4.4.
TYPES = {
    0: "RegisterBrokerRecord",
    1: "UnregisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    4: "ConfigRecord",
    5: "PartitionChangeRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    9: "RemoveTopicRecord",
    10: "DelegationTokenRecord",
    11: "UserScramCredentialRecord",
    12: "FeatureLevelRecord",
    14: "ClientQuotaRecord",
    15: "ProducerIdsRecord",
    17: "BrokerRegistrationChangeRecord",
    18: "AccessControlEntryRecord",
    19: "RemoveAccessControlEntryRecord",
    20: "NoOpRecord",
    21: "ZkMigrationStateRecord",
    22: "RemoveUserScramCredentialRecord",
    23: "BeginTransactionRecord",
    24: "EndTransactionRecord",
    25: "AbortTransactionRecord",
    26: "RemoveDelegationTokenRecord",
    27: "RegisterControllerRecord",
    28: "ClearElrRecord",
    29: "UnregisterControllerRecord",
}


def test_every_type_of_record_is_known_by_its_number():
    assert {number: kind.__name__ for number, kind in record_types().items()} == TYPES


def test_frame_version_type_and_version_stand_in_front():
    record = TopicRecord(name="orders", topic_id=bytes(range(16)))
    assert write_frame(record) == b"\x01\x02\x00" + b"\x07orders" + bytes(range(16)) + b"\x00"


@given(st.data(), st.sampled_from(sorted(TYPES)))
def test_what_is_written_is_read(data, number):
    kind = record_types()[number]
    record = data.draw(messages(kind, kind.valid_versions.highest))
    assert read_frame(write_frame(record)) == record


@pytest.mark.parametrize("frame", [b"\x00\x14\x00\x00", b"\x02\x14\x00\x00"])
def test_another_frame_version_is_of_another_kafka(frame):
    with pytest.raises(UnknownMetadataRecordError, match="frame version"):
        read_frame(frame)


@pytest.mark.parametrize("frame", [b"\x01\x6f\x00\x00", b"\x01\x14\x05\x00"])
def test_a_newer_type_or_version_is_named(frame):
    with pytest.raises(UnknownMetadataRecordError, match=r"version [05]"):
        read_frame(frame)


@given(st.binary(max_size=20))
def test_any_bytes_are_a_record_or_refused(data):
    try:
        written = write_frame(read_frame(data))
    except ProtocolError:
        return
    assert write_frame(read_frame(written)) == written


def test_bytes_behind_a_record_are_refused():
    with pytest.raises(DecodeError):
        read_frame(write_frame(NoOpRecord()) + b"\x00")
