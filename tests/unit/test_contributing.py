"""CONTRIBUTING.md: what its map and its other parts name is there, and the way of a request is the one that it goes."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from mockbroker.core.path import CallPath
from mockbroker.core.simulation import Simulation

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAP = PAGE.partition("## Where things are\n```\n")[2].partition("```")[0]
FOLDER_OR_FILE = re.compile(r"[a-z0-9_]+(?:/[a-z0-9_]+)*(?:/|\.py)")


def paths_in_map() -> list[str]:
    """Each folder and module that the map names, from the root; two spaces more stand for one folder further down."""
    found, folders = [], []
    for line in MAP.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        names, _, described = line.strip().partition("  ")
        above = "".join(folders[:depth])
        first = names.split()[0]
        found += [above + name for name in names.split()]
        inside = above + first if first.endswith("/") else above
        found += [inside + name for name in FOLDER_OR_FILE.findall(described) if name.endswith(".py")]
        if first.endswith("/"):
            folders = [*folders[:depth], first]
    return found


def missing(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if not (ROOT / path).exists()]


def test_the_map_names_what_is_there():
    assert missing(paths_in_map()) == []


def parts_of(folder: str) -> set[str]:
    """The packages and modules in a folder that are to be named; not those that begin with an underline."""
    return {
        path.name
        for path in (ROOT / folder).iterdir()
        if ((path / "__init__.py").exists() or path.suffix == ".py") and not path.name.startswith("_")
    }


@pytest.mark.parametrize("folder", ["protocol", "kafka_rack", "mockbroker/core", "mockbroker/state"])
def test_the_map_has_each_package_and_module_of(folder):
    words = set(re.findall(r"[\w.]+", MAP))
    assert {name for name in parts_of(folder) if name not in words} == set()


@pytest.mark.parametrize("folder", ["kafka_rack/cli", "kafka_rack/pipeline", "mockbroker", "mockbroker/adapters"])
def test_the_map_has_each_package_of(folder):
    packages = {name for name in parts_of(folder) if not name.endswith(".py")}
    assert {name for name in packages if f"{name}/" not in MAP} == set()


def test_the_page_has_each_folder_of_tests_and_each_module_that_they_share():
    folders = {f"`{path.name}/`" for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))}
    modules = {f"`tests/{name}`" for name in parts_of("tests") if name.endswith(".py")}
    assert {name for name in folders | modules if name not in PAGE} == set()


def test_every_path_in_the_text_is_there():
    named = set(re.findall(r"`((?:mockbroker|protocol|kafka_rack|tests)/[\w/.]+)`", PAGE))
    assert named
    assert missing(sorted(named)) == []


def test_the_way_of_a_request_has_the_stages_in_their_order():
    stages = [stage.__name__ for stage in Simulation().engine.path.stages]
    way = PAGE.partition("## The way of a request")[2].partition("\n## ")[0]
    named = [name for name in re.findall(r"`(\w+)`", way.partition("through the stages")[2]) if hasattr(CallPath, name)]
    assert named[: len(stages)] == stages
