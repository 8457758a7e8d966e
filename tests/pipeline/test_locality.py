"""Bytes by rack on Spark: the sums are those that Kafka's own classes count, and each byte is counted once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pytest

from kafka_rack.locality import captures
from kafka_rack.locality.captures import NothingToMeasure
from kafka_rack.locality.settings import Settings
from kafka_rack.pipeline.locality import measure, measure_stream
from tests import on_spark
from tests.fixture_data import CAPTURES, capture_summary
from tests.pipeline.packet_files import classic, rotate
from tests.pipeline.written_capture import traffic as traffic_of

NAMES = tuple(sorted(path.name.removesuffix(".summary.json") for path in CAPTURES.glob("*.summary.json")))
FOLLOWED = ("interbroker-41-start", "zk39-ibp0101", "zk39-ibp24")
FETCH = 1
BROKER_RACKS = {"0": "az-a", "1": "az-b", "2": "az-c"}
SUMS = ("record_bytes", "records", "redirects")


@pytest.fixture(scope="session")
def measured(spark, tmp_path_factory):
    """The result of all captures together, and the folder that it is in."""
    out = tmp_path_factory.mktemp("measured")
    paths = [str(CAPTURES / f"{name}.jsonl.gz") for name in NAMES]
    return measure(spark, paths, str(out), Settings()), out


@pytest.fixture(scope="session")
def traffic(tmp_path_factory):
    """The rows of each capture."""
    folder = tmp_path_factory.mktemp("captures")
    for name in NAMES:
        (folder / f"{name}.jsonl.gz").write_bytes((CAPTURES / f"{name}.jsonl.gz").read_bytes())
    found = defaultdict(list)
    for row in traffic_of(folder):
        found[row["capture"]].append(row)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_every_frame_is_counted_once(traffic, name):
    found: Counter[Any] = Counter()
    for row in traffic[name]:
        found.update({(row["api"], way): row[f"{way}_bytes"] for way in ("request", "response")})
        found[row["api"], "calls"] += row["calls"]
    wanted: Counter[Any] = Counter()
    for line in capture_summary(name)["counts"]:
        wanted.update({(line["api"], way): line[f"{way}_bytes"] for way in ("request", "response")})
        wanted[line["api"], "calls"] += line["request"]
    assert +found == +wanted


@pytest.mark.parametrize("name", NAMES)
def test_fetches_by_rack_are_what_kafkas_classes_count(traffic, name):
    """Record batches, records and answered fetches."""
    found: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in traffic[name]:
        if row["api"] == "Fetch" and row["category"] != "other":
            who = "follower" if row["category"] == "replication" else "consumer"
            told = row["told_rack"] if who == "consumer" and row["told_rack"] else ""
            sums = {column: row[column] for column in SUMS}
            found[who, row["client_id"], told, row["broker_rack"]].update({**sums, "fetches": row["calls"]})
    wanted: dict[Any, Counter[str]] = defaultdict(Counter)
    for line in capture_summary(name)["fetch_locality"]:
        if line["who"] in ("consumer", "follower"):
            key = (line["who"], line["client_id"], line["client_rack"], line["broker_rack"])
            wanted[key].update({column: line[column] for column in (*SUMS, "fetches")})
    assert {key: +sums for key, sums in found.items()} == {key: +sums for key, sums in wanted.items()}


@pytest.mark.parametrize("name", FOLLOWED)
def test_followers_are_replication_from_the_rack_of_the_replica(traffic, name):
    """A fetcher's client id begins with its broker's, and no broker copies from itself."""
    rows = [row for row in traffic[name] if row["category"] == "replication" and row["client_id"][:7] == "broker-"]
    assert rows
    for row in rows:
        assert row["client_rack"] == BROKER_RACKS[row["client_id"].split("-")[1]] != row["broker_rack"]
        assert (row["locality"], row["reason"]) == ("cross", "replication")


def test_a_topic_has_its_name_or_its_id(traffic):
    topics = {row["topic"] for rows in traffic.values() for row in rows if row["record_bytes"]}
    assert None not in topics


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_brokers_ask_each_other_comes_from_their_own_rack(traffic, name):
    apis = ("BrokerHeartbeat", "LeaderAndIsr", "UpdateMetadata")
    rows = [row for row in traffic[name] if row["api"] in apis and row["client_id"] in BROKER_RACKS]
    assert rows
    assert {(row["client_id"], row["client_rack"]) for row in rows} <= set(BROKER_RACKS.items())


@pytest.mark.parametrize("name", NAMES)
def test_local_is_what_a_client_reads_from_its_own_rack(traffic, name):
    found: Counter[str] = Counter()
    for row in traffic[name]:
        if row["api"] == "Fetch" and row["category"] == "consume":
            assert row["bytes"] == row["record_bytes"]
            found[row["locality"]] += row["bytes"]
    wanted: Counter[str] = Counter()
    for line in capture_summary(name)["fetch_locality"]:
        if line["who"] == "consumer":
            told = line["client_rack"]
            verdict = "unknown" if not told else "local" if told == line["broker_rack"] else "cross"
            wanted[verdict] += line["record_bytes"]
    assert +found == +wanted


def test_clients_that_say_nothing_stay_unknown_and_old_ones_are_told_apart(traffic):
    old = [row for row in traffic["zk39-ibp0101"] if row["category"] == "consume"]
    assert {(row["locality"], row["reason"]) for row in old} == {("unknown", "version_too_old")}
    assert all(row["cost"] == 0 and row["possible_cost"] > 0 for row in old if row["bytes"])


def test_the_total_is_that_of_all_frames_and_costs_are_those_of_its_bytes(measured):
    (result, unread), out = measured
    total = result["total"]
    assert total["bytes"] == sum(
        line["request_bytes"] + line["response_bytes"] for name in NAMES for line in capture_summary(name)["counts"]
    )
    assert total["local_bytes"] + total["cross_bytes"] + total["unknown_bytes"] == total["bytes"]
    # Each byte across racks costs a cent a GB where it leaves and one where it enters.
    assert Decimal(total["cost"]) == Decimal(total["cross_bytes"]) * Decimal("0.02") / 10**9
    assert json.loads((out / "locality.json").read_text()) == result
    assert sorted(path.name for path in out.iterdir()) == ["locality.html", "locality.json"]
    assert unread == []


def test_plain_python_gives_the_same_result(measured):
    (result, _), _ = measured
    plain = captures.measure([str(CAPTURES / f"{name}.jsonl.gz") for name in NAMES])
    assert {**plain.result, "out": result["out"]} == result


def test_one_process_writes_the_same_bytes_of_rotated_doubled_and_damaged_captures(spark, tmp_path):
    """A connection crosses files, another was captured at both ends; gzip, lines and packets are damaged."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    rotate(folder, "java41-range.pcap.gz", 4)
    head, packets = classic("aiokafka.pcap.gz")
    (folder / "at-client.pcap").write_bytes(head + b"".join(packets))
    (folder / "at-broker.pcap").write_bytes(head + b"".join(packets[20:]))
    damaged = bytearray((CAPTURES / "kcat.jsonl.gz").read_bytes())
    damaged[len(damaged) // 2 :] = bytes(len(damaged) // 4)
    (folder / "damaged.jsonl.gz").write_bytes(damaged)
    on_spark.put_captures(folder, ())
    (folder / "torn.pcap").write_bytes(head + b"".join(packets)[:-1_000])
    (folder / "none.pcap").write_bytes(b"no packets at all")
    measure(spark, [str(folder)], str(out), Settings())
    plain = captures.measure([str(folder)], out=str(out)).result
    found = plain["completeness"]
    assert found["connections_captured_twice"] > 0
    assert "gzip: " in str(found["problems"])
    assert [one["input"] for one in found["refused"]] == [str(folder / "none.pcap")]
    text = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    assert (out / "locality.json").read_text() == text


def test_what_is_no_capture_leaves_the_results_of_before(spark, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "locality.json").write_text("before")
    with pytest.raises(NothingToMeasure):
        measure(spark, [str(tmp_path / "empty.jsonl")], str(tmp_path), Settings())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "locality.json"]


def test_a_stream_adds_each_new_file_to_the_result_once(spark, tmp_path):
    """Also after a crash: the last batch, whose commit is lost, is read again."""
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    lines = on_spark.unpacked("kafka-python.jsonl").splitlines(keepends=True)
    batches = []

    def run():
        how = {"available_now": True, "on_batch": lambda batch, _: batches.append(batch)}
        measure_stream(spark, [str(folder)], str(out), str(checkpoint), Settings(), **how).awaitTermination()
        return (out / "locality.json").read_text()

    (folder / "first.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))
    (folder / "java41.jsonl").write_bytes(on_spark.unpacked("java41-range.jsonl"))
    before = run()
    (folder / "second.jsonl").write_bytes(b"".join(lines[len(lines) // 2 :]))
    after = run()
    for commit in checkpoint.glob("commits/*1*"):
        commit.unlink()
    assert run() == run() == after != before
    assert batches == [0, 1, 1]
    plain = captures.measure([str(folder)], out=str(out)).result
    assert after == json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    assert plain["completeness"]["unreadable_frames"] > json.loads(before)["completeness"]["unreadable_frames"]
