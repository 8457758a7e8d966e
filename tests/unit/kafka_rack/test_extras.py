"""What an error says to install has to install: the package itself is on no index yet."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from kafka_rack import extras
from kafka_rack.extras import pip_install

ROOT = Path(__file__).resolve().parents[3]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", ["clients", "spark", "yaml"])
def test_an_extras_packages_are_named_by_their_own_names(extra):
    said = pip_install(extra)
    assert said.startswith("pip install ")
    assert all(re.match(r"[\w-]+", package)[0].lower() in said.lower() for package in EXTRAS[extra])
    assert "kafka-rack" not in said


def test_where_the_package_is_not_installed_its_clone_is_named(monkeypatch):
    monkeypatch.setattr(extras, "DISTRIBUTION", "no-such-distribution")
    assert pip_install("spark") == "pip install '.[spark]' in a clone of no-such-distribution"
