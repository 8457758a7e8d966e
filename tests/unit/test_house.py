"""The house rules that can be seen in the source: who imports what, when, and how large a module grows.

import-linter holds the ladder itself; here are the rules that a ladder of names cannot state.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("protocol", "kafka_rack", "mockbroker")

ADAPTERS = (
    "kafka_rack.cli",
    "kafka_rack.pipeline",
    "mockbroker.adapters",
    "mockbroker.testing",
)
"""The modules that touch clocks, sockets and chance; to everything else these are handed in."""

OUTSIDE_WORLD = {"asyncio", "secrets", "selectors", "socket", "socketserver", "ssl", "threading", "time"}
MAX_LINES = 600


@dataclass(frozen=True)
class Import:
    """One imported name: ``from random import Random`` is module ``random``, name ``Random``."""

    module: str
    name: str | None
    line: int
    at_module_level: bool
    for_types_only: bool

    def __str__(self) -> str:
        return f"line {self.line}: {self.module}{'.' + self.name if self.name else ''}"


def path_of(module: str) -> Path:
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def is_under(module: str, parents: tuple[str, ...]) -> bool:
    return any(module == parent or module.startswith(parent + ".") for parent in parents)


@cache
def modules() -> tuple[str, ...]:
    paths = (path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    names = (path.parent if path.name == "__init__.py" else path.with_suffix("") for path in paths)
    return tuple(sorted(".".join(name.parts) for name in names))


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    return tuple(imports_in(ast.parse(path_of(module).read_text(encoding="utf-8")), module))


def imports_in(
    tree: ast.AST, module: str, *, at_module_level: bool = True, for_types: bool = False
) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, None, node.lineno, at_module_level, for_types)
        elif isinstance(node, ast.ImportFrom):
            source = absolute(node, module)
            for alias in node.names:
                yield Import(source, alias.name, node.lineno, at_module_level, for_types)
        else:
            deeper = at_module_level and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            types = for_types or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
            yield from imports_in(node, module, at_module_level=deeper, for_types=types)


def absolute(node: ast.ImportFrom, module: str) -> str:
    """The module that a ``from`` names, dots resolved."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if path_of(module).name == "__init__.py" else module.split(".")[:-1]
    base = package[: len(package) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def imported_module(found: Import) -> str:
    """``from a.b import c`` imports the module a.b.c where there is one, else a.b."""
    whole = f"{found.module}.{found.name}"
    return whole if whole in modules() else found.module


def test_there_are_modules_to_look_at():
    assert {"protocol.error_codes", "mockbroker.state.cluster"} <= set(modules())


def imports_that(is_wrong: Callable[[Import], bool], looked_at: Iterable[str]) -> list[str]:
    """The imports of these modules that break a rule, each with its module and line."""
    return [f"{module}, {found}" for module in looked_at for found in imports_of(module) if is_wrong(found)]


def outside_adapters() -> list[str]:
    return [module for module in modules() if not is_under(module, ADAPTERS)]


def test_only_adapters_touch_clocks_and_sockets():
    assert imports_that(lambda found: found.module.split(".")[0] in OUTSIDE_WORLD, outside_adapters()) == []


def test_outside_adapters_chance_comes_from_a_random_that_is_handed_in():
    assert imports_that(lambda found: found.module == "random" and found.name != "Random", outside_adapters()) == []


def test_no_modules_import_each_other_in_a_circle():
    graph = {
        module: {
            imported_module(found)
            for found in imports_of(module)
            if found.at_module_level and not found.for_types_only and is_under(found.module, PACKAGES)
        }
        - {module}
        for module in modules()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_state_knows_records_but_no_requests():
    state = [module for module in modules() if is_under(module, ("mockbroker.state",))]
    assert imports_that(lambda found: is_under(imported_module(found), ("protocol.apis",)), state) == []


def test_the_image_knows_nothing_of_what_a_restart_forgets():
    image = ("mockbroker.state.image",)
    parts = [module for module in modules() if is_under(module, image)]

    def is_ours_and_elsewhere(found: Import) -> bool:
        return is_under(found.module, ("mockbroker", "kafka_rack")) and not is_under(found.module, image)

    assert imports_that(is_ours_and_elsewhere, parts) == []


def test_each_module_stands_on_the_ladder():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    ladder = next(contract["layers"] for contract in contracts if contract["id"] == "ladder")
    rungs = tuple(rung.strip("() ") for layer in ladder for rung in layer.replace("|", ":").split(":"))
    assert [module for module in modules() if module not in PACKAGES and not is_under(module, rungs)] == []


@pytest.mark.parametrize(
    ("package", "unwanted"),
    [
        ("protocol", ("asyncio", "kafka_rack", "mockbroker")),
        (
            "kafka_rack",
            ("asyncio", "construct", "kafka_rack.cli", "kafka_rack.pipeline", "msgspec", "pyspark", "protocol"),
        ),
        ("mockbroker", ("asyncio", "construct", "msgspec", "mockbroker.adapters.server", "protocol")),
    ],
)
def test_importing_a_package_loads_no_more_than_it_must(package, unwanted):
    program = f"import sys, {package}; print(*sorted(sys.modules), sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    assert [module for module in unwanted if module in loaded.split()] == []


STARTED_CLUSTER = """
import asyncio, sys
from kafka_rack import cli
from kafka_rack.cli.commands import serve
from mockbroker.adapters.server import MockCluster

serve.add_arguments(cli.Parser(formatter_class=cli.HelpFormatter))

async def start():
    async with MockCluster():
        print(*sys.modules)

asyncio.run(start())
"""


def test_starting_a_cluster_loads_no_more_than_it_must():
    command = [sys.executable, "-c", STARTED_CLUSTER]
    loaded = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    unwanted = (
        "email",
        "encodings.idna",
        "h11",
        "json",
        "mockbroker.adapters.capture",
        "mockbroker.core.faults",
        "pathlib",
        "rich",
        "shutil",
        "starlette",
        "urllib.parse",
        "uvicorn",
    )
    assert [module for module in unwanted if module in loaded] == []


CITED = re.compile(
    r"(?<![\w/.{<-])((?:docs|examples|fixtures|kafka_rack|mockbroker|protocol|tests)/[\w./-]++)(?![*<{])"
)
"""A path as prose and comments name it: from the root, whole."""
IN_THE_WHEEL = ("kafka_rack/docs",)
"""Where docs/ is put when the wheel is built."""
CITING = (".go", ".java", ".md", ".py", ".toml", ".yaml", ".yml")


def cited_paths(text: str) -> list[str]:
    """
    >>> cited_paths(
    ...     "as docs/tools.md says (tests/unit/test_house.py), not docs/x-*.md, nor https://a.example/docs/b.md"
    ... )
    ['docs/tools.md', 'tests/unit/test_house.py']
    """
    return [path.rstrip("./-") for path in CITED.findall(text)]


def is_there(path: str) -> bool:
    """Whether there is such a file or folder; what is written first and packed then counts by its packed name."""
    names = (path, f"{path}.gz")
    return (
        any((ROOT / name).exists() for name in names)
        or path in IN_THE_WHEEL
        or path.upper() == path
        or "VERSION" in path
        or "FAMILY" in path
    )


def test_each_path_that_is_cited_is_there():
    """In prose, comments and docstrings alike: a reader is never sent to a file that has gone or never was."""
    folders = ("docs", "examples", "fixtures", *PACKAGES, "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in CITING]
    files += [*ROOT.glob("*.md"), *ROOT.glob("*.py"), *ROOT.glob("*.toml"), ROOT / "Makefile", ROOT / ".ci" / "run"]
    wrong = {
        f"{file.relative_to(ROOT)}: {cited}"
        for file in files
        if file.is_file()
        for cited in cited_paths(file.read_text(encoding="utf-8"))
        if not is_there(cited)
    }
    assert sorted(wrong) == []


def test_a_module_stays_short_enough_to_have_one_subject():
    lines = {module: len(path_of(module).read_text(encoding="utf-8").splitlines()) for module in modules()}
    assert {module: count for module, count in lines.items() if count > MAX_LINES} == {}


ONE_NAME_IN_SEVERAL_MODULES = {
    "RackAwareAssignor": "of aiokafka and of kafka-python: a user changes the library by changing the import alone",
    "RackAwareRangeAssignor": "as RackAwareAssignor",
    "RackAwareRoundRobinAssignor": "as RackAwareAssignor",
    "RackAwareStickyAssignor": "as RackAwareAssignor",
}
"""Classes that may share a name, and why."""


def test_no_two_public_classes_have_one_name():
    """A class says what it is outside its module too. Declarations have Kafka's own names, and may repeat them."""
    owners: dict[str, list[str]] = {}
    for module in modules():
        if not is_under(module, ("protocol.apis", "protocol.embedded")):
            for node in ast.parse(path_of(module).read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    owners.setdefault(node.name, []).append(module)
    shared = {name: where for name, where in owners.items() if len(where) > 1}
    assert {name: where for name, where in shared.items() if name not in ONE_NAME_IN_SEVERAL_MODULES} == {}
    assert set(ONE_NAME_IN_SEVERAL_MODULES) <= set(shared)


ANOTHER_WORD_FOR_A_LIMIT = re.compile(
    r"(?m)^ *(?:[A-Z_0-9]+, )*((?:MOST|LARGEST|LONGEST|HIGHEST|LEAST|LOWEST|SMALLEST|SHORTEST)_[A-Z_0-9]+)"
    r"(?:, [A-Z_0-9]+)*(?:: [^=\n]+)? = "
)


def test_constants_that_limit_begin_with_max_or_min():
    """One word for one meaning: who looks for a limit looks for ``MAX_`` or ``MIN_``, with its unit at the end."""
    files = [path for folder in (*PACKAGES, "tests") for path in (ROOT / folder).rglob("*.py")]
    wrong = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in ANOTHER_WORD_FOR_A_LIMIT.findall(file.read_text(encoding="utf-8"))
    }
    assert sorted(wrong) == []
