"""What Kafka's own reader counted in the records of every capture, counted by ours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import protocol
from protocol.records import BatchHeader, iter_batch_records, iter_batches
from tests.fixture_data import CapturedFrame, capture_names, capture_summary, captured_frames

# Share groups' fetches carry records too; the summaries count only these two.
CARRIERS = {("request", 0): "Produce", ("response", 1): "Fetch"}


def record_fields(frame: CapturedFrame) -> Iterator[bytes]:
    """The records fields of a Produce request or a Fetch answer that are not null."""
    if frame.kind == "request":
        _, message = protocol.read_request(frame.data)
        partitions = (partition for topic in message.topic_data for partition in topic.partition_data)
    else:
        _, message = protocol.read_response(frame.data, frame.api_key, frame.version)
        partitions = (partition for topic in message.responses for partition in topic.partitions)
    for partition in partitions:
        if partition.records is not None:
            yield partition.records


def kind_of(frame: CapturedFrame, header: BatchHeader) -> tuple[tuple[str, Any], ...]:
    return (
        ("side", frame.kind),
        ("api", CARRIERS[frame.kind, frame.api_key]),
        ("magic", header.magic),
        ("codec", header.codec.name.lower()),
        ("transactional", header.is_transactional),
        ("control", header.is_control),
    )


@pytest.mark.parametrize("name", capture_names())
def test_batches_and_records_are_counted_as_kafka_counts_them(name: str) -> None:
    counts: dict[Any, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    partial = 0
    for frame in captured_frames(name):
        if (frame.kind, frame.api_key) not in CARRIERS:
            continue
        for records in record_fields(frame):
            for header in iter_batches(records):
                if header.partial:
                    partial += 1
                    continue
                count = counts[kind_of(frame, header)]
                count["batches"] += 1
                count["bytes"] += header.size
                for record in iter_batch_records(records, header):
                    count["records"] += 1
                    count["key_bytes"] += len(record.key or b"")
                    count["value_bytes"] += len(record.value or b"")
                    count["headers"] += len(record.headers)
    found = [dict(kind) | count for kind, count in counts.items()]
    # A batch cut off has neither codec nor records; Kafka's count of them is beside those of whole ones.
    expected = [count for count in capture_summary(name)["record_batches"] if not count.get("partial")]
    assert sorted(found, key=repr_of) == sorted(expected, key=repr_of)
    assert (partial > 0) == any(count.get("partial") for count in capture_summary(name)["record_batches"])


def repr_of(count: dict[str, Any]) -> str:
    return repr(sorted(count.items()))
