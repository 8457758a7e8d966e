"""Bytes by rack on Spark: the sums are those that Kafka's own classes count, and each byte is counted once."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafka_rack.locality import Prices, RackRules, captures
from kafka_rack.locality.captures import NothingToMeasure
from kafka_rack.locality.settings import Settings
from kafka_rack.locality.traffic import GROUPINGS
from kafka_rack.pipeline.decode import job
from kafka_rack.pipeline.locality.job import RESULT, follow, measure
from kafka_rack.pipeline.output.writing import SchemaMismatch
from tests.fixture_data import CAPTURES, capture_summary, captured_frames

NAMES = tuple(sorted(path.name.removesuffix(".summary.json") for path in CAPTURES.glob("*.summary.json")))
FOLLOWED = ("interbroker-41-start", "zk39-ibp0101", "zk39-ibp24")
FETCH = 1
BROKER_RACKS = {"0": "az-a", "1": "az-b", "2": "az-c"}
SUMS = ("request_bytes", "response_bytes", "record_bytes", "records", "redirects")


def rows_of(out: Path, table: str = "traffic") -> list[dict[str, Any]]:
    return pq.read_table(out / "locality" / table).to_pylist()


def tables_of(out: Path) -> dict[str, list[str]]:
    return {name: sorted(repr(row) for row in rows_of(out, name)) for name in ("traffic", *GROUPINGS)}


@pytest.fixture(scope="session")
def decoded(spark, tmp_path_factory):
    out = tmp_path_factory.mktemp("decoded")
    job.decode(spark, [str(CAPTURES / f"{name}.jsonl.gz") for name in NAMES], out)
    return out


@pytest.fixture(scope="session")
def few(spark, tmp_path_factory):
    """Three of them: with clients' racks, with followers, with neither groups' racks nor followers."""
    out = tmp_path_factory.mktemp("few")
    names = ("java41-range", "interbroker-41-start", "kafkajs")
    job.decode(spark, [str(CAPTURES / f"{name}.jsonl.gz") for name in names], out)
    return out


@pytest.fixture(scope="session")
def measured(spark, decoded, tmp_path_factory):
    """The result of all captures together, and the folder that it is in."""
    out = tmp_path_factory.mktemp("measured")
    return measure(spark, [str(decoded)], out, Settings()), out


@pytest.fixture(scope="session")
def traffic(measured):
    found = defaultdict(list)
    for row in rows_of(measured[1]):
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
    """All but what they leave out: followers' fetches without an answer, found here in the capture's own lines."""
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
    for (client_id, rack), sizes in unanswered_fetches(name).items():
        if client_id.startswith(("broker-", "raft-client-")):
            wanted["follower", client_id, "", rack].update(request_bytes=sum(sizes), fetches=len(sizes))
    assert {key: +sums for key, sums in found.items()} == {key: +sums for key, sums in wanted.items()}


def test_there_are_followers_fetches_without_an_answer():
    sizes = [size for found in unanswered_fetches("interbroker-41-start").values() for size in found]
    (told,) = capture_summary("interbroker-41-start")["unanswered"]
    assert len(sizes) == told["requests"] == 34


@cache
def unanswered_fetches(name: str) -> dict[tuple[str, str], list[int]]:
    """By client id and the broker's rack the bytes of Fetch requests whose correlation id never comes back."""
    asked: dict[tuple[int, int], tuple[str, str, int]] = {}
    for frame in captured_frames(name):
        call = frame.connection, frame.correlation_id
        if frame.kind == "response":
            asked.pop(call, None)
        elif frame.api_key == FETCH:
            length = int.from_bytes(frame.data[8:10], "big")
            client_id = frame.data[10 : 10 + length].decode()
            asked[call] = client_id, BROKER_RACKS[str(frame.broker)], len(frame.data)
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for client_id, rack, size in asked.values():
        found[client_id, rack].append(size + 4)
    return found


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
            found[row["locality"]] += row["bytes"]
    wanted: Counter[str] = Counter()
    for line in capture_summary(name)["fetch_locality"]:
        if line["who"] == "consumer":
            told = line["client_rack"]
            verdict = "unknown" if not told else "local" if told == line["broker_rack"] else "cross"
            wanted[verdict] += line["request_bytes"] + line["response_bytes"]
    assert found == wanted


def test_clients_that_say_nothing_stay_unknown_and_old_ones_are_told_apart(traffic):
    old = [row for row in traffic["zk39-ibp0101"] if row["category"] == "consume"]
    assert {(row["locality"], row["reason"]) for row in old} == {("unknown", "version_too_old")}
    assert all(row["cost"] == 0 and row["possible_cost"] > 0 for row in old if row["bytes"])


