"""The job ``audit``: violations written by hand are found, bad files are told, and tables do not depend on tasks."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafka_rack.audit import KINDS, audit
from kafka_rack.cli import main
from kafka_rack.cluster_layout import layout_of_json
from kafka_rack.pipeline.audit.job import NothingToAudit, audit_fleet
from kafka_rack.pipeline.audit.rows import SCHEMAS, AuditQuestion
from tests.pipeline.fleets import random_cluster

THREE_RACKS = [[0, "a"], [1, "a"], [2, "b"], [3, "b"], [4, "c"], [5, "c"]]
GOOD_ROWS = [[0, 2, 4], [2, 4, 1], [4, 1, 3], [1, 3, 5], [3, 5, 0], [5, 0, 2]]
"""One copy in each rack, one leader a broker."""
BY_HAND: dict[str, tuple[dict[str, Any], set[tuple[str, str | None, int | None]]]] = {
    "fine": ({"brokers": THREE_RACKS, "topics": {"orders": GOOD_ROWS}}, set()),
    "shared": (
        {"brokers": THREE_RACKS, "topics": {"orders": [*GOOD_ROWS[:5], [5, 0, 1]]}},
        {("shared-rack", "orders", 5)},
    ),
    "lost": (
        {"brokers": THREE_RACKS, "topics": {"orders": [*GOOD_ROWS[:5], [5, 4]]}},
        {("shared-rack", "orders", 5), ("lost-with-rack", "orders", 5)},
    ),
    "bare": (
        {"brokers": [*THREE_RACKS[:5], [5, None]], "topics": {"orders": GOOD_ROWS}},
        {("missing-racks", None, None), ("uneven-racks", None, None)},
    ),
    "near": (
        {"brokers": [[0, "us-east-1a"], [1, "US-EAST-1A"]], "topics": {"orders": [[0, 1], [1, 0]]}},
        {("rack-names", None, None)},
    ),
}
"""Cluster -> its description and what is wrong with it: (kind, topic, partition)."""
CLUSTERS_IN_LINES = 30


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clusters one a file, many in lines, many packed; a torn file, a bad line and a file that no one may read."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "by-hand").mkdir()
    for name, (said, _) in BY_HAND.items():
        (folder / "by-hand" / f"{name}.json").write_text(json.dumps(said))
    lines = [json.dumps(random_cluster(f"r{seed:02}", seed)) for seed in range(CLUSTERS_IN_LINES)]
    (folder / "many.jsonl").write_text("\n".join([*lines[:9], '{"brokers": [[0]]}', *lines[9:]]) + "\n")
    packed = "\n".join(json.dumps(random_cluster(f"z{seed}", 100 + seed)) for seed in range(5))
    (folder / "packed.jsonl.gz").write_bytes(gzip.compress(packed.encode()))
    (folder / "torn.json").write_text(json.dumps(BY_HAND["fine"][0])[:-20])
    return folder


@pytest.fixture(scope="module")
def out(spark: Any, fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of one run."""
    folder = tmp_path_factory.mktemp("audits") / "out"
    audit_fleet(spark, [str(fleet)], str(folder))
    return folder


def rows(out: Path, table: str) -> list[dict[str, Any]]:
    """A table's rows: clusters, the worst first, and problems as they are, others by cluster."""
    read = pq.read_table(out / table).to_pylist()
    assert all(list(row) == SCHEMAS[table].names for row in read)
    return read if table in ("clusters", "problems") else sorted(read, key=repr)


def test_violations_are_those_written_by_hand(out: Path) -> None:
    found: dict[str, set[tuple[str, str | None, int | None]]] = {name: set() for name in BY_HAND}
    for row in rows(out, "violations"):
        if row["cluster"] in found:
            found[row["cluster"]].add((row["kind"], row["topic"], row["partition"]))
    assert found == {name: wrong for name, (_, wrong) in BY_HAND.items()}


def test_each_clusters_rows_are_what_its_own_audit_says(out: Path) -> None:
    said = {name: layout_of_json(content) for name, (content, _) in BY_HAND.items()}
    said |= {f"r{seed:02}": layout_of_json(random_cluster("", seed)) for seed in range(CLUSTERS_IN_LINES)}
    said |= {f"z{seed}": layout_of_json(random_cluster("", 100 + seed)) for seed in range(5)}
    clusters = {row["cluster"]: row for row in rows(out, "clusters")}
    assert clusters.keys() == said.keys()
    for name, layout in said.items():
        own = audit(layout)
        of_own = rows_of_cluster(out, "violations", name)
        assert clusters[name]["partitions"] == own.partitions
        assert {kind: clusters[name][kind.replace("-", "_")] for kind in KINDS} == {
            kind: sum(one.kind == kind for one in own.findings) for kind in KINDS
        }
        assert Counter((row["kind"], row["topic"], row["partition"], row["detail"]) for row in of_own) == Counter(
            (one.kind, topic, number, one.text)
            for one in own.findings
            for topic, number in one.partitions or [(None, None)]
        )
        by_rack = {row["rack"]: row for row in rows_of_cluster(out, "what_if", name) if row["fails"] == "rack"}
        assert {rack: (row["unwritable"], row["lost"]) for rack, row in by_rack.items()} == {
            load.rack: (load.unwritable, load.lost) for load in own.racks if load.rack is not None
        }


