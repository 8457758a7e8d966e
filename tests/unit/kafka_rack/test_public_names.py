"""What ``import kafka_rack`` offers."""

from __future__ import annotations

from importlib import import_module

import pytest

import kafka_rack


def test_each_public_name_is_there_when_it_is_used():
    for name, module in kafka_rack.NAMES.items():
        assert getattr(kafka_rack, name) is getattr(import_module(module), name)
        assert name in dir(kafka_rack)


def test_each_submodule_is_loaded_when_it_is_used():
    for name in kafka_rack.SUBMODULES:
        assert getattr(kafka_rack, name).__name__ == f"kafka_rack.{name}"


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
    restored = kafka_rack.repair(layout)
    assert isinstance(restored, kafka_rack.Repair)
    assert layout.rack_of[restored.entries[0].replicas[1]] == "b"
