"""Captures read from S3, and tables and results written there, are those of local files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from kafka_rack.cli import main
from tests.object_store.conftest import BUCKET, SECRET
from tests.on_spark import complaints
from tests.pipeline.plain import plain_tables, tables_of
from tests.progress import run

ROOT = Path(__file__).resolve().parents[2]
ON_S3 = f"s3a://{BUCKET}/captures"


def ran(capsys, *command):
    """What a job printed that had nothing to complain about; it runs in the session of this process."""
    code = main(["pipeline", *map(str, command), "--quiet"])
    printed, complaints = capsys.readouterr()
    assert (code, complaints) == (0, ""), complaints
    return printed


def alike(text, *places):
    """A result without the names of the places that it was read from and written to."""
    for place in places:
        text = text.replace(str(place), "")
    return json.loads(text)


@pytest.fixture(scope="session")
def expected(captures, tmp_path_factory):
    """The tables of the captures as plain Python makes them of local files."""
    return plain_tables(captures, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="session")
def tables(spark, captures):
    """Where the captures' tables are on S3: written twice, as it happens."""
    out = f"s3a://{BUCKET}/tables"
    for _ in range(2):
        assert main(["pipeline", "decode", ON_S3, "--out", out, "--quiet"]) == 0
    return out


def test_decoded_tables_are_those_of_local_captures(tables, store, expected, tmp_path):
    found = store.copy_to("tables", tmp_path)
    assert tables_of(found, ON_S3) == expected
    assert not [key for key in store.keys("tables") if key.startswith("_temporary")]


def test_spark_itself_reads_them(spark, tables, expected):
    for table in ("frames", "fetches", "problems"):
        assert spark.read.parquet(f"{tables}/{table}").count() == len(expected[table])


def test_the_data_source_reads_them(spark, captures, expected):
    for table in ("frames", "problems"):
        rows = spark.read.format("kafka-wire").option("table", table).load(ON_S3)
        assert rows.count() == len(expected[table])


def test_locality_is_that_of_local_files(spark, captures, tables, store, capsys, tmp_path):
    local = ran(capsys, "locality", captures, "--out", tmp_path / "out", "--format", "json")
    wanted = alike(local, captures, tmp_path)
    for name, given in (("a", ON_S3), ("b", tables)):
        out = f"s3a://{BUCKET}/{name}/out"
        printed = ran(capsys, "locality", given, "--out", out, "--format", "json")
        assert alike(printed, given, f"s3a://{BUCKET}/{name}") == wanted
        assert json.loads(store.get(f"{name}/out/locality.json")) == json.loads(printed)
        assert "locality/traffic/" in " ".join(store.keys(f"{name}/out"))


def test_audit_is_that_of_local_files(spark, store, capsys, tmp_path):
    brokers = [{"id": number, "rack": f"az-{number % 3}"} for number in range(3)]
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    lines = [
        json.dumps({"name": f"eu-{number}", "brokers": brokers, "topics": {"orders": [[0, 1, 2]]}})
        for number in range(3)
    ]
    (fleet / "eu.jsonl").write_text("\n\n".join([*lines, "no description", ""]))
    store.put("fleet/eu.jsonl", (fleet / "eu.jsonl").read_bytes())
    results = []
    for given, out in ((fleet, tmp_path / "out"), (f"s3a://{BUCKET}/fleet", f"s3a://{BUCKET}/audits")):
        assert main(["pipeline", "audit", str(given), "--out", str(out), "--format", "json", "--quiet"]) == 1
        results.append(alike(capsys.readouterr().out, given))
    assert results[0] == results[1]
    assert results[1]["problems"][0]["line"] == 7
    assert alike(store.get("audits/audit.json").decode(), f"s3a://{BUCKET}/fleet") == results[1]


def test_availability_is_that_of_a_local_run(spark, store, capsys, tmp_path):
    grid = ("availability", "--brokers", "6", "--rack-count", "3", "--partitions", "6", "--replication-factor", "3")
    grid += ("--failures", "1,2", "--format", "json")
    wanted = ran(capsys, *grid, "--out", tmp_path / "out")
    assert ran(capsys, *grid, "--out", f"s3a://{BUCKET}/survey") == wanted
    assert store.get("survey/availability.json").decode() == wanted


PLANTED = """
import protocol

class Codec:
    \"\"\"Writes a null rack as an empty one, until it is told not to.\"\"\"

    def encode(self, message, version, value):
        for broker in value["brokers"]:
            broker["rack"] = broker["rack"] or ""
        return protocol.encode(protocol.from_json(message, version, value), version)
"""