def test_every_table_sums_up_to_the_total_and_costs_are_those_of_its_bytes(measured):
    result, out = measured
    total = result["total"]
    assert total["bytes"] == sum(
        line["request_bytes"] + line["response_bytes"] for name in NAMES for line in capture_summary(name)["counts"]
    )
    for name in GROUPINGS:
        rows = rows_of(out, name)
        assert sum(row["bytes"] for row in rows) == total["bytes"]
        assert sum(row["cost"] for row in rows) == Decimal(total["cost"])
    assert total["local_bytes"] + total["cross_bytes"] + total["unknown_bytes"] == total["bytes"]
    # Each byte across racks costs a cent a GB where it leaves and one where it enters.
    assert Decimal(total["cost"]) == Decimal(total["cross_bytes"]) * Decimal("0.02") / 10**9
    assert Decimal(total["possible_cost"]) == Decimal(total["unknown_bytes"]) * Decimal("0.02") / 10**9
    assert json.loads((out / RESULT).read_text()) == result
    assert sorted(path.name for path in out.iterdir()) == ["locality", "locality.html", "locality.json"]


def test_plain_python_gives_the_same_result(measured):
    result, _ = measured
    plain = captures.measure([str(CAPTURES / f"{name}.jsonl.gz") for name in NAMES])
    assert {**plain.result, "out": result["out"]} == result
    assert plain.unread == []


def test_prices_racks_and_windows_change_what_they_are_for_and_running_again_replaces(spark, few, tmp_path):
    rules = RackRules.read("az-c@client:live-writer", "racks")
    before = measure(spark, [str(few)], tmp_path, Settings())
    settings = Settings(Prices(free_replication=True), rules, 3_600_000_000, racks_file="racks")
    result = measure(spark, [str(few)], tmp_path, settings)
    rows = rows_of(tmp_path)
    assert result["total"]["bytes"] == before["total"]["bytes"] == sum(row["bytes"] for row in rows)
    assert {row["client_rack"] for row in rows if row["client_id"] == "live-writer"} == {"az-c"}
    assert result["total"]["unknown_bytes"] < before["total"]["unknown_bytes"]
    replicated = sum(row["bytes"] for row in rows if row["category"] == "replication")
    crossed = sum(row["bytes"] for row in rows if row["locality"] == "cross")
    assert replicated > 0
    assert Decimal(result["total"]["cost"]) == Decimal(crossed - replicated) * Decimal("0.02") / 10**9
    assert all(row["window_start"] == row["window_start"].replace(minute=0, second=0, microsecond=0) for row in rows)


def test_a_window_holds_the_bytes_of_its_time(spark, few, tmp_path):
    measure(spark, [str(few)], tmp_path, Settings(window_us=2_000_000))
    found: Counter[datetime] = Counter()
    for row in rows_of(tmp_path, "traffic"):
        if row["capture"] == "kafkajs" and row["category"] == "other":
            found[row["window_start"]] += row["bytes"]
    wanted: Counter[datetime] = Counter()
    for frame in captured_frames("kafkajs"):
        if frame.api_key > FETCH:  # neither Produce nor it
            wanted[datetime.fromtimestamp(frame.time_us // 2_000_000 * 2, UTC)] += len(frame.data) + 4
    assert found == wanted


def test_captures_their_tables_and_a_stream_give_the_same(spark, tmp_path):
    folder = tmp_path / "captures"
    folder.mkdir()
    settings = Settings(window_us=1_000_000)

    def stream():
        query = follow(spark, [str(folder)], tmp_path / "stream", tmp_path / "checkpoint", settings, available_now=True)
        query.awaitTermination()

    for name in ("aiokafka", "java41-txn"):
        (folder / f"{name}.jsonl.gz").write_bytes((CAPTURES / f"{name}.jsonl.gz").read_bytes())
        stream()
    captures = measure(spark, [str(folder)], tmp_path / "captures-out", settings)
    job.decode(spark, [str(folder)], tmp_path / "tables")
    tables = measure(spark, [str(tmp_path / "tables")], tmp_path / "tables-out", settings)
    streamed = json.loads((tmp_path / "stream" / RESULT).read_text())
    assert {**captures, "out": ""} == {**tables, "out": ""} == {**streamed, "out": ""}
    assert tables_of(tmp_path / "captures-out") == tables_of(tmp_path / "tables-out") == tables_of(tmp_path / "stream")
    assert captures["span"]["captures"] == 2


def test_a_large_capture_is_judged_in_pieces_that_add_up(spark, tmp_path):
    folder = tmp_path / "captures"
    folder.mkdir()
    text = gzip.decompress((CAPTURES / "interbroker-41-start.jsonl.gz").read_bytes())
    (folder / "interbroker-41-start.jsonl").write_bytes(text)
    job.decode(spark, [str(folder)], tmp_path / "tables", partitions=8)
    result = measure(spark, [str(tmp_path / "tables")], tmp_path / "pieces", Settings(window_us=60_000_000))
    whole = measure(spark, [str(folder)], tmp_path / "whole", Settings(window_us=60_000_000))
    assert {**result, "out": ""} == {**whole, "out": ""}
    assert tables_of(tmp_path / "pieces") == tables_of(tmp_path / "whole")


def test_what_is_no_capture_leaves_the_results_of_before(spark, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "locality.json").write_text("before")
    with pytest.raises(NothingToMeasure):
        measure(spark, [str(tmp_path / "empty.jsonl")], tmp_path, Settings())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "locality.json"]
    (tmp_path / "schema.json").write_text('{"schema_version": 999}')
    with pytest.raises(SchemaMismatch, match="schema version 999"):
        measure(spark, [str(tmp_path)], tmp_path / "out", Settings())
