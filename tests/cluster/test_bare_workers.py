"""Each job on two workers with nothing but a Python gives what plain Python does, of captures whole and cut off."""

from __future__ import annotations

import json
import os
import signal
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kafka_rack.audit import KINDS, audit
from kafka_rack.cli import main
from kafka_rack.cluster_layout import layout_of_json
from kafka_rack.pipeline.audit.rows import SCHEMAS
from kafka_rack.pipeline.fuzz.checks import checks_for
from kafka_rack.pipeline.fuzz.job import fuzz
from kafka_rack.pipeline.fuzz.plan import FuzzPlan, chosen
from kafka_rack.pipeline.fuzz.results import Results
from kafka_rack.pipeline.fuzz.work import run_chunk
from kafka_rack.pipeline.output.commits import TEMPORARY
from kafka_rack.pipeline.spark.session import spark_session
from tests.cluster.conftest import NAMES, WORKERS
from tests.fixture_data import CAPTURES
from tests.on_spark import unpacked
from tests.pipeline.cluster import LOOPBACK, SparkCluster, cluster_of_processes, pythons_of
from tests.pipeline.fleets import random_cluster
from tests.pipeline.plain import plain_tables, tables_of
from tests.pipeline.sent import NEEDS

ROOT = Path(__file__).resolve().parents[2]
TASKS = "9"
"""More than there are files."""
CLUSTERS, IN_A_FILE = 20, 2


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with cluster_of_processes(tmp_path_factory.mktemp("cluster"), WORKERS, apart=True) as started:
        yield started


@pytest.fixture(scope="module")
def spark(settings: dict[str, str], workers: SparkCluster) -> Iterator[Any]:
    """This process is the driver; both workers are there before the first task, and slow tasks are tried twice."""
    more = {
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.5",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", LOOPBACK)
        session = spark_session(workers.address, driver_memory="1g", settings={**settings, **more})
        yield session
        session.stop()


@pytest.fixture
def frozen(spark: Any, workers: SparkCluster) -> Iterator[None]:
    """The Pythons of one worker stand still, so what it is given is not done before they may go on."""
    everywhere = spark.sparkContext.parallelize(range(WORKERS), WORKERS).barrier()
    assert everywhere.mapPartitions(lambda numbers: numbers).collect() == [*range(WORKERS)]
    pythons = pythons_of(workers.workers[0].pid)
    assert pythons
    for one in pythons:
        os.kill(one, signal.SIGSTOP)
    yield
    for one in pythons_of(workers.workers[0].pid):
        os.kill(one, signal.SIGCONT)


