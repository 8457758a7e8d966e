"""What optional parts bring is found by name, and what is missing is not missed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec

import pytest

from mockbroker import parts
from mockbroker.parts import OptionalPart, load, merged, provided

BROUGHT = [value for part in parts.parts() for value in part]
NAMED = {
    name
    for value in BROUGHT
    for name in (value.values() if isinstance(value, Mapping) else [value])
    if str(name).startswith("mockbroker.")
}


@pytest.mark.parametrize("package", list(filter(find_spec, parts.PACKAGES)))
def test_each_package_that_is_there_registers(package):
    assert isinstance(import_module(package).PART, OptionalPart)


@pytest.mark.parametrize("path", sorted(NAMED))
def test_what_a_part_names_is_there(path):
    assert load(path) is not None if ":" in path else import_module(path)


def test_a_package_that_is_not_there_brings_nothing(monkeypatch):
    monkeypatch.setattr(parts, "PACKAGES", ("mockbroker.no_such_part",))
    monkeypatch.setattr(parts, "parts", parts.parts.__wrapped__)
    assert parts.parts() == ()
    assert merged("handlers") == {}
    assert provided.__wrapped__("access_check") is None


def test_a_part_that_lacks_a_module_of_its_own_is_no_missing_part(monkeypatch, tmp_path):
    (tmp_path / "broken_part.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(parts, "PACKAGES", ("broken_part",))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        parts.parts.__wrapped__()


def test_a_name_that_no_part_can_bring_is_an_error():
    with pytest.raises(AttributeError):
        provided("acess_check")
