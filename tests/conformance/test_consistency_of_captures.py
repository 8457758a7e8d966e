"""What real Kafka did for real clients is consistent; what is planted into its answers is found, and nothing else."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from kafka_rack.consistency import Send, check
from kafka_rack.consistency.captures import CaptureReading
from kafka_rack.consistency.wire import FETCH
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import look_at
from protocol.records import iter_batches
from tests.fixture_data import CAPTURES, capture_names

PACKETS = [path.name for path in sorted(CAPTURES.glob("*.pcap*.gz"))]
ALL = [f"{name}.jsonl.gz" for name in capture_names()] + PACKETS
READERS = [  # whose captures have both the sending and the reading of some records
    "aiokafka",
    "confluent-classic",
    "confluent-kip848",
    "franz-go",
    "java41-coop",
    "java41-kip848",
    "java41-range",
    "kafka-python",
    "kafkajs",
    "kcat",
    "spark40-kafka",
    "zk39-ibp24",
]


@cache
def calls_of(name):
    reading = CaptureReading([look_at(CAPTURES / name)], Options(), [])
    return tuple(reading.calls()), reading


def operations_of(name, change=lambda call: call):
    calls, _ = calls_of(name)
    history = CaptureReading([look_at(CAPTURES / name)], Options(), []).history
    return [operation for call in calls for operation in history.operations(change(call))]


@pytest.mark.parametrize("name", ALL)
def test_real_kafkas_histories_have_no_anomalies(name):
    report = check(operations_of(name))
    assert report.counts == {}


def middle_of_what_was_read(name):
    """A batch that was acknowledged, and that a Fetch gave between two others of its partition."""
    operations = operations_of(name)
    sent = {
        (one.topic, one.partition, one.offset)
        for one in operations
        if isinstance(one, Send) and one.outcome == "acknowledged" and one.value is not None
    }
    for call in calls_of(name)[0]:
        if call.api_key == FETCH and call.response is not None and call.request.replica_id == -1:
            for topic in call.response.responses:
                for one in topic.partitions:
                    headers = [header for header in iter_batches(one.records) if not header.partial]
                    for header in headers[:-1]:
                        if any(
                            offset == header.base_offset for _, number, offset in sent if number == one.partition_index
                        ):
                            yield topic, one.partition_index, header.base_offset


def with_records(change):
    """A change of calls that changes the records of each partition in each answer to a Fetch."""

    def changed(call):
        if call.api_key != FETCH or call.response is None:
            return call
        topics = [
            msgspec.structs.replace(
                topic,
                partitions=[
                    msgspec.structs.replace(one, records=change(topic, one.partition_index, one.records))
                    for one in topic.partitions
                ],
            )
            for topic in call.response.responses
        ]
        return call._replace(response=msgspec.structs.replace(call.response, responses=topics))

    return changed


@pytest.mark.parametrize("name", [name for name in READERS if name != "aiokafka"])  # it sends with acks=1
def test_a_batch_that_is_cut_out_of_all_answers_is_a_lost_write_and_nothing_else(name):
    wanted, number, offset = next(middle_of_what_was_read(f"{name}.jsonl.gz"))

    def cut(topic, partition, records):
        if (topic.topic, topic.topic_id, partition) != (wanted.topic, wanted.topic_id, number) or not records:
            return records
        return b"".join(
            records[header.position : header.position + header.size]
            for header in iter_batches(records)
            if header.base_offset != offset
        )

    report = check(operations_of(f"{name}.jsonl.gz", with_records(cut)))
    assert report.counts == {"lost-write": 1}
    assert offset in next(one.offsets for one in report.anomalies if one.kind == "lost-write")


@pytest.mark.parametrize("name", READERS)
def test_a_producer_that_is_told_a_wrong_offset_makes_histories_that_do_not_fit(name):
    operations = operations_of(f"{name}.jsonl.gz")
    read = {
        (read.topic, read.partition, read.offset, read.value)
        for one in operations
        if hasattr(one, "reads")
        for read in one.reads
    }
    chosen = next(
        one
        for one in operations
        if isinstance(one, Send) and (one.topic, one.partition, one.offset, one.value) in read and one.value is not None
    )
    wrong = [one._replace(offset=one.offset + 100_000) if one is chosen else one for one in operations]
    report = check(wrong)
    assert set(report.counts) <= {"duplicate", "nonmonotonic-send"}
    assert report.counts["duplicate"] == 1
    assert not report.is_consistent
