"""The recorded data directories are whole: what their Kafka gave out by Fetch is what stands in their segment files."""

from __future__ import annotations

import base64
import hashlib
import uuid

import pytest

from protocol.records import iter_batches, iter_records
from tests.storage.data_directories import KINDS, fetched, recorded, unpack


def topic_id_of(directory) -> str:
    lines = dict(line.split(": ") for line in (directory / "partition.metadata").read_text().splitlines())
    return lines["topic_id"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_segments_hold_what_kafka_gave_out_and_nothing_else(kind, tmp_path):
    place = unpack(kind, tmp_path)
    given = {
        (topic_id, partition): [(one["records"]["size"], one["records"]["sha256"]) for one in answers]
        for (topic_id, partition, isolation), answers in fetched(recorded(kind).after).items()
        if isolation == 0
    }
    kept = {}
    for directory in sorted(path.parent for path in place.glob("*/*/partition.metadata")):
        if directory.name == "__cluster_metadata-0":
            continue
        kept[topic_id_of(directory), int(directory.name.rpartition("-")[2])] = [
            data for path in sorted(directory.glob("*.log")) if (data := path.read_bytes())
        ]
    assert given.keys() == {partition for partition, segments in kept.items() if segments}
    for partition, answers in given.items():
        # a fetch begins with the batch that has the offset asked for: deleted records' batches may stand before it
        segments = kept[partition][-len(answers) :]
        assert [
            (size, hashlib.sha256(data[-size:]).hexdigest()) for data, (size, _) in zip(segments, answers, strict=True)
        ] == answers
        assert [len(data) for data in segments[1:]] == [size for size, _ in answers[1:]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_record_in_the_segments_can_be_read(kind, tmp_path):
    codecs = set()
    for path in sorted(unpack(kind, tmp_path).glob("*/*-*/*.log")):
        data = path.read_bytes()
        codecs |= {batch.attributes & 7 for batch in iter_batches(data)}
        assert sum(1 for _ in iter_records(data)) or not data
    assert codecs == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("kind", KINDS)
def test_both_log_directories_are_of_one_broker_of_one_cluster(kind, tmp_path):
    place = unpack(kind, tmp_path)
    found = [
        dict(line.split("=", 1) for line in (place / name / "meta.properties").read_text().splitlines() if "=" in line)
        for name in ("one", "two")
    ]
    assert {one["node.id"] for one in found} == {"0"}
    assert {one["version"] for one in found} == {"1"}
    assert len({one["cluster.id"] for one in found}) == 1
    assert len({one["directory.id"] for one in found}) == 2
    ids = [base64.urlsafe_b64decode(one["directory.id"] + "==") for one in found]
    assert all(uuid.UUID(bytes=one) for one in ids)


@pytest.mark.parametrize("kind", KINDS)
def test_kafka_gave_out_the_same_records_after_it_was_opened_again(kind):
    told = recorded(kind)
    before, after = fetched(told.before), fetched(told.after)
    assert {key: [one["records"] for one in answers][-1] for key, answers in before.items()} == {
        key: [one["records"] for one in answers][-1] for key, answers in after.items()
    }