def rows_of_cluster(out: Path, table: str, cluster: str) -> list[dict[str, Any]]:
    return [row for row in rows_once(out, table) if row["cluster"] == cluster]


@cache
def rows_once(out: Path, table: str) -> list[dict[str, Any]]:
    return rows(out, table)


def test_moves_restore_every_shared_rack(out: Path) -> None:
    """Applied by hand, the moves leave no two replicas in a rack while another rack has none."""
    for seed in range(CLUSTERS_IN_LINES):
        said = random_cluster("", seed)
        racks = dict(map(tuple, said["brokers"]))
        for move in rows_of_cluster(out, "repairs", f"r{seed:02}"):
            replicas = said["topics"][move["topic"]]["partitions"][move["partition"]]
            replicas[replicas.index(move["source"])] = move["target"]
        for topic in said["topics"].values():
            for replicas in topic["partitions"]:
                assert len({racks[broker] for broker in replicas}) == min(3, len(set(racks.values())))


def test_the_worst_clusters_come_first(out: Path) -> None:
    order = [row["cluster"] for row in rows(out, "clusters")]
    hand = [name for name in order if name in BY_HAND]
    assert hand == ["lost", "shared", "bare", "near", "fine"]
    assert order[-1] == "fine"


def test_what_cannot_be_read_is_a_row_and_no_end(out: Path, fleet: Path) -> None:
    bad_line, torn = rows(out, "problems")
    assert (bad_line["file"], bad_line["line"]) == (f"{fleet}/many.jsonl", 10)
    assert bad_line["reason"] == "expected topics, as an object of them or as a list of partitions, got neither"
    assert (torn["file"], torn["line"]) == (f"{fleet}/torn.json", None)
    assert torn["reason"].startswith("line 1 column ")


def test_tables_do_not_depend_on_how_spark_divides_files(spark: Any, fleet: Path, out: Path, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    try:
        audit_fleet(spark, [str(fleet)], str(tmp_path), tasks=3)
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    assert {table: rows(tmp_path, table) for table in SCHEMAS} == {table: rows(out, table) for table in SCHEMAS}
    assert (tmp_path / "audit.json").read_bytes() == (out / "audit.json").read_bytes()


def test_a_second_run_replaces_the_first_even_inside_the_folder_that_it_reads(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "lost.json").write_text(json.dumps(BY_HAND["lost"][0]))
    audit_fleet(spark, [str(tmp_path)], str(tmp_path))
    (tmp_path / "lost.json").write_text(json.dumps(BY_HAND["fine"][0]))
    found = audit_fleet(spark, [str(tmp_path)], str(tmp_path))
    assert (found.bad_clusters, found.problems) == (0, [])
    assert rows(tmp_path, "violations") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*SCHEMAS, "audit.json", "lost.json"])


def test_spark_reads_the_tables(spark: Any, out: Path) -> None:
    assert spark.read.parquet(str(out / "violations")).count() == len(rows(out, "violations"))
    assert spark.read.parquet(str(out / "repairs")).columns == SCHEMAS["repairs"].names


def test_nothing_to_audit_is_told_and_leaves_nothing(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToAudit, match=r"empty: no descriptions of clusters there"):
        audit_fleet(spark, [str(tmp_path / "empty")], str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_what_is_asked_reaches_the_tasks(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "fine.json").write_text(json.dumps(BY_HAND["fine"][0]))
    found = audit_fleet(spark, [str(tmp_path)], str(tmp_path / "out"), asked=AuditQuestion(3))
    assert found.findings["unwritable-with-rack"] == 3
    quiet = AuditQuestion(3, ignore=("unwritable-with-rack",))
    assert audit_fleet(spark, [str(tmp_path)], str(tmp_path / "out"), asked=quiet).bad_clusters == 0


@pytest.fixture
def one_session(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command uses the session of all tests, and leaves it open."""
    monkeypatch.setattr("kafka_rack.cli.pipeline.running.spark_for", lambda _: Lent(spark))


class Lent:
    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def __enter__(self) -> Any:
        return self.spark

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.usefixtures("one_session")
def test_the_command_ends_with_1_where_it_cannot_read_with_3_where_it_finds_something_and_with_0_where_not(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["pipeline", "audit", "--out", str(tmp_path)]
    assert main([*given, str(fleet)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("40 clusters, ")
    assert "2 places could not be read:" in said
    assert main([*given, str(fleet / "by-hand" / "lost.json")]) == 3
    capsys.readouterr()
    assert main([*given, str(fleet / "by-hand" / "fine.json"), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["clusters"], told["clusters_with_findings"], told["partitions"]) == (1, 0, 6)
    assert main([*given, str(fleet / "torn.json")]) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["nowhere.json"], "nowhere.json: no such file or folder"),
        ([".", "--skew", "0.5"], "--skew: expected a number of 1 or more, got '0.5'"),
        ([".", "--min-insync-replicas", "0"], "--min-insync-replicas: expected a whole number from 1"),
        ([".", "--tasks", "0"], "--tasks: expected a whole number from 1"),
        ([".", "--racks", "a,b"], "--racks and --fenced need --brokers"),
    ],
)
def test_wrong_usage_is_one_line_before_spark_starts(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "audit", *given, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()