@pytest.fixture(params=["whole", "cut_off"])
def captures(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def answered(capsys: pytest.CaptureFixture[str], *command: object) -> Any:
    """The exit code of a command and its JSON."""
    code = main([*map(str, command), "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def on_workers(capsys: pytest.CaptureFixture[str], job: str, *given: object) -> Any:
    return answered(capsys, "pipeline", job, *given, "--quiet")


def test_workers_have_nothing_but_what_they_were_sent(spark, python):
    def look(_: Iterator[int]) -> Iterator[tuple[str, list[str], str]]:
        import kafka_rack

        yield sys.executable, [os.path.realpath(one) for one in sys.path], os.path.realpath(str(kafka_rack.__file__))

    found = spark.sparkContext.parallelize(range(WORKERS), WORKERS).barrier().mapPartitions(look).collect()
    assert len({file for _, _, file in found}) == WORKERS  # each unpacked its own
    for executable, path, file in found:
        assert executable == str(python)
        assert str(ROOT) not in path
        assert sysconfig.get_path("purelib") not in path
        assert NEEDS in Path(file).parts


def test_decoding_writes_every_row_of_every_capture(spark, tmp_path, capsys):
    """Those of all fixtures, whose every count is that of its summary: tests/pipeline/test_truth.py."""
    code, said = on_workers(capsys, "decode", CAPTURES, "--out", tmp_path / "out")
    expected = plain_tables(CAPTURES, tmp_path / "plain")
    assert tables_of(tmp_path / "out", CAPTURES) == expected
    assert (code, said["tables"]) == (0, {table: len(rows) for table, rows in expected.items() if rows})


def test_decoding_writes_the_rows_of_captures_that_are_cut_off(spark, cut_off, tmp_path, capsys):
    code, said = on_workers(capsys, "decode", cut_off, "--out", tmp_path / "out", "--tasks", TASKS)
    expected = plain_tables(cut_off, tmp_path / "plain")
    assert tables_of(tmp_path / "out", cut_off) == expected
    assert expected["problems"]
    assert (code, said["tables"]) == (0, {table: len(rows) for table, rows in expected.items() if rows})


def test_a_stream_over_captures_that_grow_writes_each_row_once(spark, cut_off, tmp_path, capsys):
    growing, out = tmp_path / "in", tmp_path / "out"
    growing.mkdir()
    for name in NAMES:
        (growing / f"{name}.jsonl").write_bytes((cut_off / f"{name}.jsonl").read_bytes())
    assert main(["pipeline", "decode", str(growing), "--out", str(out), "--once", "--quiet"]) == 0
    for name in NAMES:
        (growing / f"{name}.jsonl").write_bytes(unpacked(f"{name}.jsonl"))
    assert main(["pipeline", "decode", str(growing), "--out", str(out), "--once", "--quiet"]) == 0
    capsys.readouterr()
    assert tables_of(out, growing) == plain_tables(growing, tmp_path / "plain")


def test_locality_is_that_of_the_command_without_spark(spark, captures, tmp_path, capsys):
    _, plain = answered(capsys, "locality", captures)
    code, found = on_workers(capsys, "locality", captures, "--out", tmp_path / "out", "--tasks", TASKS)
    assert code == 0
    assert {**found, "out": None} == {**plain, "out": None}


def fleet_of(folder: Path) -> tuple[Path, dict[str, dict[str, int]]]:
    """Files of clusters by chance, the last with a line that is cut off, and how many findings each has by kind."""
    fleet = {f"c{seed:02}": random_cluster(f"c{seed:02}", seed) for seed in range(CLUSTERS)}
    lines = [json.dumps(one) for one in fleet.values()]
    place = folder / "fleet"
    place.mkdir()
    for start in range(0, CLUSTERS, IN_A_FILE):
        (place / f"from-{start:02}.jsonl").write_text("\n".join(lines[start : start + IN_A_FILE]))
    (place / "torn.jsonl").write_text(f"{lines[0][:-40]}\n")
    return place, {
        name: {kind: sum(one.kind == kind for one in audit(layout_of_json(said)).findings) for kind in KINDS}
        for name, said in fleet.items()
    }


def findings_told(found: dict[str, Any]) -> dict[str, dict[str, int]]:
    """What the job says of each cluster."""
    return {row["cluster"]: {kind: row[kind.replace("-", "_")] for kind in KINDS} for row in found["by_severity"]}


def test_a_fleets_audit_is_that_of_each_cluster_and_a_line_that_is_cut_off_is_a_problem(spark, tmp_path, capsys):
    fleet, kinds = fleet_of(tmp_path)
    code, found = on_workers(capsys, "audit", fleet, "--out", tmp_path / "out", "--tasks", TASKS)
    assert findings_told(found) == kinds
    assert any(sum(one.values()) for one in kinds.values())
    assert [Path(one["file"]).name for one in found["problems"]] == ["torn.jsonl"]
    assert code == 1


@pytest.mark.usefixtures("frozen")
def test_what_a_worker_does_not_come_to_is_audited_once_by_another(spark, tmp_path, capsys):
    fleet, kinds = fleet_of(tmp_path)
    out = tmp_path / "out"
    _, found = on_workers(capsys, "audit", fleet, "--out", out, "--tasks", TASKS)
    assert findings_told(found) == kinds
    read = {table: sum(pq.read_metadata(path).num_rows for path in (out / table).iterdir()) for table in SCHEMAS}
    assert read == found["tables"]
    assert not (out / TEMPORARY).exists()


@pytest.mark.usefixtures("frozen")
def test_what_a_worker_does_not_come_to_is_decoded_once_by_another(spark, cut_off, tmp_path, capsys):
    on_workers(capsys, "decode", cut_off, "--out", tmp_path / "out", "--tasks", TASKS)
    assert tables_of(tmp_path / "out", cut_off) == plain_tables(cut_off, tmp_path / "plain")
    assert not (tmp_path / "out" / TEMPORARY).exists()


def test_fuzzing_tries_the_same_and_finds_the_same(spark):
    plan = FuzzPlan(chosen(["Metadata*", "Fetch*", "JoinGroup*"], "all"), 5, 4)
    names = ("round-trip", "versions", "reference", "damage")
    plain = Results()
    for chunk in plan.chunks():
        run_chunk(chunk, plan.seed, checks_for(names), plain)
    assert fuzz(spark, plan, names, tasks=int(TASKS)).results == plain
    assert plain.examples == 5 * plan.message_versions
