"""What each release in ZooKeeper mode speaks. Kafka's own numbers: captured from 3.9, from its source, and those
that kafka-python knows brokers of a version by."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockbroker.state.releases import CHANGES, KRAFT_ONLY, ZOOKEEPER_RELEASES, Version, versions_of_release
from mockbroker.zookeeper.controller import KNOWS_RACKS
from mockbroker.zookeeper.releases import (
    UPDATE_METADATA,
    is_zookeeper,
    software_of,
)
from protocol.headers import read_response
from tests.unit.mockbroker.state.test_releases import check_is_answered, every_version

CAPTURE = Path(__file__).resolve().parents[4] / "fixtures" / "captures" / "zk39-ibp24.jsonl.gz"
CONTROLLER_API = 6


@pytest.mark.parametrize(
    ("release", "protocol", "registration", "update_metadata"),
    [
        # ZkUtils.registerBrokerInZk, and ControllerBrokerRequestBatch.sendRequestsToBrokers of those releases
        ("0.8.2", None, 1, 0),
        ("0.9.0", "0.8.2", 2, 0),
        ("0.9.0", None, 2, 1),
        ("0.9.0.1", None, 2, 1),
        ("0.10.0", "0.9.0", 2, 1),
        ("0.10.0", "0.10.0-IV0", 2, 1),  # the format of messages; the rack came with IV1
        ("0.10.0", "0.10.0-IV1", 3, 2),
        ("0.10.0", None, 3, 2),
        ("0.10.1", None, 3, 2),
        ("0.10.2", "0.9.0", 2, 1),
        ("0.10.2", "0.10.1", 4, 2),
        ("0.10.2", None, 4, 3),
        ("0.11.0", None, 4, 3),
        ("1.0", None, 4, 4),
        ("2.2", None, 4, 5),
        ("2.4", "2.4-IV0", 4, 5),
        ("2.6", None, 4, 6),
        ("2.7", "2.6", 4, 6),
        ("2.7", None, 5, 6),
        ("2.8", "2.8-IV0", 5, 6),
        ("2.8", None, 5, 7),
        # seen on the wire of Apache Kafka 3.9.1
        ("3.9", "0.9.0", 2, 1),
        ("3.9", "0.10.1", 4, 2),
        ("3.9", "1.1", 4, 4),
        ("3.9", "2.4", 4, 6),
        ("3.9", None, 5, 8),
    ],
)
def test_registration_and_update_metadata_by_release_and_protocol(release, protocol, registration, update_metadata):
    software = software_of(release, protocol)
    assert (software.registration_version, software.update_metadata_version) == (registration, update_metadata)


def test_a_protocol_alone_stands_for_the_release_of_that_line():
    assert str(software_of(None, "0.10.0-IV0").release) == "0.10.0"
    assert str(software_of(None, None).release) == "3.9"
    assert str(software_of("0.10.0.1", None).protocol) == "0.10.0"


@pytest.mark.parametrize("release", ZOOKEEPER_RELEASES)
def test_kafka_python_knows_the_same_versions_of_each_release(release):
    data = pytest.importorskip("kafka.protocol.broker_version_data", reason="kafka-python is missing")
    number = tuple(map(int, release.split(".")))
    theirs = data.BROKER_API_VERSIONS.get(number) or data.BROKER_API_VERSIONS[number[:2]]
    ours = versions_of_release(release, kraft=False)
    assert {key: theirs[key] for key in ours if key != CONTROLLER_API or key in theirs} == {
        key: ours[key] for key in ours if key != CONTROLLER_API or key in theirs
    }


def test_3_9_serves_what_apache_kafka_3_9_said_in_zookeeper_mode():
    asked: dict[tuple[int, bytes], int] = {}
    answers = []
    with gzip.open(CAPTURE, "rt") as lines:
        for line in map(json.loads, lines):
            frame = base64.b64decode(line.get("data", ""))
            if line.get("dir") == "req" and frame[:2] == b"\0\x12":
                asked[line["conn"], frame[4:8]] = int.from_bytes(frame[2:4], "big")
            elif line.get("dir") == "resp" and (line["conn"], frame[:4]) in asked:
                answers.append(read_response(frame, 18, asked[line["conn"], frame[:4]])[1])
    assert answers
    ours = versions_of_release("3.9", kraft=False)
    for answer in answers:
        theirs = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
        assert ours == {key: theirs[key] for key in ours}


@pytest.mark.parametrize(("release", "strictly"), [("0.9.0.0", True), ("0.9.0.1", False), ("0.9.0", False)])
def test_only_0_9_0_0_reads_registrations_strictly(release, strictly):
    assert software_of(release, None).reads_strictly == strictly


@pytest.mark.parametrize(("release", "knows"), [("0.9.0.1", False), ("0.10.0.0", True), ("3.9", True)])
def test_code_knows_racks_since_0_10_0_whatever_its_protocol(release, knows):
    assert software_of(release, "0.9.0").since(KNOWS_RACKS) == knows


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("0.8.2", "0.9.0"),
        ("0.9.0", "0.10.0"),
        ("0.9.0.0", "0.9.0.1"),
        ("0.9.0.1", "0.9.0"),
        ("0.10.2", "0.11.0"),
        ("0.11.0", "1.0"),
        ("2.4-IV0", "2.4-IV1"),
        ("2.4-IV1", "2.4"),
        ("2.9-IV1", "2.10"),
    ],
)
def test_versions_are_ordered_as_kafka_released_them(earlier, later):
    assert Version(earlier) < Version(later)
    assert not Version(later) < Version(earlier)


@given(st.sampled_from(ZOOKEEPER_RELEASES), st.sampled_from(ZOOKEEPER_RELEASES))
def test_no_release_serves_less_than_an_earlier_one(one, other):
    earlier, later = sorted((one, other), key=ZOOKEEPER_RELEASES.index)
    before, after = versions_of_release(earlier, kraft=False), versions_of_release(later, kraft=False)
    assert all(after[key] >= versions for key, versions in before.items())
    assert Version(earlier) <= Version(later)


def test_each_change_is_a_step_up():
    highest: dict[int, int] = {}
    for line, changes in CHANGES.items():
        assert all(version > highest.get(key, -1) for key, version in changes.items()), line
        highest |= changes


@pytest.mark.parametrize(
    ("protocol", "release", "zookeeper", "expected"),
    [
        (None, None, None, False),
        ("0.10.0", None, None, True),
        ("2.8", None, None, True),
        ("3.0", None, None, False),
        ("3.9", None, None, False),
        ("3.9", None, "localhost:2181", True),
        (None, None, "localhost:2181", True),
        (None, "0.9.0.1", None, True),
        ("4.0", None, None, False),
        (None, "4.4.0", None, False),
    ],
)
def test_the_mode_follows_from_the_settings(protocol, release, zookeeper, expected):
    assert is_zookeeper(protocol, release, zookeeper) == expected


@pytest.mark.parametrize(
    ("protocol", "release", "words"),
    [
        ("newest", None, "inter.broker.protocol.version=newest: expected a version of Kafka"),
        ("0.7.0", None, "inter.broker.protocol.version=0.7.0: 0.8.2 to 4.4 are known"),
        (None, "5.0", "release=5.0: 0.8.2 to 4.4 are known"),
        ("0.10.0", "0.9.0.1", "inter.broker.protocol.version=0.10.0 is not known to Kafka 0.9.0.1, whose newest"),
        ("2.0", "1.1", "upgrade the broker first"),
        (None, "4.0", "Kafka 4.0 has no ZooKeeper mode; 3.9 is the last"),
        ("0.10", None, "inter.broker.protocol.version=0.10"),
        ("", "0.9.0 ", "release=0.9.0 : expected a version of Kafka"),
    ],
)
def test_versions_that_cannot_be_are_refused_in_one_line(protocol, release, words):
    with pytest.raises(ValueError, match=r"\S") as refused:
        software_of(release, protocol)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("release", KRAFT_ONLY)
def test_zookeeper_connect_contradicts_releases_that_have_none(release):
    with pytest.raises(ValueError, match="no ZooKeeper mode"):
        is_zookeeper(None, release, "localhost:2181")


@pytest.mark.parametrize("release", ZOOKEEPER_RELEASES)
def test_every_version_that_a_release_serves_in_zookeeper_mode_is_answered(release):
    sim, told = every_version(release, **{"zookeeper.connect": "here"})
    for api_key, version in told:
        if api_key != UPDATE_METADATA:
            check_is_answered(sim, api_key, version)
