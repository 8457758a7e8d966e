"""A real broker's directory, served read-only, answers as the Kafka did that opened it again; nothing in it changes."""

from __future__ import annotations

import hashlib
from functools import cache

import pytest

from mockbroker.adapters.server import MockCluster
from tests.storage.data_directories import KINDS, recorded, unpack
from tests.storage.questions import Asker, comparable

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "log.retention.ms": "-1",
    "log.cleaner.dedupe.buffer.size": "2097152",
    "group.initial.rebalance.delay.ms": "0",
    "log.index.size.max.bytes": "1020",
}
"""Of what the recorder gave its broker, since its properties are not in its directories."""
DYNAMIC_SOURCES = {1, 2, 3, 8}  # of a topic, a broker, all brokers, a group


def state_of(place):
    """Each file's bytes and times, and which files there are."""
    return {
        str(path.relative_to(place)): (
            path.stat().st_mtime_ns,
            path.stat().st_mode,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None,
        )
        for path in sorted(place.rglob("*"))
    }


def told_of_configs(answer, *, all_of_them):
    """Configs by name, only those that somebody has set unless all are asked for."""
    (result,) = answer["results"]
    return {
        one["name"]: (one["value"], one["configSource"])
        for one in result["configs"]
        if all_of_them or one["configSource"] in DYNAMIC_SOURCES
    }


@cache
def answers(kind, folder):
    """What ours answers to each question, and what the directory was before and after."""
    place = unpack(kind, folder)
    for path in place.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = state_of(place)
    with (
        MockCluster(read_only=place, settings=SETTINGS) as cluster,
        Asker(cluster.bootstrap_servers) as asker,
    ):
        given = [asker.ask_json(one.api, one.version, one.request) for one in recorded(kind).after]
    after = state_of(place)
    for path in place.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return given, before, after


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("directories")


@pytest.mark.parametrize("kind", KINDS)
def test_every_question_is_answered_as_by_kafka(kind, folder):
    given, _, _ = answers(kind, folder)
    compared = 0
    for one, answer in zip(recorded(kind).after, given, strict=True):
        if one.api == "DescribeConfigs":
            continue
        assert comparable(one.api, answer) == comparable(one.api, one.answer), (one.api, one.request)
        compared += 1
    assert compared > 190


@pytest.mark.parametrize("kind", KINDS)
def test_configs_that_were_set_are_kept(kind, folder):
    given, _, _ = answers(kind, folder)
    compared = []
    for one, answer in zip(recorded(kind).after, given, strict=True):
        if one.api == "DescribeConfigs":
            (resource,) = one.request["resources"]
            is_topic = resource["resourceType"] == 2
            ours, kafkas = (told_of_configs(told, all_of_them=is_topic) for told in (answer, one.answer))
            assert ours == kafkas
            compared.append(resource["resourceType"])
    assert sorted(compared) == [2] * 6 + [4, 32]


@pytest.mark.parametrize("kind", KINDS)
def test_no_leader_epoch_is_lower_than_before(kind, folder):
    given, _, _ = answers(kind, folder)
    ours = next(answer for one, answer in zip(recorded(kind).after, given, strict=True) if one.api == "Metadata")
    before = next(one.answer for one in recorded(kind).before if one.api == "Metadata")
    epochs = [
        {
            (topic["name"], partition["partitionIndex"]): partition["leaderEpoch"]
            for topic in told["topics"]
            for partition in topic["partitions"]
        }
        for told in (ours, before)
    ]
    assert epochs[0].keys() == epochs[1].keys()
    assert all(epochs[0][key] >= epochs[1][key] for key in epochs[1])


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_in_the_directory_changes(kind, folder):
    _, before, after = answers(kind, folder)
    assert after == before
