"""Consumer protocol messages behind their version, also versions that are yet to come."""

import pytest

import protocol
from protocol.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from protocol.embedded.versioned import read_versioned, write_versioned
from tests.fixture_data import capture_names, captured_frames

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


def test_every_captured_member_of_a_consumer_group_can_be_read():
    racks = {}
    for name in capture_names():
        for frame in captured_frames(name):
            if frame.api_key != 11 or frame.kind != "request":
                continue
            _, request = protocol.read_request(frame.data)
            if request.protocol_type == "consumer":
                for one in request.protocols:
                    subscription = read_versioned(ConsumerProtocolSubscription, one.metadata)
                    racks.setdefault(name, set()).add(subscription.rack_id)
    assert racks["java41-range"] >= {"az-a", "az-b", "az-c"}
    assert racks["aiokafka"] == {None}
