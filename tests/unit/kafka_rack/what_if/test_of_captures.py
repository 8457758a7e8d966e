"""Real captures as workloads: the model of what was captured is near it, and all bytes of clients are there."""

from __future__ import annotations

import json

import pytest

from kafka_rack.cli import main
from kafka_rack.what_if import WhatIfChange
from kafka_rack.what_if import compare as compare_clusters
from kafka_rack.what_if.reading import read_workloads
from kafka_rack.wire_capture.captures import Options
from kafka_rack.wire_capture.files import find_files
from kafka_rack.wire_tables.reading import decode_paths
from tests.fixture_data import FIXTURES
from tests.pipeline.packet_files import rotate

CAPTURES = ("java41-range", "java41-coop", "java41-kip848", "franz-go", "confluent-classic", "aiokafka")
PLACED = ["--placer", "rack-aware", "--format", "json"]


def path_of(name):
    return str(FIXTURES / "captures" / f"{name}.jsonl.gz")


@pytest.fixture(params=CAPTURES)
def name(request):
    return request.param


def workload_of(path):
    (workload,) = read_workloads(find_files([path])[0], Options()).clusters
    return workload


def compare(workload, change):
    return compare_clusters([workload], change)


def test_every_record_batch_of_the_tables_is_in_the_workload(name):
    rows = decode_paths([path_of(name)])
    compared = compare(workload_of(path_of(name)), WhatIfChange())
    produced = sum(row["record_bytes"] for row in rows.as_dicts("produces"))
    fetched = sum(row["record_bytes"] for row in rows.as_dicts("fetches") if row["who"] != "follower")
    assert compared.measured.bills["produce"].total == compared.model.bills["produce"].total == produced
    assert compared.measured.bills["consume"].total == compared.model.bills["consume"].total == fetched


def test_the_model_of_a_capture_as_it_is_puts_its_bytes_where_they_went(name):
    """Up to the fetches that leaders answer with the name of a nearer replica, and those before the first answer."""
    compared = compare(workload_of(path_of(name)), WhatIfChange())
    for category in ("produce", "consume"):
        was, model = compared.measured.bills[category], compared.model.bills[category]
        assert abs(was.bytes["cross"] - model.bytes["cross"]) <= 0.1 * was.total
    assert compared.refused == frozenset()


def test_settings_are_what_apache_kafka_answered_an_admin_client():
    """The broker of this capture was started with RackAwareReplicaSelector; no reader was redirected."""
    workload = workload_of(path_of("java41-admin"))
    assert (workload.reads_from_followers, workload.serves_consumer_protocol, workload.notes) == (True, True, [])


def test_groups_are_as_the_wire_shows_them():
    history = compare(workload_of(path_of("java41-range")), WhatIfChange()).measured.groups["range-2"]
    assert (history.protocol, history.assignor, history.rebalances) == ("classic", "range", 1)
    modern = compare(workload_of(path_of("java41-kip848")), WhatIfChange()).measured.groups["kip848-2"]
    assert modern.protocol == "consumer"
    assert modern.rebalances > 0


def test_kafkas_own_assignor_replayed_gives_what_the_wire_had():
    workload = workload_of(path_of("java41-range"))
    compared = compare(workload, WhatIfChange(protocol="classic"))
    was, again = (outcome.groups["range-2"] for outcome in (compared.measured, compared.after))
    assert {place: {client for _, _, client in by} for place, by in was.readers.items()} == {
        place: {client for _, _, client in by} for place, by in again.readers.items()
    }
    assert (was.rebalances, was.stopped, was.moved) == (again.rebalances, again.stopped, again.moved)


def test_the_command_prints_one_screen_and_json(capsys):
    assert main(["what-if", path_of("java41-range"), "--set", "client.rack=auto"]) == 0
    screen = capsys.readouterr().out
    assert "range-2" in screen
    assert "measured after" in screen  # 7 seconds say nothing about a month
    assert main(["what-if", path_of("java41-range"), *PLACED]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["change"] == {"placer": "rack-aware"}
    near = sum(
        row["record_bytes"]
        for row in decode_paths([path_of("java41-range")]).as_dicts("fetches")
        if row["client_rack"] == row["broker_rack"]
    )
    assert found["before"]["categories"]["consume"]["local_bytes"] == near > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say what to change, such as --set client.rack=auto"),
        (["--set", "client.rack"], "expected KEY=VALUE, got 'client.rack'"),
        (["--placer", "nearest"], "expected module:Class or one of broker-replica"),
        (["--captured-with", "client.rack=a", "--set", "group.protocol=consumer"], "expected replica.selector.class"),
        (["--set", "client.rak=a"], "did you mean client.rack?"),
    ],
)
def test_wrong_usage_is_one_line(capsys, arguments, said):
    assert main(["what-if", path_of("java41-range"), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_capture_without_clients_is_said(capsys, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text('{"t":1,"ev":"open","conn":1}\n', encoding="utf-8")
    assert main(["what-if", str(empty), "--set", "group.protocol=consumer"]) == 1
    assert "no frame of clients" in capsys.readouterr().err


def test_an_input_without_a_frame_is_named_and_fails(capsys, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    capture = str(FIXTURES / "captures" / "java41-range.jsonl.gz")
    assert main(["what-if", capture, str(empty), "--set", "group.protocol=consumer"]) == 1
    printed = capsys.readouterr()
    assert printed.err == f"kafka-rack what-if: {empty}: no frame could be read\n"
    assert printed.out.startswith("what if: ")


def test_files_that_tcpdump_rotated_are_one_workload(tmp_path):
    """Connections cross the files, and their bytes count once."""
    folder = tmp_path / "rotated"
    folder.mkdir()
    rotate(folder, "java41-range.pcap.gz", 5)
    whole = workload_of(str(FIXTURES / "captures" / "java41-range.pcap.gz"))
    workload = workload_of(str(folder))
    assert {key._replace(capture=""): sums for key, sums in workload.flows.items()} == whole.flows
    assert (workload.brokers, workload.topics, workload.groups) == (whole.brokers, whole.topics, whole.groups)