def test_fuzz_leaves_on_s3_what_it_leaves_in_a_folder_and_replays_it(spark, store, capsys, tmp_path):
    codec = tmp_path / "codec.py"
    codec.write_text(PLANTED)
    asked = ["pipeline", "fuzz", "--messages", "MetadataResponse", "--versions", "9", "--examples", "40"]
    asked += ["--codec", f"{codec}:Codec", "--checks", "codec", "--format", "json", "--quiet", "--out"]
    out = f"s3a://{BUCKET}/fuzz"
    printed = []
    for place in (tmp_path / "fuzz", out, out):
        assert main([*asked, str(place)]) == 3
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] == printed[2]
    [failure] = json.loads(printed[0])["failures"]
    found = store.copy_to("fuzz", tmp_path / "found")
    local = tmp_path / "fuzz"
    for name in ("summary.json", "coverage.parquet"):
        assert (found / name).read_bytes() == (local / name).read_bytes()
    texts = [(folder / failure["file"]).read_text() for folder in (found, local)]
    assert texts[0].replace(out, "") == texts[1].replace(str(local), "")
    assert main(["pipeline", "fuzz", "--replay", f"{out}/{failure['file']}", "--format", "json"]) == 3
    assert json.loads(capsys.readouterr().out)["reproduced"] is True
    codec.write_text(PLANTED.replace(' or ""', ""))
    assert main(["pipeline", "fuzz", "--replay", f"{out}/{failure['file']}", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["reproduced"] is False
    assert sorted(store.keys("fuzz")) == ["coverage.parquet", failure["file"], "summary.json"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["decode", "s3a://nowhere/x", "--out", "s3a://trace/out"], "s3a://nowhere/x: no such bucket"),
        (["decode", "s3a://trace/nothing", "--out", "s3a://trace/out"], "s3a://trace/nothing: no such file or folder"),
        (["decode", ON_S3, "--out", "s3a://nowhere/out"], "s3a://nowhere/out: no such bucket"),
        (["locality", ON_S3, "--out", "s3a://nowhere/out"], "s3a://nowhere/out: no such bucket"),
        (["decode", "http://trace/x", "--out", "out"], "http://trace/x: expected a path of this machine or a URL of"),
        (["decode", ON_S3, "--out", "abfss://trace/out"], "expected abfss://CONTAINER@ACCOUNT.dfs.core.windows.net"),
        (["audit", "s3a:///x", "--out", "out"], "s3a:///x: expected s3a://BUCKET/PATH, got no bucket"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(spark, captures, capsys, command, said):
    assert main(["pipeline", *command, "--quiet"]) == 2
    printed, complaints = capsys.readouterr()
    assert (printed, complaints.count("\n")) == ("", 1)
    assert said in complaints


def test_a_store_that_refuses_is_said_in_one_line(spark, captures, store, capsys):
    store.close_gate(1, how="refuse")
    grid = ["--brokers", "3", "--partitions", "1", "--replication-factor", "3", "--failures", "1"]
    assert main(["pipeline", "availability", *grid, "--out", f"s3a://{BUCKET}/refused", "--quiet"]) == 1
    complaints = capsys.readouterr().err
    assert complaints.count("\n") == 1
    assert "the store refuses it: credentials are missing, wrong, or without the right to this" in complaints


def test_no_text_shows_the_secrets(spark, store):
    from kafka_rack.pipeline.spark.storage_settings import storage_settings
    from kafka_rack.storage import location

    settings = storage_settings(spark)
    assert settings.get("fs.s3a.secret.key") == SECRET
    assert SECRET not in f"{settings!r} {settings} {location(ON_S3, settings)!r}"


@pytest.mark.parametrize(
    ("command", "more"), [("locality", ()), ("check", ()), ("what-if", ("--set", "client.rack=auto"))]
)
def test_commands_without_spark_read_captures_by_amazons_own_settings(store, captures, tmp_path, command, more):
    name = "java41-range.jsonl"
    results = []
    for folder in (captures, ON_S3):
        words = [sys.executable, "-m", "kafka_rack.cli", command, f"{folder}/{name}", "--format", "json", *more]
        done = run(words, cwd=ROOT, env={**os.environ, **store.environment, "JAVA_HOME": str(tmp_path)})
        assert (done.returncode, complaints(done.stderr)) == (0, "")
        results.append(alike(done.stdout, folder))
    assert results[0] == results[1]


def test_a_command_without_spark_says_in_one_line_what_is_missing(store, captures):
    command = [sys.executable, "-m", "kafka_rack.cli", "locality"]
    nowhere = {**os.environ, **store.environment, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    for given, env, code, said in (
        ("s3a://nowhere/x", {**os.environ, **store.environment}, 2, "s3a://nowhere/x: no such bucket"),
        (ON_S3, nowhere, 1, f"{ON_S3}: the store cannot be reached"),
    ):
        done = run([*command, given], cwd=ROOT, env=env)
        assert (done.returncode, done.stdout, complaints(done.stderr).count("\n")) == (code, "", 1)
        assert said in done.stderr
