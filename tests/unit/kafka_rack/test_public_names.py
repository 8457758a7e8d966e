"""What ``import kafka_rack`` offers."""

from __future__ import annotations

import pytest

import kafka_rack


@pytest.mark.parametrize("name", sorted(kafka_rack.NAMES))
def test_each_public_name_is_there_when_it_is_used(name):
    assert getattr(kafka_rack, name) is not None
    assert name in dir(kafka_rack)


@pytest.mark.parametrize("name", sorted(kafka_rack.SUBMODULES))
def test_each_submodule_is_loaded_when_it_is_used(name):
    assert getattr(kafka_rack, name).__name__ == f"kafka_rack.{name}"


def test_other_names_are_missing_as_in_any_module():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = kafka_rack.Nothing
