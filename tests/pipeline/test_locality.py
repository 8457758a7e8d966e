"""Bytes by rack: the sums are those that Kafka's own classes count in the captures, and each byte is counted once."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafka_rack.pipeline import job
from kafka_rack.pipeline.locality import Settings, measure
from tests.fixture_data import CAPTURES, capture_summary

WITH_RACKS = ("java41-range", "java41-kip848", "aiokafka", "kafkajs", "confluent-classic", "franz-go", "java41-txn")
WITHOUT_RACKS = ("zk39-ibp0101", "java41-share")
FOLLOWERS = ("interbroker-41-start",)
NAMES = (*WITH_RACKS, *WITHOUT_RACKS, *FOLLOWERS)


def traffic_of(out: Path) -> list[dict]:
    return pq.read_table(out / "locality" / "traffic").to_pylist()


@pytest.fixture(scope="session")
def decoded(spark, tmp_path_factory):
    out = tmp_path_factory.mktemp("decoded")
    job.decode(spark, [str(CAPTURES / f"{name}.jsonl.gz") for name in NAMES], out)
    return out


@pytest.fixture(scope="session")
def measured(spark, decoded, tmp_path_factory):
    """The result of all captures together, and the folder that it is in."""
    out = tmp_path_factory.mktemp("measured")
    return measure(spark, [str(decoded)], out, Settings()), out


@pytest.fixture(scope="session")
def traffic(measured):
    return traffic_of(measured[1])


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_every_frame_is_counted_once(traffic, name):
    found = Counter()
    for row in traffic:
        if row["capture"] == name:
            found.update({(row["api"], way): row[f"{way}_bytes"] for way in ("request", "response")})
    wanted = Counter()
    for line in capture_summary(name)["counts"]:
        wanted.update({(line["api"], way): line[f"{way}_bytes"] for way in ("request", "response")})
    assert +found == +wanted


@pytest.mark.parametrize("name", WITH_RACKS)
def test_consumers_bytes_by_rack_are_what_kafkas_classes_count(traffic, name):
    found = defaultdict(Counter)
    for row in traffic:
        if row["capture"] == name and row["api"] == "Fetch" and row["category"] == "consume":
            key = (row["client_id"], row["told_rack"] or "", row["broker_rack"])
            found[key].update(sums_of(row, fetches="calls"))
    assert dict(found) == fetches_of(name, "consumer", lambda line: (line["client_id"], line["client_rack"]))


@pytest.mark.parametrize("name", WITH_RACKS)
def test_local_is_what_a_client_reads_from_its_own_rack(traffic, name):
    found = Counter()
    for row in traffic:
        if row["capture"] == name and row["api"] == "Fetch" and row["category"] == "consume":
            found[row["locality"]] += row["bytes"]
    wanted = Counter()
    for line in capture_summary(name)["fetch_locality"]:
        told = line["client_rack"]
        verdict = "unknown" if not told else "local" if told == line["broker_rack"] else "cross"
        wanted[verdict] += line["request_bytes"] + line["response_bytes"]
    assert found == wanted


def sums_of(row, **renamed):
    sums = {name: row[name] for name in ("request_bytes", "response_bytes", "record_bytes", "records", "redirects")}
    return {**sums, **{name: row[column] for name, column in renamed.items()}}


def fetches_of(name, who, key_of):
    wanted = defaultdict(Counter)
    for line in capture_summary(name)["fetch_locality"]:
        if line["who"] == who:
            wanted[*key_of(line), line["broker_rack"]].update(sums_of(line, fetches="fetches"))
    return dict(wanted)
