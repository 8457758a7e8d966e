"""Record bytes made, stored and down-converted by Apache Kafka's own classes (fixtures/records) against ours."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import pytest

from protocol.records import (
    CompressionCodec,
    ControlType,
    Record,
    UnsupportedCompressionError,
    assign_offsets,
    build_batch,
    build_control_batch,
    build_transaction_marker,
    control_type,
    coordinator_epoch,
    down_convert,
    iter_batches,
    iter_records,
    validate,
)
from tests.cases import for_each
from tests.fixture_data import FIXTURES


@cache
def load(name: str) -> dict[str, Any]:
    fixture: dict[str, Any] = json.loads((FIXTURES / f"records/{name}.json").read_text(encoding="utf-8"))
    return fixture


@cache
def cases() -> list[tuple[str, tuple[dict[str, Any]]]]:
    return [
        (f"{name}, {case['codec']}, {case['name']}", (case,))
        for name in ("magic0", "magic1", "magic2", "control")
        for case in load(name)["cases"]
    ]


def cases_with(*keys: str) -> list[tuple[str, tuple[dict[str, Any], str]]]:
    """The cases that have one of these, beside which."""
    return [(f"{name}, {key}", (case, key)) for name, (case,) in cases() for key in keys if key in case]


def content(value: bytes | None) -> Any:
    if value is None or len(value) <= 1_000:
        return None if value is None else value.hex()
    return {"length": len(value), "sha256": hashlib.sha256(value).hexdigest()}


def shown(records: bytes) -> list[dict[str, Any]]:
    return [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "sequence": record.sequence,
            "key": content(record.key),
            "value": content(record.value),
            "headers": [[key, content(value)] for key, value in record.headers],
        }
        for record in iter_records(records)
    ]


@for_each(cases)
def test_records_read_as_kafkas_reader_reads_them(case: dict[str, Any]) -> None:
    assert shown(bytes.fromhex(case["hex"])) == case["records"]


@for_each(cases)
def test_headers_say_what_kafkas_reader_says(case: dict[str, Any]) -> None:
    found, expected = [], []
    for header, wanted in zip(iter_batches(bytes.fromhex(case["hex"])), case["batches"], strict=True):
        # Kafka opens a message to say where it begins and how many it holds.
        deep = {"base_offset": header.base_offset, "count": header.record_count} if header.magic < 2 else {}
        expected.append(wanted | deep)
        found.append(
            {
                "magic": header.magic,
                "size": header.size,
                "base_offset": header.base_offset,
                "last_offset": header.last_offset,
                "codec": header.codec.name.lower(),
                "log_append_time": header.timestamp_type == 1,
                "max_timestamp": header.max_timestamp,
                "crc": header.crc,
                "count": header.record_count,
                "producer_id": header.producer_id,
                "producer_epoch": header.producer_epoch,
                "base_sequence": header.base_sequence,
                "last_sequence": header.last_sequence,
                "transactional": header.is_transactional,
                "control": header.is_control,
                "leader_epoch": header.partition_leader_epoch,
                "delete_horizon_ms": header.delete_horizon_ms,
            }
        )
    assert found == expected


def rebuilt(case: dict[str, Any]) -> bytes:
    """The case's records written by our builder with the settings that its batches show."""
    records, parts = list(iter_records(bytes.fromhex(case["hex"]))), []
    for header in iter_batches(bytes.fromhex(case["hex"])):
        own = [record for record in records if record.batch == header]
        append_time = header.timestamp_type == 1
        if append_time and header.magic == 2:
            # The batch keeps the producer's times, which its reader no longer tells.
            times = [header.base_timestamp, 1_703_000_000_000, 1_699_999_999_995, -1]
            own = [
                Record(record.offset, time, record.key, record.value, record.headers)
                for record, time in zip(own, times, strict=True)
            ]
        more: dict[str, Any] = {}
        if header.magic == 2:
            more = {
                "leader_epoch": header.partition_leader_epoch,
                "producer_id": header.producer_id,
                "producer_epoch": header.producer_epoch,
                "base_sequence": header.base_sequence,
                "transactional": header.is_transactional,
                "delete_horizon_ms": header.delete_horizon_ms,
            }
        parts.append(
            build_batch(
                own,
                magic=header.magic,
                codec=header.codec,
                base_offset=own[0].offset,
                log_append_time_ms=header.max_timestamp if append_time else None,
                **more,
            )
        )
    return b"".join(parts)


@for_each(lambda: [case for case in cases() if "type" not in case[1][0]])
def test_our_builder_writes_what_kafkas_builder_wrote(case: dict[str, Any]) -> None:
    ours = rebuilt(case)
    assert shown(ours) == case["records"]
    if case["codec"] == "none":  # compressors differ in their choices
        assert ours.hex() == case["hex"]


@for_each(lambda: [case for case in cases() if "type" in case[1][0]])
def test_control_batches_are_told_apart_and_written_as_kafka_writes_them(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    (header,) = iter_batches(data)
    (record,) = iter_records(data)
    assert record.is_control
    assert control_type(record) == ControlType[case["type"]]
    place = {
        "base_offset": record.offset,
        "timestamp": record.timestamp,
        "leader_epoch": header.partition_leader_epoch,
    }
    producer = {"producer_id": header.producer_id, "producer_epoch": header.producer_epoch}
    assert record.value is not None
    assert data == build_control_batch(
        control_type(record), record.value, transactional=header.is_transactional, **place, **producer
    )
    if "coordinator_epoch" in case:
        assert coordinator_epoch(record) == case["coordinator_epoch"]
        assert data == build_transaction_marker(
            commit=case["type"] == "COMMIT", coordinator_epoch=case["coordinator_epoch"], **place, **producer
        )


@for_each(lambda: cases_with("stored", "stored_log_append_time"))
def test_a_log_stores_what_kafkas_log_stores(case: dict[str, Any], key: str) -> None:
    data = bytes.fromhex(case["hex"])
    validate(data)
    log = load("magic2")
    append_time = log["log_append_time_ms"] if key == "stored_log_append_time" else None
    appended = assign_offsets(data, log["stored_at_offset"], log["stored_leader_epoch"], append_time)
    wanted = case[key]
    assert shown(appended.records) == wanted["records"]
    assert appended.max_timestamp == wanted["max_timestamp"]
    assert appended.record_count == len(case["records"])
    assert appended.last_offset == wanted["records"][-1]["offset"]
    (header, *_) = iter_batches(data)
    if header.magic > 0 or not header.is_compressed:  # magic 0 is compressed anew
        assert appended.records.hex() == wanted["hex"]


@for_each(lambda: cases_with("down_converted_to_0", "down_converted_to_1"))
def test_older_consumers_are_sent_what_kafka_sends_them(case: dict[str, Any], key: str) -> None:
    wanted, magic = case[key], int(key[-1])
    data = bytes.fromhex(case["hex"])
    if "refused" in wanted:
        with pytest.raises(UnsupportedCompressionError):
            down_convert(data, magic)
        return
    converted = down_convert(data, magic)
    assert shown(converted) == wanted["records"]
    if case["codec"] == "none":
        assert converted.hex() == wanted["hex"]


def test_the_fixtures_hold_every_magic_with_every_codec_it_may_have() -> None:
    kinds = {(batch["magic"], batch["codec"]) for _, (case,) in cases() for batch in case["batches"]}
    codecs = {codec.name.lower() for codec in CompressionCodec}
    assert kinds == {(2, codec) for codec in codecs} | {
        (magic, codec) for magic in (0, 1) for codec in codecs - {"zstd"}
    }
