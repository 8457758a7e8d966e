"""Consumer protocol messages behind their version, also versions that are yet to come."""

import pytest

import protocol
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from tests.fixture_data import capture_names, captured_frames

JOIN_GROUP, SYNC_GROUP = 11, 14
IN_RACK = ConsumerProtocolSubscription(topics=["events"], rack_id="az-a")


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_keeps_its_rack_from_version_3_on(version):
    found = read_versioned(ConsumerProtocolSubscription, write_versioned(IN_RACK, version))
    assert found.topics == ["events"]
    assert found.rack_id == ("az-a" if version == 3 else None)


def test_a_newer_version_is_read_as_the_highest_known():
    data = (32767).to_bytes(2) + write_versioned(IN_RACK, 3)[2:] + b"\x00\x01more"
    assert read_versioned(ConsumerProtocolSubscription, data) == IN_RACK


@pytest.mark.parametrize(("data", "reason"), [(b"\0", "expected 2 bytes of version"), (b"\xff\xfe", "version -2")])
def test_what_has_no_version_is_refused(data, reason):
    with pytest.raises(protocol.DecodeError, match=reason):
        read_versioned(ConsumerProtocolAssignment, data)


def test_decode_named_takes_the_bytes_with_their_version_in_front():
    for version in range(4):
        data = write_versioned(IN_RACK, version)
        assert protocol.decode_named("ConsumerProtocolSubscription", None, data) == protocol.decode_named(
            "ConsumerProtocolSubscription", version, data[2:]
        )


def test_decode_named_reads_a_newer_version_as_the_highest_known_and_ignores_what_it_adds():
    data = (32767).to_bytes(2) + write_versioned(IN_RACK, 3)[2:] + b"\x00\x01more"
    assert protocol.decode_named("ConsumerProtocolSubscription", None, data) == IN_RACK


def test_bytes_left_over_behind_a_known_version_are_an_error_or_ignored_as_the_caller_says():
    data = write_versioned(IN_RACK, 3) + b"\0"
    with pytest.raises(protocol.DecodeError, match=f"byte {len(data) - 3}, 1 bytes left over"):
        protocol.decode_named("ConsumerProtocolSubscription", None, data)
    assert protocol.decode_named("ConsumerProtocolSubscription", None, data, trailing="ignore") == IN_RACK


def test_values_of_coordinators_logs_travel_behind_their_version_but_are_not_read_forward():
    value = protocol.named_class("OffsetCommitValue")(offset=7, metadata="m")
    data = write_versioned(value, 3)
    assert protocol.decode_named("OffsetCommitValue", None, data) == value
    newer = type(value).valid_versions.highest + 1
    with pytest.raises(protocol.UnsupportedVersionError, match="OffsetCommitValue has versions"):
        protocol.decode_named("OffsetCommitValue", None, newer.to_bytes(2) + data[2:])


@pytest.mark.parametrize("name", ["MetadataRequest", "OffsetCommitKey", "TopicRecord", "LeaderChangeMessage"])
def test_what_does_not_travel_behind_its_version_needs_one_named(name):
    with pytest.raises(protocol.UnsupportedVersionError, match=f"no version stands in front of {name}"):
        protocol.decode_named(name, None, bytes(40))


def captured_metadata(name):
    """What members of consumer groups sent in JoinGroup: (version in front, bytes)."""
    for frame in captured_frames(name):
        if frame.api_key == JOIN_GROUP and frame.kind == "request":
            _, request = protocol.read_request(frame.data)
            if request.protocol_type == "consumer":
                yield from ((int.from_bytes(one.metadata[:2]), one.metadata) for one in request.protocols)


def captured_assignments(name):
    """What leaders of consumer groups sent in SyncGroup."""
    for frame in captured_frames(name):
        if frame.api_key == SYNC_GROUP and frame.kind == "request":
            _, request = protocol.read_request(frame.data)
            if request.protocol_type in ("consumer", None):
                yield from (one.assignment for one in request.assignments)


def test_every_captured_subscription_is_read_by_name_as_it_was_sent():
    racks, versions = {}, set()
    for name in capture_names():
        for version, data in captured_metadata(name):
            subscription = protocol.decode_named("ConsumerProtocolSubscription", None, data)
            assert write_versioned(subscription, version) == data
            racks.setdefault(name, set()).add(subscription.rack_id)
            versions.add(version)
    assert racks["java41-range"] >= {"az-a", "az-b", "az-c"}
    assert racks["aiokafka"] == {None}
    assert versions >= {0, 3}


def test_every_captured_assignment_is_read_by_name_as_it_was_sent():
    partitions = [
        partition
        for name in capture_names()
        for data in captured_assignments(name)
        for topic in protocol.decode_named("ConsumerProtocolAssignment", None, data).assigned_partitions
        for partition in topic.partitions
    ]
    assert len(partitions) > 100
