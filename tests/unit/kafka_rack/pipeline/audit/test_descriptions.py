"""Files of clusters: what is found, what each line gives, and why a bad one gives none."""

from __future__ import annotations

import gzip
import json
from random import Random

import pytest

from kafka_rack.pipeline.audit.descriptions import Described, UnreadableCluster, cluster_of, clusters_of, find_pieces
from kafka_rack.placement import UsableBroker

GOOD = {"brokers": [[0, "a"], [1, "b"]], "topics": {"orders": [[0, 1]]}}


def found_in(*paths, brokers=None, leave_out=()):
    pieces, problems = find_pieces([str(path) for path in paths], leave_out=leave_out)
    return [*(one for piece in pieces for one in clusters_of(piece, brokers)), *problems]


def test_a_folder_gives_its_descriptions_by_path_and_passes_over_the_rest(tmp_path):
    (tmp_path / "eu").mkdir()
    (tmp_path / "_made").mkdir()
    for name in ("us.json", "eu/west.json", "_made/audit.json", ".hidden.json", "notes.txt"):
        (tmp_path / name).write_text(json.dumps(GOOD))
    assert [(one.cluster, one.file) for one in found_in(tmp_path)] == [
        ("west", f"{tmp_path}/eu/west.json"),
        ("us", f"{tmp_path}/us.json"),
    ]


def test_the_jobs_own_file_is_no_description(tmp_path):
    for name in ("us.json", "audit.json"):
        (tmp_path / name).write_text(json.dumps(GOOD))
    assert [one.cluster for one in found_in(tmp_path, leave_out=[tmp_path / "audit.json"])] == ["us"]


def test_a_file_named_twice_is_read_once(tmp_path):
    (tmp_path / "us.json").write_text(json.dumps(GOOD))
    assert len(found_in(tmp_path, tmp_path / "us.json")) == 1


def test_a_path_that_is_not_there_is_an_error_of_its_own(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json: no such file or folder"):
        find_pieces([str(tmp_path / "none.json")])


@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_clusters_with_their_numbers_and_a_bad_one_harms_no_other(tmp_path, packed):
    lines = [json.dumps({**GOOD, "name": "one"}), "", "{", json.dumps(GOOD)]
    content = "\n".join(lines).encode()
    path = tmp_path / ("fleet.jsonl.gz" if packed else "fleet.jsonl")
    path.write_bytes(gzip.compress(content) if packed else content)
    one, bad, other = found_in(path)
    assert (one.cluster, one.line) == ("one", 1)
    assert bad == UnreadableCluster(str(path), 3, "column 2: Expecting property name enclosed in double quotes")
    assert (other.cluster, other.line) == ("fleet:4", 4)


def test_a_gzip_file_cut_off_gives_its_good_lines_and_a_problem(tmp_path):
    lines = b"".join(
        json.dumps({**GOOD, "name": f"cluster {n}", "salt": Random(n).random()}).encode() + b"\n" for n in range(400)
    )
    path = tmp_path / "fleet.jsonl.gz"
    path.write_bytes(gzip.compress(lines)[:-200])
    *good, bad = found_in(path)
    assert good
    assert all(isinstance(one, Described) for one in good)
    assert bad == UnreadableCluster(str(path), len(good) + 1, "gzip: the file ends before its data do")


def test_a_folder_by_the_name_of_a_file_is_looked_into(tmp_path):
    (tmp_path / "odd.json").mkdir()
    assert found_in(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "line 1 column 1: Expecting value"),
        (b'{"brokers": [[0, "a"]]\n "topics"}', "line 2 column 2: Expecting ',' delimiter"),
        (b'"\xff"', "is no UTF-8 text"),
        (b"[]", "expected an object with brokers and topics, got a list"),
        (b"[" * 200_000, "lists or objects nested far deeper than any description"),
        (b'{"brokers": [[' + b"9" * 5000 + b"]]}", "a number with more digits than any field has"),
        (b'{"topics": {"orders": [[0]]}}', "it names no brokers: add them, or give them beside it"),
        (b'{"brokers": [[0]], "topics": {"orders": [[7]]}}', "orders-0 is on broker 7, which is not among the brokers"),
        (b'{"brokers": [[2147483648]], "topics": {}}', "broker 2147483648: ids go up to 2147483647"),
        (b'{"brokers": [[0, "\\ud800"]], "topics": {}}', "?: half of a surrogate pair is no text"),
    ],
)
def test_what_is_no_description_says_why(content, reason):
    assert cluster_of(content, "x.json", None) == UnreadableCluster("x.json", None, reason)


def test_a_long_reason_is_cut():
    bad = json.dumps({"brokers": ["x" * 10_000], "topics": {}}).encode()
    found = cluster_of(bad, "x.json", None)
    assert isinstance(found, UnreadableCluster)
    assert len(found.reason) < 500


def test_brokers_given_beside_are_those_of_plans_that_name_none(tmp_path):
    plan = {"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [5]}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "whole.json").write_text(json.dumps(GOOD))
    plan_found, whole = found_in(tmp_path, brokers=[UsableBroker(5, "z")])
    assert plan_found.layout.rack_of == {5: "z"}
    assert whole.layout.rack_of == {0: "a", 1: "b"}
