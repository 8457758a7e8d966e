"""What ``import kafka_rack`` offers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kafka_rack


@pytest.mark.parametrize("name", sorted(kafka_rack.NAMES))
def test_each_public_name_is_there_when_it_is_used(name):
    assert getattr(kafka_rack, name) is not None
    assert name in dir(kafka_rack)


@pytest.mark.parametrize("name", sorted(kafka_rack.SUBMODULES))
def test_each_submodule_is_loaded_when_it_is_used(name):
    assert getattr(kafka_rack, name).__name__ == f"kafka_rack.{name}"


def test_type_checkers_are_told_the_same_names():
    tree = ast.parse(Path(kafka_rack.__file__).read_text(encoding="utf-8"))
    told = {
        alias.asname: node.module
        for each in tree.body
        if isinstance(each, ast.If) and ast.unparse(each.test) == "TYPE_CHECKING"
        for node in each.body
        for alias in node.names
    }
    assert told == kafka_rack.NAMES


def test_other_names_are_missing_as_in_any_module():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = kafka_rack.Nothing


def test_an_audit_a_repair_and_the_audit_of_its_plan_need_no_name_from_deeper_inside():
    said = {
        "brokers": [[0, "a"], [1, "a"], [2, "b"]],
        "topics": {"orders": [[0, 1], [0, 2]]},  # the first has both copies in rack a
    }
    layout = kafka_rack.layout_of_json(said)
    assert kafka_rack.audit.SHARED_RACK in {found.kind for found in kafka_rack.audit.audit(layout).findings}
    mended = kafka_rack.repair(layout)
    assert isinstance(mended, kafka_rack.Repair)
    assert layout.rack_of[mended.entries[0].replicas[1]] == "b"


def test_none_of_it_is_loaded_by_the_import_alone():
    code = "import kafka_rack, sys; print(*sorted(name for name in sys.modules if name.startswith('kafka_rack.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
