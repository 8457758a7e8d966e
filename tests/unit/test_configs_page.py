from __future__ import annotations

import re
from pathlib import Path

import pytest

import mockbroker
from mockbroker.state.configs.definitions import names
from mockbroker.state.configs.effects import OF_A_BROKER, OF_LISTENERS, with_effect
from tests.configs_page import KINDS, PAGE, parts, with_parts

OF_CLIENTS = {"ssl.endpoint.identification.algorithm", "request.timeout.ms"}
"""Named to whoever set it for a client that a broker's certificate does not suit, or read of what the proxy is given as
a client of a real cluster; brokers' own are read nowhere."""
LITERAL = re.compile(r'"([a-z][a-z0-9.]*)"')


def names_in_code() -> set[str]:
    """All names in quotes in mockbroker, but in the tables of configs."""
    package = Path(mockbroker.__file__).parent
    sources = [path for path in package.rglob("*.py") if path.name != "settings.py" and path.parent.name != "configs"]
    return {name for path in sources for name in LITERAL.findall(path.read_text(encoding="utf-8"))}


def test_the_page_has_the_lists_of_the_code():
    page = PAGE.read_text(encoding="utf-8")
    assert with_parts(page) == page, "python -m tests.configs_page writes them"
    assert [name for name in parts() if f"<!-- {name} begins -->" not in page] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_config_that_is_said_to_have_no_effect_is_read_nowhere(kind):
    assert names_in_code() & set(names(kind)) - with_effect(kind) - OF_A_BROKER - OF_LISTENERS - OF_CLIENTS == set()
