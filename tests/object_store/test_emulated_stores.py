"""Google's and Azure's stores: captures, tables and results on gs:// and abfs:// are those of files."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from kafka_rack.cli import main
from kafka_rack.pipeline.spark.storage_settings import known_to_spark
from kafka_rack.storage import StorageSettings, location, use_settings
from tests.interop.fetched import skipped_without_tools
from tests.object_store.emulators import KEY, on_azure, on_google
from tests.object_store.places import CAPTURE, check_tables_and_results, put
from tests.on_spark import complaints
from tests.progress import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=[on_google, on_azure])
def emulator(request, emulators_fetched):
    with skipped_without_tools(), request.param() as running:
        yield running


@pytest.fixture
def azure(emulators_fetched):
    with skipped_without_tools(), on_azure() as running:
        yield running


@pytest.fixture
def place(emulator):
    """The URL of a folder of its own, for this process."""
    use_settings(StorageSettings.of(emulator.settings))
    return f"{emulator.root}/{uuid4().hex}"


@pytest.fixture
def settings_in_spark(spark, emulator):
    for name, value in emulator.settings.items():
        spark.sparkContext._jsc.hadoopConfiguration().set(name, value)


def test_captures_become_tables_and_results(spark, settings_in_spark, place, capsys, tmp_path):
    check_tables_and_results(spark, place, capsys, tmp_path)


def test_a_command_without_spark_reads_captures_by_the_stores_own_settings(emulator, place, tmp_path):
    put(place, a=CAPTURE)
    (tmp_path / "a.jsonl").write_bytes(CAPTURE)
    results = []
    for given in (str(tmp_path / "a.jsonl"), f"{place}/in/a.jsonl"):
        command = [sys.executable, "-m", "kafka_rack.cli", "locality", given, "--format", "json"]
        done = run(command, cwd=ROOT, env={**os.environ, **emulator.environment, "JAVA_HOME": str(tmp_path)})
        assert (done.returncode, complaints(done.stderr)) == (0, "")
        results.append(json.loads(done.stdout.replace(given, "")))
    assert results[0] == results[1]
    assert results[0]["total"]["bytes"]


def test_folders_are_removed_with_all_in_them_and_what_is_not_there_is_no_error(place):
    folder = location(place)
    for name in ("a/b/c", "a/d", "e"):
        (folder / name).write_text(name)
    assert (folder / "a").is_dir()
    (folder / "a").remove_tree()
    (folder / "a").remove_tree()
    (folder / "a").rmdir()
    assert [file.path.name for file in folder.files()] == ["e"]
    (folder / "e").replace(folder / "f/g")
    assert [(file.path.relative_to(folder), file.size) for file in folder.files()] == [("f/g", 1)]


def test_what_hadoop_leaves_for_a_folder_is_a_folder(spark, settings_in_spark, place):
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path(known_to_spark(spark, f"{place}/made/inner"))
    path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).mkdirs(path)
    folder = location(f"{place}/made")
    assert (folder.is_dir(), folder.is_file(), folder.files()) == (True, False, [])
    (folder / "inner/a").write_text("a")
    assert [file.path.relative_to(folder) for file in folder.files()] == ["inner/a"]
    (folder / "empty").write_bytes(b"")
    assert (folder / "empty").is_file()
    folder.remove_tree()
    assert not folder.exists()
    assert not location(f"{place}/made/inner").exists()


def test_what_is_not_there_is_said_in_one_line(settings_in_spark, emulator, capsys, tmp_path):
    nowhere = emulator.root.replace("//trace", "//nowhere")
    for given, out, said in (
        (f"{emulator.root}/nothing", tmp_path / "out", f"{emulator.root}/nothing: no such file or folder"),
        (f"{nowhere}/x", tmp_path / "out", f"{nowhere}/x: no such bucket"),
        (f"{emulator.root}/nothing", f"{nowhere}/out", f"{nowhere}/out: no such bucket"),
    ):
        assert main(["pipeline", "decode", given, "--out", str(out), "--quiet"]) == 2
        printed, complaints = capsys.readouterr()
        assert (printed, complaints.count("\n")) == ("", 1)
        assert said in complaints


@pytest.mark.parametrize("key", [base64.b64encode(b"of somebody else").decode(), "no key at all"])
def test_a_key_of_azures_that_is_wrong_is_said_in_one_line(azure, tmp_path, key):
    given = f"{azure.root}/x"
    wrong = {name: value.replace(KEY, key) for name, value in azure.environment.items()}
    done = run([sys.executable, "-m", "kafka_rack.cli", "locality", given], cwd=ROOT, env={**os.environ, **wrong})
    assert (done.returncode, done.stdout, complaints(done.stderr).count("\n")) == (1, "", 1)
    assert f"{given}: the store refuses it: credentials are missing, wrong" in done.stderr
