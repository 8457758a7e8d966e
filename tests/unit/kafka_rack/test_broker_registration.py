"""What brokers write of themselves, and readers as strict as Kafka 0.9.0.0 (KIP-36, KAFKA-3100)."""

from __future__ import annotations

import json

import pytest

from kafka_rack.broker_registration import read_broker, write_broker
from kafka_rack.errors import KafkaRackError, UnreadableRegistrationError

PLAIN = [("PLAINTEXT", "host1", 9092)]


def written(version: int, rack: str | None = "dc1") -> dict[str, object]:
    return json.loads(write_broker(PLAIN, rack, version=version, timestamp_ms=1447980000123))


def test_the_json_of_kip_36_before_and_after():
    common = {"host": "host1", "port": 9092, "jmx_port": -1, "timestamp": "1447980000123"}
    assert written(1) == {"version": 1, **common}
    assert written(2) == {"version": 2, **common, "endpoints": ["PLAINTEXT://host1:9092"]}
    assert written(3) == {"version": 3, **common, "endpoints": ["PLAINTEXT://host1:9092"], "rack": "dc1"}


def test_a_broker_without_a_rack_writes_none():
    assert "rack" not in written(3, rack=None)


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_a_reader_gets_back_what_the_version_can_hold(version):
    found = read_broker(write_broker(PLAIN, "dc1", version=version, timestamp_ms=0))
    assert found.addresses == (("PLAINTEXT", "host1", 9092),)
    assert found.rack == ("dc1" if version >= 3 else None)


@pytest.mark.parametrize(("version", "readable"), [(1, True), (2, True), (3, False), (4, False), (5, False)])
def test_the_strict_reader_takes_versions_1_and_2_alone(version, readable):
    data = write_broker(PLAIN, None, version=version, timestamp_ms=0)
    if readable:
        assert read_broker(data, strict=True).addresses == (("PLAINTEXT", "host1", 9092),)
    else:
        with pytest.raises(UnreadableRegistrationError, match=f"version {version}, but only 1 and 2 are supported"):
            read_broker(data, strict=True)


def test_several_listeners_keep_their_order():
    addresses = [("CLIENT", "host1", 9092), ("INTERNAL", "host2", 9093)]
    assert read_broker(write_broker(addresses, None, version=4, timestamp_ms=0)).addresses == tuple(addresses)


def test_a_listener_name_that_a_version_has_no_form_for_is_refused_in_one_line():
    with pytest.raises(KafkaRackError) as refused:
        write_broker([("CLIENT", "host1", 9092)], None, version=3, timestamp_ms=0)
    assert "CLIENT" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"version":"three"}', b'{"version":3}'])
def test_what_is_no_registration_is_unreadable(data):
    with pytest.raises(UnreadableRegistrationError):
        read_broker(data)
