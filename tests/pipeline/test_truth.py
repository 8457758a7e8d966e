"""The Parquet tables of every capture give every number of its summary, and packets the recorder's frames."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest

from kafka_rack.pipeline.decode import decode
from tests.fixture_data import CAPTURES, capture_names, capture_summary
from tests.pipeline.steps import comparable, stored_tables, tables_in_one
from tests.pipeline.summaries import COUNTED, TOLD, tables_by_capture

NAMES = capture_names()
PACKETS = sorted(path.name.removesuffix(".gz") for path in CAPTURES.glob("*.pcap*"))
GONE_BEFORE_THE_END = {"confluent-classic": 3}
"""Responses that the proxy recorded and no longer passed on, since the client had gone: tcpdump did not see them."""
SILENT = {"kafkajs": 1}
"""Connections of a summary that carried no frame."""
NEWER_HEADERS = {(18, 5): 2}
"""Header versions of requests (API key, version) that the Kafka 4.1.0 which summed up the captures did not know."""
RACK_FIRST = "rack\tcorrelation_id\tclient_id"
"""How three of tshark's columns stand in the rows, other than in the line above them."""
SAME = (
    *("client_addr", "broker", "broker_rack", "direction", "api_key", "api_version", "correlation_id", "client_id"),
    *("frame_bytes", "error", "left_over", "body_version", "header_version"),
)


@pytest.fixture(scope="module")
def written():
    """The tables of all captures, as one process makes them."""
    return tables_in_one([CAPTURES])


@pytest.fixture(scope="module")
def captures(written):
    return tables_by_capture(written)


def in_order(value):
    """Lists without their order; what a summary leaves out counts as nothing."""
    return sorted(json.dumps(line, sort_keys=True) for line in value) if isinstance(value, list) else value


def wanted(name, key):
    told = capture_summary(name)[key]
    if key == "connections":
        return told - SILENT.get(name, 0)
    if key == "exceptions":  # a version that the recorded Kafka did not know is read here
        return [{part: line[part] for part in line if part != "what"} for line in told if "left_over" in line]
    if key == "counts":
        newer = [NEWER_HEADERS.get((line["api_key"], line["version"])) for line in told]
        return [
            line if header is None else {**line, "request_header": header}
            for line, header in zip(told, newer, strict=True)
        ]
    return told


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_give_what_the_summary_says(captures, name):
    """All of it: a key that is counted nowhere fails too."""
    keys = sorted(set(capture_summary(name)) - {*TOLD, "listeners"})
    found = {key: in_order(COUNTED[key](captures[name])) for key in keys}
    assert found == {key: in_order(wanted(name, key)) for key in keys}


@pytest.mark.parametrize("name", NAMES)
def test_brokers_are_met_at_their_listeners(captures, name):
    there = [{key: one[key] for key in ("listener", "broker", "rack")} for one in capture_summary(name)["listeners"]]
    met = COUNTED["listeners"](captures[name])
    assert met
    assert all(one in there for one in met)


def test_there_is_no_problem_in_any_capture(captures):
    assert set(captures) == {*NAMES, *PACKETS}
    assert [row for tables in captures.values() for row in tables["problems"]] == []


@pytest.mark.parametrize("file", PACKETS)
def test_packets_give_the_frames_and_batches_of_the_recorder(captures, file):
    name = file.split(".")[0]
    gone = GONE_BEFORE_THE_END.get(name, 0)
    seen, recorded = (
        Counter(tuple(row[key] for key in SAME) for row in captures[one]["frames"]) for one in (file, name)
    )
    assert seen - recorded == Counter()
    assert (recorded - seen).total() == gone
    assert len(captures[name]["calls"]) - len(captures[file]["calls"]) == gone
    if not gone:
        for key in ("record_batches", "client_ids", "fetch_locality", "by_broker"):
            assert in_order(COUNTED[key](captures[file])) == in_order(wanted(name, key))


def framed_by_tshark(file):
    """Its frames as (client's address, direction, bytes); and those whose header it gives, with the correlation id and
    of requests the API and version. The fields of a packet with several frames are lists, and fewer for some.
    """
    sizes, headers = Counter(), Counter()
    with gzip.open(CAPTURES / f"{file.split('.')[0]}.tshark.tsv.gz", "rt", encoding="utf-8") as lines:
        columns = next(lines).rstrip("\n").replace("correlation_id\tclient_id\track", RACK_FIRST).split("\t")
        for line in lines:
            row = dict(zip(columns, line.rstrip("\n").split("\t"), strict=True))
            asks = int(row["dstport"]) in range(22100, 22103)
            client, side = f"127.0.0.1:{row['srcport' if asks else 'dstport']}", "request" if asks else "response"
            inside = [(client, side, int(size) + 4) for size in row["kafka_len"].split(",") if size]
            sizes.update(inside)
            keys = ("correlation_id", "request_key", "request_version") if asks else ("correlation_id",)
            told = [row[key].split(",") for key in keys]
            if all(len(values) == len(inside) and "" not in values for values in told):
                headers.update((*one, *map(int, values)) for one, *values in zip(inside, *told, strict=True))
    return sizes, headers


@pytest.mark.parametrize("file", PACKETS)
def test_packets_are_framed_as_tshark_frames_them(captures, file):
    sizes, headers = framed_by_tshark(file)
    frames = [(row, (row["client_addr"], row["direction"], row["frame_bytes"])) for row in captures[file]["frames"]]
    assert Counter(frame for _, frame in frames) == sizes
    found = Counter(
        (*frame, row["correlation_id"], row["api_key"], row["api_version"])
        if row["direction"] == "request"
        else (*frame, row["correlation_id"])
        for row, frame in frames
    )
    assert headers - found == Counter()
    assert headers.total() > sizes.total() * 9 // 10


def test_spark_writes_the_same_tables(spark, written, tmp_path):
    summary = decode(spark, [str(CAPTURES)], str(tmp_path))
    assert comparable(stored_tables(tmp_path)) == comparable(written)
    assert summary.captures == {*NAMES, *PACKETS}
    assert summary.tables == {table: len(rows) for table, rows in written.items() if rows}
