"""What is sent to workers: this package's sources, and the compiled packages that it imports there."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from kafka_rack.pipeline.spark import shipping

ROOT = Path(__file__).resolve().parents[5]


def test_the_package_is_sent_whole_and_without_what_python_compiled(tmp_path):
    with ZipFile(shipping.package_zip(tmp_path / "a" / "package.zip")) as packed:
        names = set(packed.namelist())
    sources = {
        path.relative_to(ROOT).as_posix() for package in shipping.PACKAGES for path in (ROOT / package).rglob("*.py")
    }
    assert names == sources


def test_a_distribution_goes_with_its_compiled_files_and_without_its_tests():
    (found,) = shipping.with_requirements(["msgspec"])
    names = [name for name, _ in shipping.files_of(found)]
    assert "msgspec/__init__.py" in names
    assert any(re.fullmatch(r"msgspec/_core\..*(so|pyd)", name) for name in names)
    assert not any(".." in name or "__pycache__" in name for name in names)


def test_what_a_distribution_requires_goes_along_once():
    found = shipping.with_requirements(["pandas", "numpy", "NumPy"])
    names = [one.name.lower().replace("_", "-") for one in found]
    assert len(set(names)) == len(names)
    assert {"pandas", "numpy", "python-dateutil"} <= set(names)


def test_what_is_not_installed_is_named():
    with pytest.raises(shipping.NotInstalled, match="no-such-package is not installed here"):
        shipping.with_requirements(["no-such-package"])


def test_what_spark_submit_takes_is_written_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shipping, "NEEDED", ("construct",))  # all of them are a hundred megabytes
    options, program = shipping.packed_for_submit(tmp_path, ROOT / "kafka_rack/cli/pipeline/submitted.py")
    named = {path.name for path in tmp_path.iterdir()}
    assert named == {"kafka_rack.zip", "kafka_rack_needs.zip", "kafka_rack_job.py"}
    assert {Path(word.partition("#")[0]).name for word in [*options, program]} > named
    compile(Path(program).read_text(encoding="utf-8"), program, "exec")


def test_a_driver_in_the_cluster_finds_all_in_one_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(shipping, "NEEDED", ("construct",))
    source = ROOT / "kafka_rack/cli/pipeline/submitted.py"
    options, _ = shipping.packed_for_submit(tmp_path, source, with_driver=True)
    assert {path.name for path in tmp_path.iterdir()} == {"kafka_rack_needs.zip", "kafka_rack_job.py"}
    assert options[:2] == ["--deploy-mode", "cluster"]
    assert "--py-files" not in options
    with ZipFile(tmp_path / "kafka_rack_needs.zip") as packed:
        names = set(packed.namelist())
    ours = {"kafka_rack/locality/page.css", "kafka_rack/pipeline/fuzz/KafkaClasses.java", "protocol/registry.py"}
    assert ours <= names
    assert {"construct/__init__.py", "pandas/__init__.py", "rich/__init__.py"} <= names
    assert not any(name.endswith(".pyc") for name in names)
