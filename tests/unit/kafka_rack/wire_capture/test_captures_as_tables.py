"""Over every capture of a real client the tables give the summary's counts and sums, and packets the same frames."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache

import pytest

from kafka_rack.wire_tables.reading import decode_paths
from kafka_rack.wire_tables.rows import Rows
from tests.fixture_data import CAPTURES, capture_names, capture_summary

NAMES = capture_names()
PACKETS = sorted(path.name for path in CAPTURES.glob("*.pcap*"))
GONE_BEFORE_THE_END = {"confluent-classic": 3}
"""Responses that the proxy recorded and no longer passed on, since the client had gone: tcpdump did not see them."""


@cache
def decoded(name: str) -> Rows:
    return decode_paths([str(CAPTURES / name)])


def rows_of(name, table):
    return decoded(f"{name}.jsonl.gz").as_dicts(table)


def by_kind(rows, *keys):
    found = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        entry = found[tuple(row[key] for key in keys)]
        side = row["direction"] == "response"
        entry[side] += 1
        entry[2 + side] += row["frame_bytes"]
    return dict(found)


def numbers(line):
    return [line[name] for name in ("request", "response", "request_bytes", "response_bytes")]


@pytest.mark.parametrize("name", NAMES)
def test_frames_have_the_counts_of_each_api_and_version(name):
    wanted = {
        (line["api_key"], line["api"], line["version"]): numbers(line) for line in capture_summary(name)["counts"]
    }
    assert by_kind(rows_of(name, "frames"), "api_key", "api_name", "api_version") == wanted


@pytest.mark.parametrize("name", NAMES)
def test_frames_have_the_counts_of_each_broker(name):
    wanted = {(line["broker"], line["rack"]): numbers(line) for line in capture_summary(name)["by_broker"]}
    assert by_kind(rows_of(name, "frames"), "broker", "broker_rack") == wanted


@pytest.mark.parametrize("name", NAMES)
def test_frames_have_the_requests_of_each_client_id(name):
    found = Counter(row["client_id"] or "" for row in rows_of(name, "frames") if row["direction"] == "request")
    assert found == capture_summary(name)["client_ids"]


@pytest.mark.parametrize("name", NAMES)
def test_requests_without_a_call_are_those_never_answered(name):
    answered = {row["frame"] for row in rows_of(name, "calls")}
    found = Counter(
        (row["api_key"], row["api_version"])
        for row in rows_of(name, "frames")
        if row["direction"] == "request" and row["frame"] not in answered
    )
    unanswered = capture_summary(name)["unanswered"]
    assert found == {(line["api_key"], line["version"]): line["requests"] for line in unanswered}


BATCH_KEYS = ("side", "api", "magic", "codec", "transactional", "control")
BATCH_SUMS = ("bytes", "records", "key_bytes", "value_bytes", "headers")


@pytest.mark.parametrize("name", NAMES)
def test_batches_hold_what_kafkas_reader_counts(name):
    found = defaultdict(Counter)
    for row in rows_of(name, "batches"):
        assert row["error"] is None
        if row["api"] != "ShareFetch" and not row["partial"]:  # the summaries leave share groups out
            found[tuple(row[key] for key in BATCH_KEYS)].update(batches=1, **{key: row[key] for key in BATCH_SUMS})
    wanted = {
        tuple(line[key] for key in BATCH_KEYS): Counter({key: line[key] for key in ("batches", *BATCH_SUMS)})
        for line in capture_summary(name)["record_batches"]
    }
    assert dict(found) == wanted


FETCH_KEYS = ("who", "client_id", "client_rack", "broker_rack")
FETCH_SUMS = ("request_bytes", "response_bytes", "record_bytes", "records")


@pytest.mark.parametrize("name", NAMES)
def test_fetches_say_who_reads_how_much_from_which_rack(name):
    found = defaultdict(Counter)
    for row in rows_of(name, "fetches"):
        if row["api"] == "Fetch":
            key = (row["who"], row["client_id"], row["client_rack"] or "", row["broker_rack"])
            sums = {key: row[key] for key in FETCH_SUMS}
            found[key].update(fetches=row["first"], redirects=row["redirected"], **sums)
    wanted = {
        tuple(line[key] for key in FETCH_KEYS): Counter(
            {key: line[key] for key in ("fetches", "redirects", *FETCH_SUMS)}
        )
        for line in capture_summary(name)["fetch_locality"]
    }
    assert dict(found) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_frames_that_kafka_takes_leniently_are_told_apart_and_no_others(name):
    found = [row["frame"] for row in rows_of(name, "frames") if row["error"] is not None or row["left_over"]]
    assert found == [line["frame"] for line in capture_summary(name)["exceptions"] if "left_over" in line]
    assert rows_of(name, "problems") == []


@pytest.mark.parametrize("name", NAMES)
def test_produced_and_fetched_bytes_add_up_to_the_frames(name):
    calls = rows_of(name, "calls")
    for table, api in (("produces", "Produce"), ("fetches", "Fetch"), ("fetches", "ShareFetch")):
        of_api = [row for row in rows_of(name, table) if row["api"] == api]
        frames = {row["frame"] for row in of_api if row["response_bytes"]}
        answered = [row for row in of_api if row["frame"] in frames]
        for key in ("request_bytes", "response_bytes"):
            assert sum(row[key] for row in answered) == sum(row[key] for row in calls if row["api_name"] == api)


FRAME_KEYS = ("client_addr", "broker", "broker_rack", "direction", "api_key", "api_version", "correlation_id")
FRAME_REST = ("client_id", "frame_bytes", "error", "left_over", "body_version")


@pytest.mark.parametrize("file", PACKETS)
def test_packets_give_the_same_frames_as_the_recorder(file):
    name = file.split(".")[0]
    seen = Counter(tuple(row[key] for key in (*FRAME_KEYS, *FRAME_REST)) for row in decoded(file).as_dicts("frames"))
    recorded = Counter(tuple(row[key] for key in (*FRAME_KEYS, *FRAME_REST)) for row in rows_of(name, "frames"))
    assert seen - recorded == Counter()
    assert (recorded - seen).total() == GONE_BEFORE_THE_END.get(name, 0)
    assert decoded(file).as_dicts("problems") == []


@pytest.mark.parametrize("file", PACKETS)
def test_packets_give_the_frames_that_tshark_sees(file):
    import gzip

    name = file.split(".")[0]
    seen = Counter()
    with gzip.open(CAPTURES / f"{name}.tshark.tsv.gz", "rt", encoding="utf-8") as lines:
        columns = next(lines).rstrip("\n").split("\t")
        for line in lines:
            row = dict(zip(columns, line.rstrip("\n").split("\t"), strict=True))
            port = row["srcport"] if int(row["dstport"]) in range(22100, 22103) else row["dstport"]
            direction = "response" if port == row["dstport"] else "request"
            for size in filter(None, row["kafka_len"].split(",")):
                seen[f"127.0.0.1:{port}", direction, int(size) + 4] += 1
    found = Counter(
        (row["client_addr"], row["direction"], row["frame_bytes"]) for row in decoded(file).as_dicts("frames")
    )
    assert found == seen


def test_a_rack_aware_groups_members_name_their_racks():
    joins = [row for row in rows_of("java41-range", "memberships") if row["event"] == "join"]
    assert {row["rack_id"] for row in joins} == {"az-a", "az-b", "az-c"}
    heartbeats = [row for row in rows_of("java41-kip848", "memberships") if row["event"] == "heartbeat"]
    assert {row["rack_id"] for row in heartbeats if row["generation"] == 0} >= {"az-a", "az-b", "az-c"}
    given = [row for row in rows_of("java41-kip848", "memberships") if row["assignment"]]
    assert all(part["topic"] for row in given for part in row["assignment"])


def test_old_controllers_tell_the_brokers_racks():
    told = {
        (row["broker_id"], row["rack"]) for row in rows_of("zk39-ibp24", "brokers") if row["api"] == "UpdateMetadata"
    }
    assert told == {(0, "az-a"), (1, "az-b"), (2, "az-c")}
    registered = rows_of("interbroker-41-start", "brokers")
    assert {(row["broker_id"], row["rack"]) for row in registered if row["api"] == "BrokerRegistration"} == told


def test_partitions_carry_the_racks_of_leader_and_replicas():
    racks = {0: "az-a", 1: "az-b", 2: "az-c"}
    rows = [row for row in rows_of("java41-admin", "partitions") if row["partition"] is not None]
    assert {row["api"] for row in rows} == {"Metadata", "DescribeTopicPartitions"}
    for row in rows:
        assert row["leader_rack"] == racks.get(row["leader"])
        assert row["replica_racks"] == tuple(racks[replica] for replica in row["replicas"])
